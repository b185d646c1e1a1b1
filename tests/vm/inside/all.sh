# Runs in the machine of tests/vm/systemd.sh, as root. Each line that starts with @ is a result.
# A login session of an ordinary user: PAM makes one, and with it the user's service manager.
as_ann() { su -l ann -c "$*" 2>&1 | tr '\n' ' '; }
result() { echo; echo "@ $1: $2"; }
left() { find /sys/fs/cgroup -type d -name 'paddock-????????????????' -o -name 'paddock-*.scope' | tr '\n' ' '; }
export HOME=/root

result "session" "$(as_ann 'echo $XDG_RUNTIME_DIR; cat /proc/self/cgroup')"
result "user runs" "$(as_ann paddock run --json --memory 64M --pids 20 --cpu 0.5 -- id)"
result "user over the bus" "$(as_ann 'XDG_RUNTIME_DIR=/nonexistent paddock run --json --memory 64M -- id')"
result "user without a manager" "$(as_ann 'XDG_RUNTIME_DIR=/nonexistent DBUS_SESSION_BUS_ADDRESS= paddock run --json --memory 64M -- id')"
result "user io" "$(as_ann 'mkdir -p d; paddock run --workspace d:rw --disk-write-rate 1M -- true')"
for case in name leader memfd semaphores; do
  result "A1 $case" "$(as_ann paddock run --json --memory 64M --file /opt/tests/memory_$case.py)"
done
result "A2" "$(as_ann "paddock run --json --workspace d:copy --disk 20M -- sh -c 'exec 3>x; rm x; head -c 300M /dev/zero >&3; sleep 1; echo still'")"
result "A3" "$(as_ann 'paddock run --file /opt/tests/inotify.py & sleep 15; python3 /opt/tests/inotify_outside.py; wait')"
result "A4" "$(as_ann 'paddock run --json --timeout 4s --memory 256M --file /opt/tests/many_descriptors.py | python3 /opt/tests/in_time.py')"
result "user left" "$(left)"
result "user doctor" "$(as_ann paddock doctor)"
result "delegation adds" "$(as_ann python3 /opt/tests/cost.py)"

# The sandbox must be there, with its processes, after its server was ended and started again.
serve='
  systemctl $scope start paddock-serve
  for i in $(seq 60); do paddock create --name box --memory 128M > created 2>&1 && break; sleep 2; done
  paddock exec box -- sh -c "echo hello > /tmp/note; sleep 1000 > /dev/null 2>&1 &"
  echo "before: $(paddock exec box -- cat /tmp/note)"
  systemctl $scope restart paddock-serve
  for i in $(seq 60); do paddock ls > /dev/null 2>&1 && break; sleep 2; done
  echo "after: $(paddock exec box -- sh -c "ps > /dev/null 2>&1; cat /tmp/note")"
  paddock kill box; systemctl $scope stop paddock-serve'
result "user serve" "$(as_ann "scope=--user; $serve")"
result "user create" "$(as_ann cat created)"

result "root runs" "$(paddock run --json --memory 64M --pids 20 --cpu 0.5 -- id 2>&1)"
result "root memory" "$(paddock run --json --memory 64M --file /opt/tests/memory_name.py 2>&1)"
result "root serve" "$(cd; eval "scope=; $serve" 2>&1 | tr '\n' ' ')"
result "root left" "$(left)"
result "end" "end"
sync
