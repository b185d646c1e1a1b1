"""Who takes part: the native program, Paddock's walls, and the peers that work on this machine.

Each peer is set up from its own files under one temporary directory and tried once before it is measured; one that does
not work is listed with the reason it gave. Leaving the `Contenders` context stops what was started and removes what was made.
"""

import ctypes
import glob
import json
import os
import re
import shutil
import subprocess
import time

ROOTLESS_UID = 12345
LIMITS = {
    "memory": "256M", "pids": "64", "cpu": "2", "cpu-time": "30s", "timeout": "60s", "disk": "64M",
    "inodes": "10000", "open-files": "256", "file-size": "32M", "output-limit": "1M",
}
PYTHON = "/usr/bin/python3"
WORKLOADS = {  # name: (command, what is measured)
    "true": (["/bin/true"], "end"),
    "echo": (["/bin/echo", "x"], "first"),
    "python-pass": ([PYTHON, "-c", "pass"], "end"),
    "python-print": ([PYTHON, "-c", "print(1)"], "first"),
}


class Unusable(Exception):
    """A contender that does not work here; the text says why."""


class Contender:
    def __init__(self, name, argv, *, uid=None, namespace=None, note="", baseline="native", peer="bubblewrap"):
        self.name, self.argv, self.uid, self.namespace, self.note = name, argv, uid, namespace, note
        self.baseline, self.peer = baseline, peer  # what its ratios refer to

    def command(self, workload):
        """The whole command line for one workload. `argv` is a prefix, or a function of the workload's name."""
        return self.argv(workload) if callable(self.argv) else self.argv + WORKLOADS[workload][0]

    def line(self, workload):
        fields = [self.name, workload, WORKLOADS[workload][1], "-" if self.uid is None else str(self.uid), self.namespace or "-"]
        return "\t".join(fields + self.command(workload)) + "\n"

    def try_once(self, workload="echo"):
        """Runs it, and returns what it printed; raises Unusable with its own words."""
        command = [word.replace("{id}", f"try{time.monotonic_ns()}") for word in self.command(workload)]
        prefix = ["nsenter", f"--mount={self.namespace}"] if self.namespace else []
        as_user = {"user": self.uid, "group": self.uid, "extra_groups": []} if self.uid is not None else {}
        try:
            done = subprocess.run(prefix + command, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60, **as_user)
        except (OSError, subprocess.TimeoutExpired) as error:
            raise Unusable(str(error)) from error
        if done.returncode != 0:
            raise Unusable(one_line(done.stderr) or f"exit status {done.returncode}")
        return done.stdout


def one_line(text):
    lines = [line.strip() for line in text.strip().splitlines() if line.strip()]
    return lines[-1][:200] if lines else ""


def need(program):
    path = shutil.which(program)
    if not path:
        raise Unusable(f"{program} is not installed")
    return path


def need_root():
    if os.geteuid() != 0:
        raise Unusable("needs root")


class Contenders:
    """`with Contenders(paddock, folder) as all:` gives `all.usable` and `all.skipped`."""

    def __init__(self, paddock, folder):
        self.paddock, self.folder = paddock, folder
        self.usable, self.skipped = [], []
        self.undo = []  # called in reverse order

    def __enter__(self):
        try:
            adopt_orphans()
            self.undo.append(reap_orphans)
            self.rootfs = self.make_rootfs()
            for name, make in self.table():
                try:
                    contender = make(name)
                    contender.try_once()
                    self.usable.append(contender)
                except Unusable as error:
                    self.skipped.append({"contender": name, "reason": str(error).replace(self.folder, "…")})
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_):
        while self.undo:
            self.undo.pop()()

    def table(self):
        as_root = [
            ("native", lambda name: Contender(name, [])),
            ("paddock process", lambda name: self.wall(name, "process")),
            ("paddock container", lambda name: self.wall(name, "container")),
            ("bubblewrap", self.bubblewrap),
            ("paddock crun", lambda name: self.wall(name, "crun")),
            ("crun", self.crun),
            ("paddock runc", lambda name: self.wall(name, "runc")),
            ("runc", self.runc),
            ("paddock gvisor", lambda name: self.wall(name, "gvisor")),
            ("runsc", self.runsc),
            ("docker run", self.docker_run),
            ("docker exec", self.docker_exec),
        ]
        user = {"uid": ROOTLESS_UID if os.geteuid() == 0 else None, "baseline": "native rootless", "peer": "bubblewrap rootless"}
        rootless = [
            ("native rootless", lambda name: Contender(name, [], **user)),
            ("paddock process rootless", lambda name: self.wall(name, "process", **user)),
            ("paddock container rootless", lambda name: self.wall(name, "container", **user)),
            ("bubblewrap rootless", lambda name: self.bubblewrap(name, **user)),
        ]
        return (as_root if os.geteuid() == 0 else [(name, self.as_root_only) for name, _ in as_root]) + rootless

    @staticmethod
    def as_root_only(_):
        need_root()

    # Ours ---------------------------------------------------------------------------------------------------------

    def wall(self, name, wall, **user):
        """Every limit on; one that this user cannot enforce is left out and said so."""
        limits, left_out = dict(LIMITS), []
        while True:
            flags = [word for key, value in limits.items() for word in (f"--{key}", value)]
            note = "every limit on" if not left_out else f"every limit on but {', '.join(left_out)} (needs a cgroup this user may write)"
            contender = Contender(name, [self.paddock, "run", "--wall", wall, *flags, "--"], note=note, **user)
            try:
                contender.try_once()
                return contender
            except Unusable as error:
                refused = re.search(r"limit (\w+)=", self.words_of(contender))
                key = refused and refused[1].replace("_", "-")
                if key not in limits:
                    raise error
                del limits[key]
                left_out.append(key)

    @staticmethod
    def words_of(contender):
        as_user = {"user": contender.uid, "group": contender.uid, "extra_groups": []} if contender.uid is not None else {}
        done = subprocess.run(contender.command("true"), stdin=subprocess.DEVNULL, capture_output=True, text=True, **as_user)
        return done.stderr

    # Peers --------------------------------------------------------------------------------------------------------

    def bubblewrap(self, name, **user):
        argv = [need("bwrap"), "--unshare-all", "--die-with-parent", "--ro-bind", "/usr", "/usr", "--proc", "/proc", "--dev", "/dev",
                "--tmpfs", "/tmp", "--ro-bind-try", "/etc/ld.so.cache", "/etc/ld.so.cache"]
        for link in root_links():
            argv += ["--symlink", os.readlink(f"/{link}"), f"/{link}"]
        return Contender(name, argv, note="all namespaces, no limits, no filter", **user)

    def crun(self, name):
        program = need("crun")
        note = "its default cgroup"
        contender = self.oci(name, [program, "--root", self.state("crun")], note)
        try:
            contender.try_once()
            return contender
        except Unusable as error:
            if "hybrid" not in str(error):
                raise
        # It refuses hosts that mount version 2 beside version 1; it gets a view without version 2.
        holder = subprocess.Popen(["unshare", "--mount", "sh", "-c", "umount /sys/fs/cgroup/unified && echo ready && exec sleep infinity"],
                                  stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        self.undo.append(lambda: stop(holder))
        if holder.stdout.readline() != b"ready\n":
            raise Unusable("refuses hybrid cgroups, and the version 2 mount could not be hidden")
        contender.namespace = f"/proc/{holder.pid}/ns/mnt"
        contender.note = "its default cgroups; version 2 mount hidden, as it refuses hybrid hosts"
        return contender

    def runc(self, name):
        return self.oci(name, [need("runc"), "--root", self.state("runc")], "its default cgroups, no limits")

    def runsc(self, name):
        program = need("runsc")
        reasons = []
        for platform in ("systrap", "ptrace"):
            options = ["--root", self.state("runsc"), "--network=none", f"--platform={platform}"]
            contender = self.oci(name, [program, *options], f"gVisor, platform {platform}")
            try:
                contender.try_once()
                return contender
            except Unusable as error:
                reasons.append(str(error))
        raise Unusable(reasons[-1])

    def docker_run(self, name):
        need_root()
        docker = self.start_docker()
        return Contender(name, docker + ["run", "--rm", *self.docker_options, "paddock-bench"], note="default seccomp filter, no network")

    def docker_exec(self, name):
        if not getattr(self, "docker_options", None):
            raise Unusable("see docker run")
        docker = self.docker
        self.call(docker + ["run", "--detach", "--name", "living", *self.docker_options, "paddock-bench", "/bin/sleep", "infinity"])
        return Contender(name, docker + ["exec", "living"], note="into a container that is already running")

    # What they need -----------------------------------------------------------------------------------------------

    def call(self, argv, **more):
        done = subprocess.run(argv, capture_output=True, text=True, **more)
        if done.returncode != 0:
            raise Unusable(one_line(done.stderr) or f"{argv[0]} ended with {done.returncode}")

    def state(self, runtime):
        path = os.path.join(self.folder, "state", runtime)
        os.makedirs(path, exist_ok=True)
        return path

    def make_rootfs(self):
        """Nothing but links into /usr, which each runtime binds read-only."""
        rootfs = os.path.join(self.folder, "rootfs")
        for name in ("usr", "etc", "proc", "dev", "sys", "tmp"):
            os.makedirs(os.path.join(rootfs, name))
        for link in root_links():
            os.symlink(os.readlink(f"/{link}"), os.path.join(rootfs, link))
        if os.path.exists("/etc/ld.so.cache"):
            shutil.copy("/etc/ld.so.cache", os.path.join(rootfs, "etc"))
        return rootfs

    def oci(self, name, runtime, note):
        """A bundle per workload, as the command stands in its config.json."""
        runtime_name = os.path.basename(runtime[0])

        def bundle(workload):
            path = os.path.join(self.folder, "bundles", runtime_name, workload)
            if not os.path.exists(path):
                os.makedirs(path)
                with open(os.path.join(path, "config.json"), "w", encoding="utf-8") as file:
                    json.dump(oci_config(self.rootfs, WORKLOADS[workload][0]), file)
            return path

        # The number keeps names apart even where a runtime's state outlives the container for a moment.
        return Contender(name, lambda workload: runtime + ["run", "--bundle", bundle(workload), f"paddock-bench-{os.getpid()}-{{id}}"], note=note)

    def start_docker(self):
        daemon, client = need("dockerd"), need("docker")
        folder = os.path.join(self.folder, "docker")
        os.makedirs(folder)
        socket = f"unix://{folder}/socket"
        group = f"paddock-bench-{os.getpid()}"
        had_run = os.path.exists("/run/docker")
        log = open(os.path.join(folder, "log"), "w", encoding="utf-8")
        process = subprocess.Popen(
            [daemon, "--host", socket, "--data-root", f"{folder}/data", "--exec-root", f"{folder}/exec", "--pidfile", f"{folder}/pid",
             "--iptables=false", "--ip6tables=false", "--bridge=none", f"--cgroup-parent=/{group}"],
            stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True)
        self.docker = [client, "--host", socket, "--config", folder]

        def undo():
            subprocess.run(self.docker + ["rm", "--force", "living"], capture_output=True, check=False)
            stop(process, patience=30)
            unmount_below(folder)
            for path in glob.glob(f"/sys/fs/cgroup/{group}") + glob.glob(f"/sys/fs/cgroup/*/{group}"):
                remove_groups(path)
            if not had_run:  # the daemon makes it whatever its options say
                for path in ("/run/docker/plugins", "/run/docker"):
                    if os.path.isdir(path) and not os.listdir(path):
                        os.rmdir(path)

        self.undo.append(undo)
        for _ in range(120):
            if subprocess.run(self.docker + ["version"], capture_output=True, check=False).returncode == 0:
                break
            if process.poll() is not None:
                with open(log.name, encoding="utf-8") as file:
                    raise Unusable(f"dockerd does not start: {one_line(file.read())}")
            time.sleep(0.25)
        else:
            raise Unusable("dockerd does not answer within 30 s")
        self.call(["sh", "-c", 'tar -C "$0" -c . | "$@" import - paddock-bench', self.rootfs, *self.docker])
        self.docker_options = ["--network", "none", "--volume", "/usr:/usr:ro"]
        return self.docker


def root_links():
    return [name for name in ("bin", "sbin", "lib", "lib32", "lib64") if os.path.islink(f"/{name}")]


def oci_config(rootfs, args):
    """What `runc spec` proposes, with /usr bound in and no terminal."""
    capabilities = ["CAP_AUDIT_WRITE", "CAP_KILL", "CAP_NET_BIND_SERVICE"]
    safe = ["nosuid", "noexec", "nodev"]
    return {
        "ociVersion": "1.0.2",
        "process": {
            "terminal": False, "user": {"uid": 0, "gid": 0}, "args": args, "cwd": "/", "env": ["PATH=/usr/bin:/bin", "LANG=C.UTF-8"],
            "capabilities": {kind: capabilities for kind in ("bounding", "effective", "permitted")},
            "rlimits": [{"type": "RLIMIT_NOFILE", "hard": 1024, "soft": 1024}], "noNewPrivileges": True,
        },
        "root": {"path": rootfs, "readonly": True},
        "hostname": "bench",
        "mounts": [
            {"destination": "/proc", "type": "proc", "source": "proc"},
            {"destination": "/dev", "type": "tmpfs", "source": "tmpfs", "options": ["nosuid", "strictatime", "mode=755", "size=65536k"]},
            {"destination": "/dev/pts", "type": "devpts", "source": "devpts", "options": ["nosuid", "noexec", "newinstance", "ptmxmode=0666", "mode=0620"]},
            {"destination": "/dev/shm", "type": "tmpfs", "source": "shm", "options": safe + ["mode=1777", "size=65536k"]},
            {"destination": "/tmp", "type": "tmpfs", "source": "tmpfs", "options": safe + ["mode=1777", "size=65536k"]},
            {"destination": "/sys", "type": "sysfs", "source": "sysfs", "options": safe + ["ro"]},
            {"destination": "/usr", "type": "bind", "source": "/usr", "options": ["rbind", "ro"]},
        ],
        "linux": {
            "resources": {"devices": [{"allow": False, "access": "rwm"}]},
            "namespaces": [{"type": kind} for kind in ("pid", "network", "ipc", "uts", "mount")],
            "maskedPaths": ["/proc/acpi", "/proc/kcore", "/proc/keys", "/proc/latency_stats", "/proc/timer_list", "/proc/sched_debug", "/sys/firmware", "/proc/scsi"],
            "readonlyPaths": ["/proc/bus", "/proc/fs", "/proc/irq", "/proc/sys", "/proc/sysrq-trigger"],
        },
    }


def adopt_orphans():
    """What a daemon leaves behind comes to us, not to a PID 1 that may not collect it."""
    pr_set_child_subreaper = 36
    ctypes.CDLL(None).prctl(pr_set_child_subreaper, 1, 0, 0, 0)


def reap_orphans():
    for _ in range(50):
        try:
            if os.waitpid(-1, os.WNOHANG)[0] == 0:
                time.sleep(0.1)
        except ChildProcessError:
            return


def stop(process, patience=5):
    process.terminate()
    try:
        process.wait(patience)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def unmount_below(folder):
    with open("/proc/self/mounts", encoding="utf-8") as file:
        targets = [line.split()[1] for line in file]
    for target in reversed(targets):
        if target.startswith(folder + "/"):
            subprocess.run(["umount", "--lazy", target], check=False)


def remove_groups(path):
    for directory, _, _ in os.walk(path, topdown=False):
        try:
            os.rmdir(directory)
        except OSError:
            pass  # still busy: the kernel lets go of it with its last process
