# K04 hostile image: every place that is mounted or written while the root is built is a link to a directory of the host.
# layers: code
# process: none
# control: none
"""Covers CVE-2025-31133 (/dev/null), CVE-2025-52565 (/dev/pts, /dev/console), CVE-2025-52881 (a fake /proc) and kin.
Usage: k04_hostile_root.py WALL ROOM PADDOCK…"""
import os
import pathlib
import shutil
import subprocess
import sys

wall, room, paddock = sys.argv[1], pathlib.Path(sys.argv[2]), sys.argv[3:]
program = pathlib.Path(os.environ["PADDOCK_BUILD"]) / "escape" / "k03_root_sane"
TRAPS = ["dev", "dev/null", "dev/zero", "dev/tty", "dev/pts", "dev/console", "dev/shm", "dev/ptmx", "dev/fd", "proc", "proc/self", "proc/sys",
         "proc/kcore", "tmp", "var", "var/tmp", "home", "home/agent", "run", "run/paddock", "etc", "etc/passwd", "etc/resolv.conf", "sys",
         "workspace", "lib", "usr"]


def make_root(root, victim, trap, target):
    (root / "bin").mkdir(parents=True)
    shutil.copy(program, root / "bin" / "check")
    place = root / trap
    place.parent.mkdir(parents=True, exist_ok=True)
    place.symlink_to(target)
    workspace = root.parent / "workspace"
    workspace.mkdir()
    return workspace


def state_of(victim):
    return sorted((str(path.relative_to(victim)), path.lstat().st_mode, path.read_text() if path.is_file() else "") for path in victim.rglob("*"))


refused = ran = 0
for number, trap in enumerate(TRAPS):
    for kind in ("absolute", "climbing"):
        here = room / f"{number}-{kind}"
        victim = here / "victim"
        for name in ("pts", "shm", "tmp", "agent", "self"):
            (victim / name).mkdir(parents=True)
        for name in ("null", "passwd", "kcore", "file"):
            (victim / name).write_text("the host's\n")
        for path in [here, victim, *victim.rglob("*")]:
            path.chmod(0o777)
        is_file = trap.split("/")[-1] in ("null", "zero", "tty", "console", "ptmx", "kcore", "passwd", "resolv.conf")
        aim = victim / "file" if is_file else victim
        target = str(aim) if kind == "absolute" else "../" * 30 + str(aim)[1:]
        workspace = make_root(here / "root", victim, trap, target)
        before = state_of(victim)
        done = subprocess.run([*paddock, "run", "--wall", wall, "--root", str(here / "root"), "--workspace", f"{workspace}:ro", "--",
                               "/bin/check"], capture_output=True, text=True)
        if state_of(victim) != before:
            sys.exit(print(f"ESCAPED: {trap} -> host ({kind}): the host's directory changed") or 42)
        if done.returncode == 42:
            sys.exit(print(f"ESCAPED: {trap} -> host ({kind}): {done.stdout.strip()}") or 42)
        if done.returncode not in (0, 125, 126, 127):
            sys.exit(f"{trap} ({kind}): exit {done.returncode}: {done.stdout} {done.stderr}")
        ran, refused = ran + (done.returncode == 0), refused + (done.returncode != 0)
if ran == 0:
    sys.exit(print(f"cannot: no hostile root was run: {done.stderr.strip()}") or 77)
print(f"held: {ran} hostile roots ran in order, {refused} were refused")
