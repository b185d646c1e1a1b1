#!/bin/sh
# Ninja's lines as one moving line on a terminal, as a line for every tenth of the work elsewhere. Failures are always shown.
if [ -t 1 ]; then
  exec awk '/^\[/ { printf "\r\033[K%.79s", $0; fflush(); next } { print ""; print } END { printf "\r\033[K" }'
fi
exec awk '
  /FAILED/ { print; fflush(); next }
  /^\[[0-9]+\/[0-9]+\]/ {
    split(substr($1, 2), part, "/"); part[2] += 0
    tenth = int(10 * part[1] / part[2])
    if (part[2] > 20 && tenth > shown) { shown = tenth; printf "  built %d %%\n", tenth * 10; fflush() }
    next
  }
  { print; fflush() }'
