#!/bin/sh
printf 'Content-Type: text/plain\n\n'; cat; echo .
