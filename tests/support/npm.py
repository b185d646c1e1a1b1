"""npm packages for tests, in a folder of the build: installed once, kept."""
import fcntl
import functools
import os
import pathlib
import shutil
import subprocess

from support import paddock

FOLDER = os.path.join(paddock.BUILD, "compat")


class Unavailable(Exception):
    """Why the packages cannot be had: a reason to skip."""


@functools.lru_cache(maxsize=None)
def packages(name, *wanted):
    """A folder whose node_modules has `wanted` ("e2b@2.51.0")."""
    if not shutil.which("node") or not shutil.which("npm"):
        raise Unavailable("node and npm are not installed")
    folder = os.path.join(FOLDER, name)
    done = os.path.join(folder, "installed")
    os.makedirs(folder, exist_ok=True)
    with open(os.path.join(FOLDER, name + ".lock"), "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        text = "\n".join(wanted)
        if os.path.exists(done) and pathlib.Path(done).read_text() == text:
            return folder
        with open(os.path.join(folder, "package.json"), "w") as file:
            file.write('{"private":true}\n')
        command = ["npm", "install", "--prefix", folder, "--no-package-lock", "--no-audit", "--no-fund", "--ignore-scripts", "--loglevel=error", *wanted]
        try:
            installed = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=300)
        except subprocess.TimeoutExpired:
            raise Unavailable("npm install took longer than five minutes")
        if installed.returncode != 0:
            raise Unavailable(f"npm install {' '.join(wanted)} failed: {installed.stderr.strip()[-300:]}")
        with open(done, "w") as file:
            file.write(text)
    return folder


@functools.lru_cache(maxsize=None)
def force_exit():
    """The flag that ends node with the last test, where it has one: the SDK's timers of failed requests would hold it for a minute."""
    return ["--test-force-exit"] if "--test-force-exit" in subprocess.run(["node", "--help"], capture_output=True, text=True).stdout else []
