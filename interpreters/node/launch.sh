#!/bin/sh
# Starts the node kernel. Node can neither duplicate descriptors nor make pipes, so the shell does: 3 and 4 are the line to the
# server, 5 and 6 read what comes out of 1 and 2, 0 is empty.
directory=$(mktemp -d "${TMPDIR:-/tmp}/paddock.XXXXXX") || exit 1
mkfifo -m 600 "$directory/1" "$directory/2" || exit 1
exec 3<&0 4>&1 </dev/null
exec 1<>"$directory/1" 2<>"$directory/2" 5<"$directory/1" 6<"$directory/2"
rm -r "$directory"
exec node --no-warnings "${0%/*}/kernel.js"
