#!/usr/bin/env bash
# What `make test-all` adds to `make test`, in parts that can be run singly:
#   scripts/test_all.sh [tidy] [asan] [tsan] [fuzz] [vm] [storm] [chaos]
set -euo pipefail
cd "$(dirname "$0")/.."
jobs=$((2 * $(nproc)))

say() { printf '\n== %s (%s) ==\n' "$1" "$(date +%H:%M:%S)"; }

configure() {  # configure PRESET DIRECTORY [CMAKE OPTION...]
  local preset=$1 directory=$2
  shift 2
  cmake --preset "$preset" -B "$directory" "$@" > "$directory.log" 2>&1 || { cat "$directory.log"; rm -f "$directory.log"; exit 1; }
  rm -f "$directory.log"
}

# The linter over every file by itself, with nothing precompiled: so every file includes what it uses.
tidy() { python3 scripts/tidy.py all; }

# The whole suite with AddressSanitizer and UBSan in every program, inside sandboxes too. Leaks are looked for in whatever runs
# outside and ends by itself: unit tests, CLI, server. What a program had to say that nobody read is a failure all the same.
asan() {
  configure asan build-asan
  cmake --build build-asan | scripts/progress.sh
  local reports=$PWD/build-asan/reports status=0
  rm -rf "$reports"
  mkdir -m 1777 "$reports"
  ASAN_OPTIONS=log_path=$reports/asan LSAN_OPTIONS=suppressions=$PWD/tests/lsan.supp:print_suppressions=0 UBSAN_OPTIONS=print_stacktrace=1:log_path=$reports/ubsan \
    ctest --test-dir build-asan --output-on-failure -j "$jobs" --repeat until-pass:2 || status=1
  for report in "$reports"/*; do
    [ -e "$report" ] || continue
    head -30 "$report"
    status=1
  done
  return $status
}

# ThreadSanitizer, for what has threads.
tsan() {
  local threaded="unit_io unit_audit unit_store unit_tools unit_record unit_manager unit_api"
  configure tsan build-tsan --fresh
  cmake --build build-tsan --target $threaded | scripts/progress.sh
  ctest --test-dir build-tsan --output-on-failure -R "^(${threaded// /|})$"
}

fuzz() { scripts/fuzz.sh 30; }

# Other kernels, with cgroup version 2.
vm() { for script in tests/vm/*.sh; do "$script" build; done; }

# Kills at a thousand random instants.
storm() { PADDOCK_STORM=3.4 ctest --test-dir build --output-on-failure -R kill_storm; }

chaos() {
  PADDOCK_BUILD=$PWD/build PYTHONDONTWRITEBYTECODE=1 PYTHONPATH=tests \
    python3 tests/support/alone.py python3 tests/chaos/chaos_test.py
}

if [ $# = 1 ]; then
  say "$1"
  "$1"
  say "$1: passed"
  exit
fi
[ $# -gt 0 ] || set -- tidy asan tsan fuzz vm storm chaos
failed=""
for part in "$@"; do scripts/test_all.sh "$part" || failed="$failed $part"; done
[ -z "$failed" ] || { say "FAILED:$failed"; exit 1; }
say "all parts passed: $*"
