#!/usr/bin/env bash
# Builds the libFuzzer targets and runs each for SECONDS, from the seeds in tests/fuzz/seeds. A crash fails.
set -euo pipefail
seconds=${1:-10}
cd "$(dirname "$0")/.."
cmake --preset fuzz > build-fuzz.log 2>&1 || { cat build-fuzz.log; rm -f build-fuzz.log; exit 1; }
rm -f build-fuzz.log
cmake --build build-fuzz --target fuzzers | scripts/progress.sh
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
for target in build-fuzz/tests/fuzz/*_fuzz; do
  name=$(basename "$target" _fuzz)
  mkdir -p "$work/$name"
  seeds=""
  [ -d "tests/fuzz/seeds/$name" ] && seeds="tests/fuzz/seeds/$name"
  [ "$name" = toml ] || [ "$name" = policy ] && seeds="$seeds presets"
  if ! "$target" -max_total_time="$seconds" -max_len=16384 -rss_limit_mb=2048 -artifact_prefix="$work/" -print_final_stats=1 \
       "$work/$name" $seeds > "$work/$name.log" 2>&1; then
    tail -40 "$work/$name.log"
    echo "fuzz: $name: FAILED"
    exit 1
  fi
  echo "fuzz: $name: $(sed -n 's/^stat::number_of_executed_units: *//p' "$work/$name.log") runs in ${seconds}s, no crash"
done
