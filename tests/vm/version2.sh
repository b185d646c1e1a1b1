#!/usr/bin/env bash
# Paddock on another kernel: boots Debian's Linux in QEMU (emulated, no KVM needed) with cgroup version 2 alone and an
# older Landlock, and runs a few things as root, as a user, and as a user with a delegated cgroup. Part of `make test-all`.
#   tests/vm/version2.sh BUILD_DIR
set -euo pipefail
build=$(realpath "${1:-build}")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
chmod 755 "$work"
cd "$work"

if [ "$(id -u)" != 0 ]; then echo "skipped: installing the emulator needs root"; exit 0; fi
export DEBIAN_FRONTEND=noninteractive
apt-get install -y -qq --no-install-recommends qemu-system-x86 busybox-static cpio kmod > apt.log 2>&1 || { tail -5 apt.log; exit 1; }
kernel=$(apt-cache depends linux-image-cloud-amd64 | awk '/Depends: linux-image/ { print $2; exit }')
apt-get download "$kernel" > apt.log 2>&1 || { tail -5 apt.log; exit 1; }
dpkg -x linux-image-*.deb kernel

mkdir -p root/{usr/bin,usr/lib,proc,sys,dev,tmp,var/tmp,run,etc,home}
ln -s usr/bin root/bin; ln -s usr/bin root/sbin; ln -s usr/lib root/lib
cp /bin/busybox "$build"/{paddock,paddock-launch,paddock-egress,paddock-probe} "$build"/escape/{r01_fork_bomb,r04_anonymous_memory} root/usr/bin/
for applet in sh ls cat echo mount mkdir id true su chmod chown cp find poweroff switch_root modprobe ifconfig httpd wget; do ln -s busybox "root/usr/bin/$applet"; done
printf 'root:x:0:0:root:/root:/bin/sh\nann:x:1000:1000::/home:/bin/sh\n' > root/etc/passwd
printf 'root:x:0:\nann:x:1000:\n' > root/etc/group
touch root/etc/nsswitch.conf
# What nftables is made of; the kernel asks modprobe for each when a rule needs it.
modules=$(cd kernel/lib/modules && echo *)
mkdir -p "root/usr/lib/modules/$modules/kernel/net"
cp kernel/lib/modules/"$modules"/modules.{order,builtin} "root/usr/lib/modules/$modules/"
cp -r kernel/lib/modules/"$modules"/kernel/net/{netfilter,ipv4,ipv6} "root/usr/lib/modules/$modules/kernel/net/"
mkdir -p "root/usr/lib/modules/$modules/kernel/lib"
cp -r kernel/lib/modules/"$modules"/kernel/lib/*crc32c* "root/usr/lib/modules/$modules/kernel/lib/" 2> /dev/null || true
depmod -b "$work/root/usr" "$modules" 2> /dev/null || depmod -b "$work/root" "$modules"
mkdir root/www; echo "the host answers" > root/www/index.html
# The first file system cannot be pivoted away from: move to one that can.
cat > root/init <<'INIT'
#!/bin/sh
mkdir -p /n; mount -t tmpfs n /n; cp -a /usr /bin /lib /sbin /etc /www /tests /n/; cd /n; mkdir -p proc sys dev tmp var/tmp run root home
exec switch_root /n /tests
INIT
cat > root/tests <<'TESTS'
#!/bin/sh
mount -t proc proc /proc; mount -t sysfs sys /sys; mount -t devtmpfs dev /dev; mount -t tmpfs tmp /tmp
chmod 1777 /tmp /var/tmp; chmod 777 /home
mount -t cgroup2 cgroup /sys/fs/cgroup
for wall in container process; do
  flags="--json --wall $wall --memory 64M --pids 10 --cpu 0.5"
  echo "@ root $wall runs: $(paddock run $flags -- id)"
  echo "@ root $wall memory: $(paddock run $flags -- r04_anonymous_memory)"
  echo "@ root $wall pids: $(paddock run $flags -- r01_fork_bomb)"
done
echo "@ user container memory: $(su ann -c 'paddock run --json --memory 64M -- r04_anonymous_memory')"
mkdir /sys/fs/cgroup/delegated; chown -R 1000 /sys/fs/cgroup/delegated
echo "@ delegated container memory: $(sh -c 'echo $$ > /sys/fs/cgroup/delegated/cgroup.procs; exec su ann -c "paddock run --json --memory 64M --cpu 0.5 -- r04_anonymous_memory"')"
ifconfig lo up; httpd -p 127.0.0.1:8080 -h /www
net="paddock run --json --allow-net localhost:8080 --"
asks='unset http_proxy; wget -qO- http://127.0.0.1:8080/; wget -qO- http://192.0.2.1/'
echo "@ root network: $($net sh -c "$asks")"
echo "@ user network: $(su ann -c "$net sh -c '$asks'")"
echo "@ left: $(find /sys/fs/cgroup -type d -name 'paddock-????????????????')"
echo "@ end"
poweroff -f
TESTS
chmod +x root/init root/tests
(cd root && find . | cpio -o -H newc 2> /dev/null | gzip -1) > initrd.gz
timeout 300 qemu-system-x86_64 -M pc -accel tcg,thread=multi -m 1024 -smp 2 -nodefaults -display none -serial stdio -no-reboot \
  -kernel kernel/boot/vmlinuz-* -initrd initrd.gz -append "console=ttyS0 quiet panic=-1" > out.txt 2>&1 || true

passed=0 failed=0
expect() { # line of the output, pattern it must hold
  if grep -a "^@ $1" out.txt | grep -qaE "$2"; then passed=$((passed + 1)); else failed=$((failed + 1)); echo "FAILED: $1: no $2"; grep -a "^@ $1" out.txt | cut -c1-600 || true; fi
}
memory_hit='"kind":"limit","limit":"memory","value":67108864'
for wall in container process; do
  expect "root $wall runs" '"code":0.*"by":"cgroup v2 memory.max"'
  expect "root $wall memory" "$memory_hit"
  expect "root $wall pids" '"limits_hit":\[\{"limit":"pids","value":10'
done
expect "user container memory" "$memory_hit.*\"strength\":\"sampled\""
expect "delegated container memory" "$memory_hit.*cgroup v2 memory.max"
for user in root user; do
  expect "$user network" 'the host answers.*"action":"connect 192.0.2.1:80"'
done
expect "left" '^@ left: .?$'
expect "end" 'end'
echo "$passed passed, $failed failed"
[ "$failed" = 0 ]
