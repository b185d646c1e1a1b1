"""Counts the source tree, to compare before and after: code, comments, long lines, long functions, repeated blocks.
Usage: scripts/census.py [FOLDER...]   (default: src include)"""
import os
import re
import statistics
import sys

BLOCK = 12  # lines that count as a repetition when they stand twice
LONG_FUNCTION = 60
WIDTH = 100


def sources(folders):
    for folder in folders:
        for where, _, names in os.walk(folder):
            for name in sorted(names):
                if name.endswith((".cc", ".h")) and not name.endswith("_test.cc"):
                    yield os.path.join(where, name)


def long_functions(lines):
    """Bodies that open with a brace at the end of an unindented line, or of one indented once inside a class."""
    count, begun, indent = 0, None, None
    for number, line in enumerate(lines):
        if begun is None and re.match(r"^( {2})?[A-Za-z~].*\)[^;]*\{$", line) and not re.match(r"^\s*(if|for|while|switch|namespace|struct|class|enum)\b", line):
            begun, indent = number, len(line) - len(line.lstrip())
        elif begun is not None and line.startswith(" " * indent + "}"):
            count += number - begun > LONG_FUNCTION
            begun = None
    return count


def main(folders):
    lengths, code, comments, wide, long, blocks = [], 0, 0, 0, 0, {}
    files = list(sources(folders))
    for path in files:
        with open(path) as file:
            lines = file.read().splitlines()
        lengths.append(len(lines))
        wide += sum(len(line) > WIDTH for line in lines)
        long += long_functions(lines)
        bare = [line.strip() for line in lines if line.strip()]
        comments += sum(line.startswith("//") for line in bare)
        kept = [line for line in bare if not line.startswith("//")]
        code += len(kept)
        kept = [line for line in kept if not line.startswith("#include") and line not in ("{", "}", "};")]
        for at in range(len(kept) - BLOCK + 1):
            blocks.setdefault("\n".join(kept[at:at + BLOCK]), []).append((path, at))
    repeated, last = 0, None
    for places in blocks.values():
        for path, at in places[1:]:
            if last != (path, at - 1):
                repeated += 1
            last = (path, at)
    units = sum(path.endswith(".cc") for path in files)
    print(f"files                      {len(files)} ({units} to compile)")
    print(f"lines per file             median {statistics.median(lengths):.0f}, p90 {sorted(lengths)[len(lengths) * 9 // 10]}")
    print(f"lines of code              {code}")
    print(f"full-line comments         {comments} ({100 * comments / (code + comments):.1f} %)")
    print(f"lines over {WIDTH} columns     {wide} ({100 * wide / sum(lengths):.1f} %)")
    print(f"functions over {LONG_FUNCTION} lines    {long}")
    print(f"blocks of {BLOCK} lines twice    {repeated}")


main(sys.argv[1:] or ["src", "include"])
