#!/bin/sh
# Starts the java kernel; the descriptors are as in node/launch.sh.
command -v java > /dev/null || exit 127
java --list-modules | grep -q '^jdk.jshell' || exit 127
directory=$(mktemp -d "${TMPDIR:-/tmp}/paddock.XXXXXX") || exit 1
mkfifo -m 600 "$directory/1" "$directory/2" || exit 1
exec 3<&0 4>&1 </dev/null
exec 1<>"$directory/1" 2<>"$directory/2" 5<"$directory/1" 6<"$directory/2"
rm -r "$directory"
exec java -XX:+UseSerialGC -XX:TieredStopAtLevel=1 -Xshare:auto --add-modules jdk.jshell --add-opens java.base/java.io=ALL-UNNAMED "${0%/*}/Kernel.java"
