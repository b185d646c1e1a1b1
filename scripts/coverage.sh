#!/usr/bin/env bash
# Builds with coverage, runs the unit tests, and prints the branch coverage of each layer, then the ten
# least covered files. With names of layers only their unit tests are built and run:
# scripts/coverage.sh launch egress.
set -euo pipefail
cd "$(dirname "$0")/.."
build=$PWD/build-coverage
cmake --preset dev -B "$build" -DPADDOCK_COVERAGE=ON \
  -DCMAKE_CXX_FLAGS_DEBUG="-O0 -g1 --coverage -fprofile-update=atomic" > "$build.log" 2>&1 ||
  { cat "$build.log"; exit 1; }
rm -f "$build.log"
units=$(ninja -C "$build" -t targets all | sed -n 's/^\(unit_[a-z_]*\): .*/\1/p' | grep -v precompiled)
[ $# -gt 0 ] && units=$(printf 'unit_%s ' "$@")
# shellcheck disable=SC2086 # a list of targets
cmake --build "$build" -j "${JOBS:-$(nproc)}" --target $units | scripts/progress.sh
find "$build" -name '*.gcda' -delete
# Tests that give a program a root of its own show this folder in it, so that counters can be written.
export PADDOCK_COUNTERS=$build
for unit in $units; do
  echo "$unit"
  "$build/tests/$unit" --gtest_brief=1 > "$build/$unit.log" 2>&1 || { cat "$build/$unit.log"; echo "  failed"; }
done
python3 scripts/coverage.py "$build" "$@"
