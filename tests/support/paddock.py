"""Driving the built programs from tests, as root and as an ordinary user."""
import functools
import json
import os
import pty
import select
import shutil
import subprocess
import sys
import tempfile
import time
import unittest

BUILD = os.environ.get("PADDOCK_BUILD") or os.path.join(os.path.dirname(__file__), "..", "..", "build")
BUILD = os.path.realpath(BUILD)
SOURCE = os.path.realpath(os.path.join(os.path.dirname(__file__), "..", ".."))
PADDOCK = os.path.join(BUILD, "paddock")
USER_ID = int(os.environ.get("PADDOCK_TEST_UID", 12345))  # an ordinary user without an account, groups or privilege

with open(PADDOCK, "rb") as program:
    SANITIZED = b"__asan_init" in program.read()


def resident(kilobytes):
    """What a program may occupy: sanitized, it keeps what it has freed for a while, and a map of all memory."""
    return kilobytes + (1 << 20 if SANITIZED else 0)


_home = None
_state = None


def _user_home():
    """A home directory for the ordinary user, removed by main()."""
    global _home
    if _home is None:
        _home = tempfile.mkdtemp(prefix="paddock-test-home-")
        os.chmod(_home, 0o755)
        if os.geteuid() == 0:
            os.chown(_home, USER_ID, USER_ID)
    return _home


def _root_state():
    """A state directory for root: the host's own records are not for tests."""
    global _state
    if _state is None:
        _state = tempfile.mkdtemp(prefix="paddock-test-state-")
    return _state


def _users():
    if os.geteuid() != 0:
        return ["user"]
    # The ordinary user must be able to reach the programs.
    path = PADDOCK
    while path != "/":
        path = os.path.dirname(path)
        if not os.stat(path).st_mode & 0o001:
            return ["root"]
    return ["root", "user"]


USERS = _users()


def as_user(command, user):
    if user == "root" or os.geteuid() != 0:
        return list(command)
    return ["setpriv", f"--reuid={USER_ID}", f"--regid={USER_ID}", "--clear-groups", "--"] + list(command)


def environment(user):
    env = {name: os.environ[name] for name in ("PATH", "LANG", "PADDOCK_STATE", "ASAN_OPTIONS", "LSAN_OPTIONS", "UBSAN_OPTIONS", "TSAN_OPTIONS") if name in os.environ}
    env["HOME"] = _user_home() if user == "user" else os.environ.get("HOME", "/root")
    if user == "root" and os.geteuid() == 0:
        env.setdefault("PADDOCK_STATE", _root_state())
    return env


def policy_file(test, text):
    """A policy that every user may read, for as long as the test runs."""
    file = tempfile.NamedTemporaryFile("w", suffix=".toml", prefix="paddock-test-")
    test.addCleanup(file.close)
    file.write(text)
    file.flush()
    os.chmod(file.name, 0o644)
    return file.name


def state_folder(test, user):
    """A state directory of the user's own, for as long as the test runs."""
    place = folder(user)
    os.chmod(place, 0o700)
    test.addCleanup(shutil.rmtree, place, ignore_errors=True)
    return place


def start_on_terminal(test, user, *arguments):
    """`paddock run` on a terminal of its own: its pid and our end."""
    pid, terminal = pty.fork()
    if pid == 0:
        command = as_user([PADDOCK, "run", *arguments], user)
        os.chdir("/")
        os.execvpe(command[0], command, environment(user))
    test.addCleanup(os.close, terminal)
    return pid, terminal


def read_until(fd, text, seconds=20):
    """What came from a terminal, up to that text and a little more."""
    seen, end = b"", time.monotonic() + seconds
    while text not in seen:
        if time.monotonic() > end or not select.select([fd], [], [], 1)[0]:
            if time.monotonic() > end:
                raise AssertionError(f"{text!r} did not come: {seen!r}")
            continue
        try:
            chunk = os.read(fd, 4096)
        except OSError:
            chunk = b""
        if not chunk:
            raise AssertionError(f"the terminal closed: {seen!r}")
        seen += chunk
    return seen


def call(*args, user="root", input=None, timeout=120, extra_fds=(), env=None, cwd=None, program=PADDOCK, text=True):
    """paddock ARGS… as that user."""
    full = environment(user)
    full.update(env or {})
    return subprocess.run(as_user([program, *args], user), input=input if input is not None else ("" if text else b""), capture_output=True, text=text,
                          errors="replace" if text else None, timeout=timeout, pass_fds=extra_fds, env=full, cwd=cwd or "/")


def run(*args, **options):
    """paddock run ARGS…"""
    return call("run", *args, **options)


def run_json(*args, **options):
    done = call("run", "--json", *args, **options)
    try:
        return json.loads(done.stdout)
    except json.JSONDecodeError:
        raise AssertionError(f"no JSON from paddock run {args}: exit {done.returncode}\nstdout: {done.stdout[-2000:]}\nstderr: {done.stderr[-2000:]}")


def popen(*args, user="root", env=None, before=(), **options):
    full = environment(user)
    full.update(env or {})
    return subprocess.Popen([*before, *as_user([PADDOCK, *args], user)], env=full, cwd="/", **options)


def folder(user, parent="/tmp"):
    """A directory that belongs to that user; the caller removes it."""
    path = tempfile.mkdtemp(prefix="paddock-test-", dir=parent)
    os.chmod(path, 0o755)
    if user == "user" and os.geteuid() == 0:
        os.chown(path, USER_ID, USER_ID)
    return path


def give(path, user):
    """Makes a file or directory that user's."""
    if user == "user" and os.geteuid() == 0:
        os.chown(path, USER_ID, USER_ID, follow_symlinks=False)


def on(*walls, run=None):
    """Runs a test once per user and wall, as subtests: test(self, user, wall), or test(self, run(user, wall))."""
    def decorate(test):
        @functools.wraps(test)
        def every(self):
            for user in USERS:
                for wall in walls:
                    with self.subTest(user=user, wall=wall):
                        test(self, run(user, wall)) if run else test(self, user, wall)
        return every
    return decorate


on_container, on_process, on_both = on("container"), on("process"), on("container", "process")


def main():
    """unittest.main() with one closing line per skipped reason, and nothing left behind."""
    program = unittest.main(exit=False, verbosity=1)
    reasons = {}
    for _, reason in program.result.skipped:
        reasons[reason] = reasons.get(reason, 0) + 1
    for reason, count in sorted(reasons.items()):
        print(f"skipped {count}: {reason}")
    for folder in filter(None, (_home, _state)):
        shutil.rmtree(folder, ignore_errors=True)
    all_skipped = program.result.testsRun > 0 and len(program.result.skipped) == program.result.testsRun
    sys.exit(1 if not program.result.wasSuccessful() else 77 if all_skipped else 0)
