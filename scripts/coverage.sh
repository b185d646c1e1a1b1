#!/usr/bin/env bash
# Builds with coverage, runs the unit tests, and prints the branch coverage of each layer by the unit tests of all, then the ten
# least covered files. Branches that only exceptions take are left out: nothing here throws.
set -euo pipefail
cd "$(dirname "$0")/.."
cmake --preset dev -B build-coverage -DCMAKE_CXX_FLAGS_DEBUG="-O0 -g1 --coverage -fprofile-update=atomic" > build-coverage.log 2>&1 || { cat build-coverage.log; exit 1; }
rm -f build-coverage.log
units=$(ninja -C build-coverage -t targets all | sed -n 's/^\(unit_[a-z_]*\): .*/\1/p' | grep -v precompiled)
cmake --build build-coverage --target $units | scripts/progress.sh
find build-coverage -name '*.gcda' -delete
for unit in $units; do echo "$unit"; "build-coverage/tests/$unit" --gtest_brief=1 > /dev/null || echo "  failed"; done
gcovr --root . --filter 'src/' --exclude '.*_test\.(cc|h)' --exclude-throw-branches --exclude-unreachable-branches --json-summary build-coverage/summary.json --json-summary-pretty build-coverage > /dev/null
python3 - <<'PYTHON'
import json
layers, files = {}, []
for entry in json.load(open("build-coverage/summary.json"))["files"]:
    layer = entry["filename"].split("/")[1]
    total, covered = layers.get(layer, (0, 0))
    layers[layer] = (total + entry["branch_total"], covered + entry["branch_covered"])
    if entry["branch_total"] >= 20:
        files.append((entry["branch_covered"] / entry["branch_total"], entry["filename"]))
print("\nbranch coverage by unit tests")
for layer, (total, covered) in sorted(layers.items()):
    print(f"  {layer:12} {100 * covered / max(total, 1):5.1f} %  of {total}")
print("\nleast covered files")
for share, name in sorted(files)[:10]:
    print(f"  {100 * share:5.1f} %  {name}")
PYTHON
