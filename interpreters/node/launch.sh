#!/bin/sh
# Starts the node kernel. Node can neither duplicate descriptors nor make pipes, so the shell does: 3 and 4 are the line to the
# server, 5 and 6 read what comes out of 1 and 2, 7 has a byte for each interrupt, 0 is empty. Node dies of a SIGINT that comes
# while it puts its own handlers in place or away, so the shell stays and takes them.
directory=$(mktemp -d "${TMPDIR:-/tmp}/paddock.XXXXXX") || exit 1
mkfifo -m 600 "$directory/1" "$directory/2" "$directory/7" || exit 1
exec 3<&0 4>&1 </dev/null
exec 1<>"$directory/1" 2<>"$directory/2" 5<"$directory/1" 6<"$directory/2" 7<>"$directory/7"
rm -r "$directory"
trap 'printf . >&7' INT
# An order to end a cell can hit node while it calls back. Its own check of that would abort; without it the next call goes on.
node --no-warnings --no-force-async-hooks-checks "${0%/*}/kernel.js" &
while :; do  # a wait that a signal ended is begun again
  wait $!
  status=$?
  kill -0 $! 2> /dev/null || exit $status
done
