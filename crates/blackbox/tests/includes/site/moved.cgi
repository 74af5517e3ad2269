#!/bin/sh
printf 'Location: http://localhost/x?a&b\n\n'
