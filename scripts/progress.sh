#!/usr/bin/env bash
# Ninja's lines as one moving line on a terminal, as a line for every tenth of the work elsewhere. Whatever else the build says is
# shown as it is. Read line by line in the shell: Debian's awk would wait until it has four kilobytes.
shown=0
[ -t 1 ] && moving=1 || moving=
while IFS= read -r line; do
  if [[ $line =~ ^\[([0-9]+)/([0-9]+)\] ]]; then
    if [ "$moving" ]; then
      printf '\r\033[K%.79s' "$line"
    else
      tenth=$((10 * BASH_REMATCH[1] / BASH_REMATCH[2]))
      [ "${BASH_REMATCH[2]}" -gt 20 ] && [ $tenth -gt $shown ] && shown=$tenth && printf '  built %d %%\n' $((tenth * 10))
    fi
  else
    [ "$moving" ] && echo
    printf '%s\n' "$line"
  fi
done
[ "$moving" ] && printf '\r\033[K'
true
