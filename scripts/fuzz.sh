#!/usr/bin/env bash
# Builds the libFuzzer targets and runs each for SECONDS, as many at once as there are cores, from the seeds in
# tests/fuzz/seeds. A crash fails.
set -euo pipefail
export seconds=${1:-10}
cd "$(dirname "$0")/.."
cmake --preset fuzz > build-fuzz.log 2>&1 || { cat build-fuzz.log; rm -f build-fuzz.log; exit 1; }
rm -f build-fuzz.log
cmake --build build-fuzz --target fuzzers | scripts/progress.sh
export work
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

fuzz_one() {
  name=$(basename "$1" _fuzz)
  mkdir -p "$work/$name"
  seeds=""
  [ -d "tests/fuzz/seeds/$name" ] && seeds="tests/fuzz/seeds/$name"
  [ "$name" = toml ] || [ "$name" = policy ] && seeds="$seeds presets"
  if ! "$1" -max_total_time="$seconds" -max_len=16384 -rss_limit_mb=2048 -artifact_prefix="$work/" -print_final_stats=1 \
       "$work/$name" $seeds > "$work/$name.log" 2>&1; then
    tail -40 "$work/$name.log"
    echo "fuzz: $name: FAILED"
    return 1
  fi
  echo "fuzz: $name: $(sed -n 's/^stat::number_of_executed_units: *//p' "$work/$name.log") runs in ${seconds}s, no crash"
}
export -f fuzz_one
printf '%s\n' build-fuzz/tests/fuzz/*_fuzz | xargs -P "$(nproc)" -I{} bash -c 'fuzz_one {}'
