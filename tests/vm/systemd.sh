#!/usr/bin/env bash
# Paddock under systemd: boots a small Debian with cgroup version 2 in QEMU (emulated, no KVM needed), where an ordinary
# user logs in. Limits must be held by the kernel there, in scopes of the user's own service manager; sandboxes of a
# server must outlive its restart. Part of `make test-all`.
#   tests/vm/systemd.sh BUILD_DIR
# PADDOCK_VM_ROOT=FILE keeps the root filesystem (a tar archive) for the next time.
set -euo pipefail
cd "$(dirname "$0")/../.."
build=$(realpath "${1:-build}")
patience=${PADDOCK_VM_SECONDS:-1500}
if [ "$(id -u)" != 0 ]; then echo "skipped: making a root filesystem needs root"; exit 0; fi
scripts/install.sh vm
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
chmod 755 "$work"
say() { echo "vm: $(date +%T) $*"; }

say "fetching a kernel"
kernel=$(apt-cache depends linux-image-cloud-amd64 | awk '/Depends: linux-image/ { print $2; exit }')
(cd "$work" && apt-get download "$kernel" > apt.log 2>&1) || { tail -5 "$work/apt.log"; exit 1; }
dpkg -x "$work"/linux-image-*.deb "$work/kernel"
modules=$(cd "$work/kernel/lib/modules" && echo *)

archive=${PADDOCK_VM_ROOT:-$work/root.tar}
if [ ! -f "$archive" ]; then
  say "making a root filesystem"
  mmdebstrap --quiet --variant=minbase --mode=root --format=tar \
    --dpkgopt='path-exclude=/usr/share/doc/*' --dpkgopt='path-exclude=/usr/share/man/*' --dpkgopt='path-exclude=/usr/share/locale/*' \
    --include=systemd,systemd-sysv,dbus,dbus-user-session,libpam-systemd,python3,libarchive13,libre2-9,libsqlite3-0,libssl3 \
    bookworm "$archive.new" > "$work/root.log" 2>&1 || { tail -20 "$work/root.log"; exit 1; }
  mv "$archive.new" "$archive"
fi
root=$work/root
mkdir "$root"
tar -C "$root" -xf "$archive"

say "adding the programs"
mkdir -p "$root/opt/paddock"
cp "$build"/{paddock,paddock-launch,paddock-egress,paddock-guest,paddock-probe,paddock-server} "$root/opt/paddock/"
[ ! -d "$build/interpreters" ] || cp -r "$build/interpreters" "$root/opt/paddock/"
for program in paddock paddock-server; do ln -s "/opt/paddock/$program" "$root/usr/local/bin/$program"; done
cp -r tests/vm/inside "$root/opt/tests"
echo 'ann:x:1000:1000::/home/ann:/bin/bash' >> "$root/etc/passwd"
echo 'ann:x:1000:' >> "$root/etc/group"
echo 'ann:*:19000::::::' >> "$root/etc/shadow"
install -d -o 1000 -g 1000 "$root/home/ann"
echo sandbox > "$root/etc/hostname"
mkdir -p "$root/usr/lib/modules/$modules"
for folder in kernel/net kernel/fs/overlayfs kernel/lib; do
  mkdir -p "$root/usr/lib/modules/$modules/$(dirname $folder)"
  [ ! -d "$work/kernel/lib/modules/$modules/$folder" ] || cp -r "$work/kernel/lib/modules/$modules/$folder" "$root/usr/lib/modules/$modules/$(dirname $folder)/"
done
cp "$work/kernel/lib/modules/$modules"/modules.{order,builtin} "$root/usr/lib/modules/$modules/"
depmod -b "$root" "$modules" 2> /dev/null || true
cp /bin/busybox "$root/usr/sbin/modprobe"  # what the kernel calls for overlayfs and nftables
# What a small machine does without; each would cost a minute of emulation.
for unit in getty.target apt-daily.timer apt-daily-upgrade.timer dpkg-db-backup.timer e2scrub_all.timer fstrim.timer \
            systemd-udevd.service systemd-udev-trigger.service systemd-udev-settle.service systemd-pstore.service systemd-networkd.service \
            systemd-binfmt.service systemd-journal-flush.service systemd-random-seed.service systemd-update-utmp.service; do
  ln -sf /dev/null "$root/etc/systemd/system/$unit"
done
cat > "$root/etc/systemd/system/paddock-tests.service" <<'UNIT'
[Unit]
After=systemd-logind.service dbus.service systemd-user-sessions.service
Wants=systemd-logind.service dbus.socket
[Service]
ExecStart=/bin/bash /opt/tests/all.sh
ExecStopPost=/bin/systemctl --force --force poweroff
StandardOutput=file:/dev/ttyS0
StandardError=file:/dev/ttyS0
UNIT
cat > "$root/etc/systemd/system/paddock-serve.service" <<'UNIT'
[Service]
ExecStart=/usr/local/bin/paddock serve --no-listen
UNIT
mkdir -p "$root/etc/systemd/user" "$root/etc/systemd/system/multi-user.target.wants"
cp "$root/etc/systemd/system/paddock-serve.service" "$root/etc/systemd/user/"
ln -s ../paddock-tests.service "$root/etc/systemd/system/multi-user.target.wants/"
mke2fs -q -t ext4 -O ^has_journal -d "$root" "$work/disk.img" 1200M

# A first root that knows the disk.
mkdir -p "$work/first/bin" "$work/first/lib/modules" "$work/first/new"
cp /bin/busybox "$work/first/bin/"
find "$work/kernel/lib/modules" -name 'virtio.ko' -o -name 'virtio_ring.ko' -o -name 'virtio_pci*.ko' -o -name 'virtio_blk.ko' | xargs cp -t "$work/first/lib/modules"
cat > "$work/first/init" <<'INIT'
#!/bin/busybox sh
cd /lib/modules
for pass in 1 2 3; do  # in whatever order they need each other
  for module in *.ko; do /bin/busybox insmod $module 2> /dev/null; done
done
/bin/busybox mkdir -p /dev; /bin/busybox mount -t devtmpfs dev /dev
/bin/busybox mount -t ext4 -o rw,noatime /dev/vda /new || exec /bin/busybox poweroff -f
/bin/busybox mount --move /dev /new/dev
exec /bin/busybox switch_root /new /lib/systemd/systemd
INIT
chmod +x "$work/first/init"
(cd "$work/first" && find . | cpio -o -H newc 2> /dev/null) > "$work/first.cpio"

say "booting (at most $patience s)"
timeout "$patience" qemu-system-x86_64 -M pc -accel tcg,thread=multi -m 1536 -smp 2 -nodefaults -display none -serial stdio -no-reboot \
  -drive "file=$work/disk.img,format=raw,if=virtio,cache=unsafe" \
  -kernel "$work"/kernel/boot/vmlinuz-* -initrd "$work/first.cpio" \
  -append "console=ttyS0 quiet panic=-1 systemd.show_status=0 systemd.unified_cgroup_hierarchy=1 mitigations=off" 2>&1 < /dev/null |
  sed -u 's|\r||g' | tee "$work/out.txt" | sed -un 's/^@ \([^:]*\):.*/  \1/p' || true

passed=0 failed=0
expect() { # line of the output, pattern it must hold
  if grep -a "^@ $1:" "$work/out.txt" | grep -qaE "$2"; then passed=$((passed + 1)); return; fi
  failed=$((failed + 1))
  echo "FAILED: $1: no $2"
  grep -a "^@ $1:" "$work/out.txt" | cut -c1-1500 || true
}
kernel_held='"by":"cgroup v2 memory.max in a scope of the systemd user manager","strength":"kernel"'
memory_hit='"kind":"limit","limit":"memory","value":67108864'
expect "session" '/run/user/1000'
expect "user runs" "\"cpu\":\{\"by\":\"cgroup v2 cpu.max in a scope of[^}]*\"strength\":\"kernel\".*$kernel_held"
expect "user runs" '"pids":\{"by":"cgroup v2 pids.max in a scope of[^}]*"strength":"kernel"'
expect "user over the bus" "$kernel_held"
expect "user without a manager" '"memory":\{"by":"the keeper [^}]*"strength":"sampled"'
expect "user io" 'cannot be enforced here: the systemd user manager does not delegate io.*user@.service.d'
for case in name leader memfd semaphores; do expect "A1 $case" "$memory_hit|\"code\":[1-9]"; done
expect "A1 name" "$memory_hit"
expect "A1 leader" "$memory_hit"
expect "A1 memfd" "$memory_hit"
expect "A2" '"limit":"disk"'
expect "A3" 'the host still can'
expect "A4" '"kind":"limit","limit":"wall_time".*in time'
expect "user left" '^@ user left: *$'
expect "user doctor" 'in a scope of the systemd user manager for each sandbox'
expect "user doctor" 'loginctl enable-linger'
expect "user create" 'last logout'
expect "user serve" 'before: hello .*after: hello'
expect "root runs" '"by":"cgroup v2 memory.max in a scope of systemd"'
expect "root memory" "$memory_hit"
expect "root left" '^@ root left: *$'
expect "root serve" 'before: hello .*after: hello'
expect "end" 'end'
grep -a '^@ delegation adds' "$work/out.txt" | sed 's/^@ /vm: /' || true
echo "$passed passed, $failed failed"
if [ "$failed" != 0 ]; then
  [ -z "${PADDOCK_VM_OUT:-}" ] || cp "$work/out.txt" "$PADDOCK_VM_OUT"
  exit 1
fi
