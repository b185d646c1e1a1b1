"""clang-tidy (.clang-tidy) over the sources, each file by itself with nothing precompiled, so that it also shows that every
file includes what it uses.
Usage: scripts/tidy.py all|changed    (changed: in the working tree or the last three commits)"""
import concurrent.futures
import json
import os
import subprocess
import sys

BUILD = "build-dev"
os.chdir(os.path.join(os.path.dirname(__file__), ".."))


def configure():
    """One command per file: batches and precompiled headers would hide what a file lacks."""
    done = subprocess.run(["cmake", "--preset", "dev", "-B", BUILD, "-DPADDOCK_FAST_BUILD=OFF", "-DPADDOCK_TESTS=OFF"], capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(done.stdout + done.stderr)


def changed():
    output = subprocess.run(["git", "diff", "--name-only", "HEAD~3"], capture_output=True, text=True)
    if output.returncode != 0:  # a history shorter than that, or no history at all
        return set()
    return {os.path.abspath(name) for name in output.stdout.split()}


def check(path):
    done = subprocess.run(["clang-tidy-16", "-p", BUILD, "--quiet", "--extra-arg=-Wno-unknown-warning-option", path], capture_output=True, text=True)
    return path, done.returncode, done.stdout


def main(which):
    configure()
    with open(os.path.join(BUILD, "compile_commands.json")) as file:
        files = sorted({entry["file"] for entry in json.load(file) if "/src/" in entry["file"]})
    if which == "changed":
        wanted = changed()
        files = [path for path in files if path in wanted]
    failed = 0
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        for number, (path, status, output) in enumerate(pool.map(check, files), 1):
            if status != 0:
                failed += 1
                print(output, flush=True)
            if number % 50 == 0:
                print(f"  {number} of {len(files)} files checked", flush=True)
    print(f"tidy: {len(files)} files, {failed} with findings")
    return 1 if failed else 0


if len(sys.argv) != 2 or sys.argv[1] not in ("all", "changed"):
    sys.exit(__doc__)
sys.exit(main(sys.argv[1]))
