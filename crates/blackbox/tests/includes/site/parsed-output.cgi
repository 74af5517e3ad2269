#!/bin/sh
printf 'Content-Type: text/html\nETag: "x"\nLast-Modified: Sat, 01 Jan 2000 00:00:00 GMT\n\n<!--#echo var="HERE" -->\n'
