"""Driving tests/support/living.cc: one living sandbox at a time, without a server, from a root of a few files."""
import contextlib
import json
import os
import secrets
import shutil
import subprocess
import time
import uuid

from support import paddock

PROGRAM = os.path.join(paddock.BUILD, "tests", "paddock-living")
DISK_BASE = 1_878_982_656  # store::kDiskBase


def _own(path, uid):
    for folder, folders, names in os.walk(path):
        for name in [folder] + [os.path.join(folder, other) for other in folders + names]:
            os.lchown(name, uid, uid)


def make_layer(path, user):
    """A root with nothing but names; /usr is the host's."""
    for name in ("etc", "home/user", "root", "usr", "var/tmp"):
        os.makedirs(os.path.join(path, name))
    for name in ("bin", "sbin", "lib", "lib64"):
        if os.path.lexists("/" + name):
            os.symlink("usr/" + name, os.path.join(path, name))
    uid = 1000 if user == "root" else 0
    with open(os.path.join(path, "etc/passwd"), "w") as file:
        file.write(f"root:x:0:0:root:/root:/bin/sh\nuser:x:{uid}:{uid}::/home/user:/bin/sh\n")
    with open(os.path.join(path, "etc/group"), "w") as file:
        file.write(f"root:x:0:\nuser:x:{uid}:\n")
    if os.geteuid() == 0:
        base = DISK_BASE if user == "root" else paddock.USER_ID
        _own(path, base)
        os.lchown(os.path.join(path, "home/user"), base + uid, base + uid)


class Place:
    """A layer and a directory for one sandbox."""

    def __init__(self, user, parent="/tmp"):
        self.user = user
        self.top = paddock.folder(user, parent)
        os.chmod(self.top, 0o700)
        self.layer = os.path.join(self.top, "layer")
        make_layer(self.layer, user)
        self.directory = os.path.join(self.top, "sandbox")
        os.mkdir(self.directory, 0o700)
        paddock.give(self.directory, user)
        self.id = "t" + secrets.token_hex(9)

    def spec(self, policy="", **more):
        return {"id": self.id, "directory": self.directory, "layers": [self.layer], "host_usr": True, "hostname": "box",
                "boot_id": str(uuid.uuid4()), "policy": "version = 1\n" + policy, **more}

    def remove(self):
        shutil.rmtree(self.top, ignore_errors=True)


class Refused(Exception):
    pass


class Living:
    """The process that plays the server."""

    def __init__(self, user, before=()):
        self.process = subprocess.Popen([*before, *paddock.as_user([PROGRAM], user)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                                        env=paddock.environment(user), cwd="/")
        self.count = 0
        self.answers = {}
        self.events = []

    def send(self, what, **order):
        self.count += 1
        self.process.stdin.write(json.dumps({"id": self.count, "do": what, **order}) + "\n")
        self.process.stdin.flush()
        return self.count

    def _read(self):
        line = self.process.stdout.readline()
        if not line:
            raise Refused("the program is gone")
        value = json.loads(line)
        if "event" in value:
            self.events.append(value)
        else:
            self.answers[value["id"]] = value

    def answer(self, number):
        while number not in self.answers:
            self._read()
        value = self.answers.pop(number)
        if "error" in value:
            raise Refused(f"{value['code']}: {value['error']}")
        return value

    def do(self, what, **order):
        return self.answer(self.send(what, **order))

    def event(self, name):
        while not any(event["event"] == name for event in self.events):
            self._read()
        return next(event for event in self.events if event["event"] == name)

    def exec(self, *argv, user="user", **more):
        """Exit code (or -signal), stdout and stderr together."""
        done = self.do("exec", argv=list(argv), user=user, **more)
        result = done["result"]
        return (result["code"] if "code" in result else -result["signal"]), done["out"] + done["err"]

    def keeper(self):
        return next(pid for pid in children(self.process.pid) if name_of(pid) == "paddock-launch")

    def guest(self):
        return children(self.keeper())[0]

    def kill9(self):
        self.process.kill()
        self.process.wait()
        self.process.stdin.close()
        self.process.stdout.close()

    def close(self):
        with contextlib.suppress(BrokenPipeError):
            self.process.stdin.close()
        self.process.stdout.close()
        self.process.wait()


def children(pid):
    with open(f"/proc/{pid}/task/{pid}/children") as file:
        return [int(word) for word in file.read().split()]


def name_of(pid):
    try:
        with open(f"/proc/{pid}/stat") as file:
            stat = file.read()
    except OSError:
        return ""
    return "" if stat.rpartition(")")[2].split()[0] in "ZX" else stat.partition("(")[2].rpartition(")")[0]


def is_alive(pid):
    return name_of(pid) != ""


def wait_until(condition, seconds=20):
    end = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > end:
            return False
        time.sleep(0.01)
    return True


def cgroups_of(id):
    return [os.path.join(folder, name) for folder, names, _ in os.walk("/sys/fs/cgroup") for name in names if name == "paddock-" + id]


def held_ranges():
    """Id ranges that are locked, as (inode, byte)."""
    inodes = set()
    with contextlib.suppress(FileNotFoundError):
        for name in os.listdir("/run/paddock-uids"):
            inodes.add(os.stat(os.path.join("/run/paddock-uids", name)).st_ino)
    found = set()
    with open("/proc/locks") as file:
        for line in file:
            words = line.split()
            if words[1] == "OFDLCK" and int(words[5].split(":")[2]) in inodes:
                found.add((words[5], words[6]))
    return found
