"""What sandboxes could leave on a host: processes, mounts, cgroups, files."""
import glob
import os
import pathlib
import re

from support import paddock


def read(path):
    return pathlib.Path(path).read_text(errors="replace")


def processes(marker):
    """Pids of everything that carries the marker in its arguments."""
    found = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            if marker in read(f"/proc/{pid}/cmdline"):
                found.append(int(pid))
        except OSError:
            pass
    return [pid for pid in found if pid != os.getpid()]


def orphaned_helpers():
    """Every keeper and egress that has lost the paddock that started it."""
    found = set()
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            state, parent = read(f"/proc/{pid}/stat").rsplit(")", 1)[1].split()[:2]
            name = read(f"/proc/{pid}/comm").strip()
            if name.startswith(("paddock-launch", "paddock-egress")) and state != "Z" and not read(f"/proc/{parent}/comm").startswith("paddock"):
                found.add(f"{name} {pid}")
        except OSError:
            continue
    return found


def cgroups():
    """Groups of Paddock's below the ones that this test is in: other tests have their own."""
    found = set()
    for line in read("/proc/self/cgroup").splitlines():
        _, names, path = line.split(":", 2)
        for top in {"/sys/fs/cgroup", "/sys/fs/cgroup/unified"} if not names else {f"/sys/fs/cgroup/{names.removeprefix('name=')}"}:
            for where, directories, _ in os.walk(top + path):
                found.update(os.path.join(where, name) for name in directories if "paddock" in name)
    return found


def entries(user):
    """Everything in the places where Paddock keeps state, runtime files and private space."""
    env = paddock.environment(user)
    home = env["HOME"]
    places = [env.get("PADDOCK_STATE", f"{home}/.local/state/paddock"), "/var/lib/paddock", "/run/paddock", f"{home}/.cache/paddock"]
    found = set()
    for place in places:
        for where, directories, _ in os.walk(place):
            found.update(os.path.join(where, name) for name in directories if name not in ("changes", "audit"))  # these folders stay
    # The directory of a user's private spaces stays; what lies in it must not.
    for pattern in ("/tmp/paddock-*", "/var/tmp/paddock-*", "/dev/shm/paddock-*", "/tmp/paddock-[0-9]*/*", "/var/tmp/paddock-[0-9]*/*"):
        found.update(path for path in glob.glob(pattern) if not re.search("paddock-(test|escape)-|/paddock-[0-9]+$", path))
    return found


def host(user, marker):
    """All that a sandbox could leave."""
    return mounts() | cgroups() | entries(user) | orphaned_helpers() | {f"process {pid}" for pid in processes(marker)}


def of_server(state, sandboxes):
    """Processes, mounts and cgroups of a server's sandboxes. Other tests may have theirs at the same time."""
    found = {path for path in mounts() if path.startswith(state)}
    found |= {path for path in cgroups() if any(name in path for name in sandboxes)}
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            held = [os.readlink(f"/proc/{pid}/fd/{fd}") for fd in os.listdir(f"/proc/{pid}/fd")]
            if any(path.startswith(state) for path in held) and alive(pid):
                found.add(f"process {pid} {read(f'/proc/{pid}/comm').strip()}")
        except OSError:
            continue
    return found


def named(pids, name):
    """Those of the processes whose program is called so."""
    found = []
    for pid in pids:
        try:
            if read(f"/proc/{pid}/comm").strip() == name:
                found.append(pid)
        except OSError:
            pass
    return found


def alive(pid):
    try:
        return read(f"/proc/{pid}/stat").rsplit(")", 1)[1].split()[0] != "Z"
    except OSError:
        return False


def mounts():
    return {line.split(" - ")[0].split()[4] for line in read("/proc/self/mountinfo").splitlines()}


def children(pid):
    try:
        return [int(word) for task in os.listdir(f"/proc/{pid}/task") for word in read(f"/proc/{pid}/task/{task}/children").split()]
    except OSError:
        return []
