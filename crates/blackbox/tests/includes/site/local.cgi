#!/bin/sh
printf 'Location: /menu.html\n\n'
