#!/bin/sh
printf 'Content-Type: text/plain\n\nscript %s %s %s %s\n' "$QUERY_STRING" "$PATH_INFO" "$VAR" "$REQUEST_METHOD"
