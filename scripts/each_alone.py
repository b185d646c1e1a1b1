"""Reads every source file by itself, with nothing precompiled, so that every header stands alone: only what the compiler checks,
no code is made. Usage: each_alone.py COMPILE_COMMANDS_JSON"""
import concurrent.futures
import json
import os
import shlex
import subprocess
import sys


def check(entry):
    words = shlex.split(entry["command"])
    at = words.index("-o")
    done = subprocess.run([*words[:at], *words[at + 2:], "-fsyntax-only", "-w"], cwd=entry["directory"], capture_output=True, text=True)
    return entry["file"], done.returncode, done.stderr


with open(sys.argv[1]) as file:
    entries = json.load(file)
failed = 0
with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
    for number, (name, status, errors) in enumerate(pool.map(check, entries), 1):
        if status:
            failed += 1
            print(f"{name} does not stand alone:\n{errors[:4000]}")
        if number * 10 // len(entries) > (number - 1) * 10 // len(entries):
            print(f"{number} of {len(entries)} files", flush=True)
sys.exit(1 if failed else 0)
