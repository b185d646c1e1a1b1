#!/usr/bin/env python3
"""Branch coverage of each layer, from the counters of a coverage build: coverage.py BUILD [LAYER…].

Asks gcov about every object file of the layers, and counts a branch as covered when any program, and
any instance of a template, took it. Branches that only exceptions take are left out: nothing here
throws. With layers only these are shown.
"""

import json
import os
import pathlib
import subprocess
import sys


def ask_gcov(counters, root):
    command = ["gcov", "--branch-probabilities", "--json-format", "--stdout", "--relative-only",
               "--source-prefix", root, counters.name]
    answer = subprocess.run(command, cwd=counters.parent, capture_output=True, check=False)
    for line in answer.stdout.splitlines():
        yield from json.loads(line)["files"]


def is_measured(path):
    return path.startswith("src/") and not path.endswith(("_test.cc", "_test.h"))


def read_branches(build, root):
    """Path of each source file → {(line, number of the branch on it): whether it was taken}."""
    branches = {}
    for notes in sorted(pathlib.Path(build).glob("CMakeFiles/paddock_*.dir/**/*.gcno")):
        for entry in ask_gcov(notes.with_suffix(".gcno"), root):
            path = os.path.relpath(os.path.join(root, entry["file"]), root)
            if not is_measured(path):
                continue
            found = branches.setdefault(path, {})
            for line in entry["lines"]:
                for number, branch in enumerate(line["branches"]):
                    if not branch["throw"]:
                        key = (line["line_number"], number)
                        found[key] = found.get(key, False) or branch["count"] > 0
    return branches


def main():
    root = str(pathlib.Path(__file__).resolve().parent.parent)
    layers, files = {}, []
    for path, found in read_branches(sys.argv[1], root).items():
        total, covered = len(found), sum(found.values())
        if total == 0 or (sys.argv[2:] and path.split("/")[1] not in sys.argv[2:]):
            continue
        layer = layers.setdefault(path.split("/")[1], [0, 0])
        layer[0] += total
        layer[1] += covered
        if total >= 20:
            files.append((covered / total, total, path))
    print("\nbranch coverage by unit tests")
    for layer, (total, covered) in sorted(layers.items()):
        print(f"  {layer:12} {100 * covered / max(total, 1):5.1f} %  of {total}")
    print("\nleast covered files")
    for share, total, path in sorted(files)[:10]:
        print(f"  {100 * share:5.1f} %  of {total:4}  {path}")


main()
