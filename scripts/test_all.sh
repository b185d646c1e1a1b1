#!/usr/bin/env bash
# What `make test-all` adds to `make test`: the whole suite under AddressSanitizer and UBSan, longer fuzzing, another kernel
# with cgroup version 2 in an emulator, and longer kill storms.
set -euo pipefail
cd "$(dirname "$0")/.."
cmake --preset asan > build-asan.log 2>&1 || { cat build-asan.log; rm -f build-asan.log; exit 1; }
rm -f build-asan.log
cmake --build build-asan | scripts/progress.sh
ASAN_OPTIONS=detect_leaks=0 ctest --test-dir build-asan --output-on-failure --progress
scripts/fuzz.sh 120
tests/vm/version2.sh build
PADDOCK_STORM=5 ctest --test-dir build --output-on-failure -R kill_storm
