#!/bin/sh
# Ninja's lines as one moving line on a terminal, as nothing but the failures elsewhere. Keeps ninja's verdict.
if [ -t 1 ]; then
  exec awk '/^\[/ { printf "\r\033[K%.79s", $0; fflush(); next } { print ""; print } END { printf "\r\033[K" }'
fi
exec awk '!/^\[/ || /FAILED/ { print }'
