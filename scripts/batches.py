#!/usr/bin/env python3
"""Groups the files of one library into batches that the compiler can read as one file each.

Two files may share a batch when neither uses a name that the other declares for itself alone (in an unnamed namespace).
Prints one line per batch: file names, separated by semicolons. Called by CMake, see compile_together(). FOLDER is where
CMake wrote the batches the last time: files stay in theirs where they can, so that a small change rebuilds little.

    scripts/batches.py LARGEST FOLDER FILE...
"""
import os
import re
import sys

WORD = re.compile(r"[A-Za-z_]\w*")
# A declaration at the left margin: the last name before its parameters, value or body.
DECLARED = re.compile(r"^(?!using [\w:]+;)(?:template ?<[^>]*> )?[A-Za-z_:][^;={(\n]*?\b([A-Za-z_]\w*)(?:\[[^\]]*\])*\s*(?=[({=;]|final|: public)", re.M)
CONSTANT = re.compile(r"\b(k[A-Z]\w*)(?:\[[^\]]*\])* = ")  # several may share a line
PRIVATE = re.compile(r"^namespace \{$(.*?)^\}  // namespace$", re.M | re.S)
MACRO = re.compile(r"^#define (\w+)", re.M)


def read(path):
    text = open(path, encoding="utf-8").read()
    private = set(MACRO.findall(text))
    for body in PRIVATE.findall(text):
        private |= set(DECLARED.findall(body)) | set(CONSTANT.findall(body))
    code = re.sub(r'"(?:\\.|[^"\\\n])*"|//[^\n]*', "", text)
    code = re.sub(r"(?:\.|->)\w+", "", code)  # members cannot be mistaken for a private name
    return {"path": path, "private": private, "words": set(WORD.findall(code)), "lines": text.count("\n")}


def fits(file, batch, largest):
    return (sum(other["lines"] for other in batch) + file["lines"] <= largest and
            all(not (file["private"] & other["words"] or other["private"] & file["words"]) for other in batch))


def last_batches(folder):
    """What is in CMake's unity_0_cxx.cxx, unity_1_cxx.cxx, …"""
    batches = []
    while os.path.exists(path := os.path.join(folder, f"unity_{len(batches)}_cxx.cxx")):
        with open(path, encoding="utf-8") as file:
            batches.append(re.findall(r'#include "(.*)"', file.read()))
    return batches


largest, folder = int(sys.argv[1]), sys.argv[2]
files = {path: read(path) for path in sorted(sys.argv[3:])}
batches = []
for paths in last_batches(folder):
    batches.append([])
    for path in paths:
        if path in files and fits(files[path], batches[-1], 2 * largest):
            batches[-1].append(files.pop(path))
for file in sorted(files.values(), key=lambda file: -file["lines"]):
    home = next((batch for batch in batches if fits(file, batch, largest)), None)
    if home is None:
        batches.append(home := [])
    home.append(file)
for batch in batches:
    print(";".join(sorted(file["path"] for file in batch)))
