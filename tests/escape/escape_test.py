"""Runs every hostile program of cases/ against Paddock, then proves that each attack is real.

For each case, wall and caller: under Paddock the program must end as "held". Then the controls, through paddock-without: with
all of the case's layers removed the attack must succeed, and with any single one kept it must fail. README.md has the format.

  ESCAPE_CASES=k2*      only these           ESCAPE_CONTROLS=0   no controls
  ESCAPE_WALLS=process  only this wall       ESCAPE_USERS=root   only this caller
"""
import atexit
import collections
import concurrent.futures
import contextlib
import ctypes
import fnmatch
import hashlib
import json
import os
import pathlib
import re
import selectors
import shutil
import socket
import struct
import subprocess
import sys
import tempfile
import threading
import unittest

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))
from support import paddock  # noqa: E402
from support.paddock import USER_ID, as_user  # noqa: E402

BUILD = pathlib.Path(paddock.BUILD)
WITHOUT = BUILD / "tests" / "paddock-without"
LAYERS = set("seccomp landlock caps no_new_privs uid user_ns mount_ns pid_ns net_ns ipc_ns uts_ns cgroup_ns read_only overlay masks dev "
             "fds env undumpable keyring cgroup rlimits scratch".split())
CONTROLS = {"run", "observe", "kernel", "vm", "none"}
VERDICTS = {0: "held", 42: "escaped", 77: "cannot"}
NEEDED_BY = {"no_new_privs": {"seccomp", "landlock"}}  # without it an unprivileged process cannot enter these
TIMEOUT = 60  # seconds; only for a sandbox that never ends


def chosen(variable, everything):
    wanted = os.environ.get(variable)
    return [one for one in everything if not wanted or one in wanted.split()]


WALLS = chosen("ESCAPE_WALLS", ["container", "process"])
USERS = chosen("ESCAPE_USERS", paddock.USERS)


class Case:
    """One file of cases/. Its header: `KEY: VALUE`, or `KEY(WORDS): VALUE` for one wall, one caller or both of them."""

    def __init__(self, path):
        self.path, self.name = path, path.stem
        self.fields = collections.defaultdict(dict)
        lines = path.read_text().splitlines()
        self.title = lines[0].lstrip("/# ")
        for line in lines[1:]:
            if not re.match(r"(//|#)( |$)", line):
                break
            found = re.match(r"(?://|#) ([a-z]+)(?:\(([a-z ]+)\))?: *([^(]*)", line)
            if found:
                self.fields[found[1]][frozenset((found[2] or "").split())] = found[3].strip()

    def get(self, key, wall, user, default=""):
        """The most specific value for this wall and caller."""
        values = self.fields.get(key, {})
        fitting = [words for words in values if words <= {wall, user}]
        return values[max(fitting, key=len)] if fitting else default

    def layers(self, wall, user):
        named = self.get("process" if wall == "process" else "layers", wall, user, "none")
        return [layer for layer in named.split() if layer in LAYERS]

    def claims(self, wall, user):
        """Whether this wall says that it stops the attack. A limit is claimed by every wall, with or without a layer."""
        if user not in self.get("users", wall, user, "root user").split():
            return False
        return wall != "process" or self.get("process", wall, user) != "none" or self.get("expect", wall, user) != ""


def all_cases():
    pattern = os.environ.get("ESCAPE_CASES", "*")
    files = sorted(file for file in (HERE / "cases").iterdir() if file.suffix in (".c", ".py"))
    return [Case(file) for file in files if fnmatch.fnmatch(file.stem, pattern)]


libc = ctypes.CDLL(None, use_errno=True)


def called(result, what):
    if result == -1:
        raise OSError(ctypes.get_errno(), what)
    return result


class Stage:
    """What the attacks reach for on the host: files, sockets, processes, shared memory, keys. Harmless, and removed afterwards."""

    def __init__(self, cases):
        # Not beneath /tmp or /var/tmp: these names are writable inside, so Landlock would not be a layer there.
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="paddock-escape-", dir="/srv" if os.access("/srv", os.W_OK) else pathlib.Path.home()))
        self.folder.chmod(0o755)
        self.unique = f"paddock-escape-{os.getpid()}"
        self.values = {"hostname": socket.gethostname(), "abstract": self.unique, "abstract-datagram": self.unique + "-datagram"}
        self.kept = []  # descriptors and processes that must live as long as the stage
        if os.geteuid() == 0:
            os.setgroups([0, USER_ID + 1])  # a group that the sandbox must not inherit
        self.make_files(cases)
        self.make_sockets()
        self.make_ipc()
        # Of the caller's uid, but without capabilities: only the uid stands between it and the attack.
        bare = {"root": ["--bounding-set=-all", "--inh-caps=-all"], "user": []}
        self.victims = {user: subprocess.Popen(as_user(["setpriv", "--pdeathsig", "KILL", *bare[user], "sleep", "1800"], user),
                                               start_new_session=True) for user in USERS}
        self.directory = os.open(self.folder / "outside", os.O_RDONLY)
        self.values["fd"] = str(self.directory)
        self.environment = paddock.environment(USERS[0]) | {
            "PADDOCK_ESCAPE_SECRET": "hunter2", "LD_LIBRARY_PATH": "/nonexistent",
            "BASH_ENV": "/nonexistent", "NODE_OPTIONS": "--max-old-space-size=64", "GIT_SSH_COMMAND": "/nonexistent",
            "PYTHONSTARTUP": "/nonexistent", "PADDOCK_BUILD": str(BUILD), "PYTHONPATH": str(HERE.parent),
        }

    def folder_for(self, name, mode):
        folder = self.folder / name
        folder.mkdir()
        folder.chmod(mode)
        self.values[name] = str(folder)
        return folder

    def make_files(self, cases):
        outside, shared = self.folder_for("outside", 0o755), self.folder_for("shared", 0o777)
        for file in (outside / "secret", outside / "input", shared / "file"):
            file.write_text("the host's\n")
            file.chmod(0o666)
        self.values["secret"] = str(outside / "secret")
        for user in USERS:
            for name, mode in (("home", 0o700), ("workspace", 0o755)):
                folder = self.folder_for(f"{name}-{user}", mode)
                (folder / "file").write_text("the caller's\n")
                if user == "user" and os.geteuid() == 0:
                    os.chown(folder, USER_ID, USER_ID)
                    os.chown(folder / "file", USER_ID, USER_ID)
        owned = self.folder_for("owned", 0o755)  # granted for reading, and owned by the ordinary user
        (owned / "file").write_text("the caller's\n")
        if os.geteuid() == 0:
            os.chown(owned / "file", USER_ID, USER_ID)
        setuid = self.folder_for("setuid", 0o755)
        for case in cases:
            program = BUILD / "escape" / case.name
            if case.name.startswith("k23_setuid_program") or case.name.startswith("k23_file_cap"):
                copy = shutil.copy(program, setuid)
                if "setuid" in case.name:
                    os.chmod(copy, 0o4755)
                elif os.geteuid() == 0:
                    bits = 1 << 1 | 1 << 21  # cap_dac_override, cap_sys_admin
                    os.setxattr(copy, "security.capability", struct.pack("<5I", 0x02000001, bits, 0, 0, 0))
            if "exec" in case.fields:
                os.chmod(shutil.copy(program, shared), 0o777)
        segment = pathlib.Path("/dev/shm") / self.unique
        segment.write_text("the host's\n")
        segment.chmod(0o666)
        self.values["devshm"] = str(segment)
        master, slave = os.openpty()
        self.values["pts"] = os.ttyname(slave)
        os.chmod(self.values["pts"], 0o666)
        self.kept += [master, slave]

    def make_sockets(self):
        self.selector = selectors.DefaultSelector()
        sockets = self.folder_for("sockets", 0o755)
        outside = self.folder / "outside"

        def listen(family, kind, address, answer):
            server = socket.socket(family, kind)
            server.bind(address)
            if kind == socket.SOCK_STREAM:
                server.listen(64)
            if isinstance(address, str) and address.startswith("/"):
                os.chmod(address, 0o777)
            self.selector.register(server, selectors.EVENT_READ, answer)
            return server

        def greet(server):
            with server.accept()[0] as connection:
                connection.sendall(b"hello")

        def pass_directory(server):
            socket.send_fds(server.accept()[0], [b"x"], [self.directory])

        def echo(server):
            data, sender = server.recvfrom(64)
            if sender:
                server.sendto(data, sender)

        unix, stream, datagram = socket.AF_UNIX, socket.SOCK_STREAM, socket.SOCK_DGRAM
        listen(unix, stream, "\0" + self.values["abstract"], greet)
        listen(unix, datagram, "\0" + self.values["abstract-datagram"], echo)
        listen(unix, stream, str(outside / "stream"), greet)
        listen(unix, datagram, str(outside / "datagram"), echo)
        listen(unix, stream, str(sockets / "passes-directory"), pass_directory)
        def serve_web(server):
            threading.Thread(target=answer_everything, args=(server.accept()[0],), daemon=True).start()

        for name, answer in (("port", greet), ("denied", greet), ("web", serve_web)):
            self.values[name] = str(listen(socket.AF_INET, stream, ("127.0.0.1", 0), answer).getsockname()[1])
        self.values["udp"] = str(listen(socket.AF_INET, datagram, ("127.0.0.1", 0), echo).getsockname()[1])
        threading.Thread(target=self.serve, daemon=True).start()

    def serve(self):
        while True:
            for ready, _ in self.selector.select():
                try:
                    ready.data(ready.fileobj)
                except OSError:
                    pass  # the other side is gone

    def make_ipc(self):
        self.ipc_before = sysv_ids()
        self.key = 0x50000000 | os.getpid()
        self.shm = called(libc.shmget(self.key, 4096, 0o1666), "shmget")
        attach = libc.shmat
        attach.restype = ctypes.c_void_p
        ctypes.memmove(attach(self.shm, None, 0), b"the host's", 10)
        self.msg = called(libc.msgget(self.key, 0o1666), "msgget")
        mask = os.umask(0)
        called(libc.mq_open(f"/{self.unique}".encode(), os.O_CREAT | os.O_RDWR, 0o666, None), "mq_open")
        os.umask(mask)
        self.values |= {"shm": str(self.shm), "key": str(self.key), "mq": f"/{self.unique}"}
        # Everything started from here inherits this session keyring, and possesses the key in it.
        keyctl, add_key, join, session = 250, 248, 1, -3
        called(libc.syscall(keyctl, join, None), "keyctl")
        called(libc.syscall(add_key, b"user", b"paddock-escape", b"hunter2", 7, session), "add_key")

    def close(self):
        atexit.unregister(self.close)
        for victim in self.victims.values():
            victim.kill()
            victim.wait()
        libc.shmctl(self.shm, 0, None)
        libc.msgctl(self.msg, 0, None)
        # What a control run was killed with stays in the host's IPC namespace for ever.
        for kind, number in sysv_ids() - self.ipc_before:
            getattr(libc, kind + "ctl")(number, 0, None)
        libc.mq_unlink(f"/{self.unique}".encode())
        os.unlink(self.values["devshm"])
        shutil.rmtree(self.folder)

    def fill(self, text, user):
        own = {"pid": str(self.victims[user].pid), "workspace": self.values[f"workspace-{user}"]}
        return text.format_map(self.values | own)

    def environment_of(self, user):
        home = self.values[f"home-{user}"]
        return self.environment | {"HOME": home, "PADDOCK_STATE": f"{home}/state"}


def sysv_ids():
    """(kind, id) of every message queue and shared memory segment of those whom sandboxes run as."""
    found = set()
    for kind in ("msg", "shm"):
        with open(f"/proc/sysvipc/{kind}") as file:
            rows = [line.split() for line in file.readlines()[1:]]
        found |= {(kind, int(row[1])) for row in rows if int(row[7]) in (65534, paddock.USER_ID) or int(row[7]) > 1 << 30}
    return found


def answer_everything(connection):
    """A web server that takes whatever looks like a request, or is no text at all: what it answers to has reached it."""
    begun = b""
    with connection, contextlib.suppress(OSError):
        while received := connection.recv(65536):
            begun += received
            while ends := re.search(rb"\n\r?\n|[\x16\x80-\xff]", begun):
                begun = begun[ends.end():] if ends[0][:1] == b"\n" else b""
                connection.sendall(b"HTTP/1.1 200 OK\r\nServer: the web server\r\nContent-Length: 0\r\n\r\n")


Ending = collections.namedtuple("Ending", "verdict text limits")


def start(program, case, wall, user):
    """Runs the case under `program` (paddock, or paddock-without and what to leave out) and says how it ended."""
    binary = BUILD / "escape" / case.name
    if case.get("exec", wall, user):
        binary = pathlib.Path(stage.fill(case.get("exec", wall, user), user)) / case.name
    terminal = case.get("stdin", wall, user) == "terminal"  # which only a run without --json hands on
    command = as_user([*program, *([] if terminal else ["--json"]), "--wall", wall, "--read", str(binary.parent),
                       *stage.fill(case.get("flags", wall, user), user).split(), "--", str(binary),
                       *stage.fill(case.get("args", wall, user), user).split()], user)
    leaked = (stage.directory,) if case.get("leak", wall, user) == "directory" else ()
    opened = []
    if terminal:
        opened = list(os.openpty())
    elif case.get("stdin", wall, user) == "file":
        opened = [os.open(stage.folder / "outside" / "input", os.O_RDONLY)]
    try:
        done = subprocess.run(command, stdin=opened[-1] if opened else subprocess.DEVNULL, capture_output=True, pass_fds=leaked,
                              env=stage.environment_of(user), cwd="/", timeout=TIMEOUT)
    except subprocess.TimeoutExpired:
        return Ending("hung", f"no end after {TIMEOUT} s", [])
    finally:
        for fd in opened:
            os.close(fd)
    return read_plain_ending(done) if terminal else read_ending(done)


def read_plain_ending(done):
    verdict = VERDICTS.get(done.returncode, "failed")
    return Ending(verdict, (done.stdout + (done.stderr if verdict == "failed" else b"")).decode(errors="replace").strip()[-300:], [])


def read_ending(done):
    try:
        result = json.loads(done.stdout)
    except ValueError:
        return Ending("failed", f"exit {done.returncode}: {(done.stderr or done.stdout).decode(errors='replace').strip()[-300:]}", [])
    if "error" in result:
        return Ending("failed", result["error"]["message"], [])
    outcome, said = result["outcome"], result["stdout"].strip()
    limits = [hit["limit"] for hit in result.get("limits_hit", [])]
    if outcome["kind"] == "limit":
        return Ending("limit", f"stopped by {outcome['limit']}", [outcome["limit"], *limits])
    verdict = VERDICTS.get(outcome.get("code"), "odd")
    if verdict == "held" and "held" not in said:
        verdict = "odd"
    return Ending(verdict, said[-300:] if verdict != "odd" else f"{outcome} {said[-200:]} {result['stderr'][-200:]}", limits)


def run_script(case, wall, user):
    """A case in Python runs on the host: it prepares a trap, starts Paddock itself and looks at what happened."""
    room = tempfile.mkdtemp(dir=stage.folder)
    os.chmod(room, 0o755)
    done = subprocess.run([sys.executable, str(case.path), wall, room, *as_user([str(BUILD / "paddock")], user)], capture_output=True,
                          cwd="/", env=stage.environment_of(user), timeout=TIMEOUT)
    return read_plain_ending(done)


class Report:
    def __init__(self):
        self.problems, self.counts, self.skips = [], collections.Counter(), collections.Counter()

    def skip(self, reason):
        self.skips[reason] += 1

    def problem(self, case, wall, user, what):
        self.problems.append(f"{case.name} [{wall}, {user}] {what}")


def check(case):
    report = Report()
    for wall in WALLS:
        for user in USERS:
            if not case.claims(wall, user):
                report.skip(f"not claimed by the {wall} wall" if case.get("process", wall, user) == "none" else "only for one caller")
                continue
            if os.geteuid() != 0 and "{setuid}" in case.get("args", wall, user):
                report.skip("only root can prepare a setuid program")
                continue
            missing = [path for path in case.get("needs", wall, user).split() if not os.path.lexists(path)]
            if missing:
                report.skip(f"this host has no {missing[0]}")
                continue
            check_held(case, wall, user, report)
            check_controls(case, wall, user, report)
    return report


def check_held(case, wall, user, report):
    ending = run_script(case, wall, user) if case.path.suffix == ".py" else start([BUILD / "paddock", "run"], case, wall, user)
    report.counts["runs"] += 1
    if ending.verdict == "cannot":
        return report.skip(ending.text)
    expected = re.match(r"limit=(\w+)", case.get("expect", wall, user))
    if expected and expected[1] not in ending.limits:
        return report.problem(case, wall, user, f"limit {expected[1]} is not named: {ending.verdict}: {ending.text}, hit {ending.limits}")
    if ending.verdict == "held" or (expected and ending.verdict == "limit"):
        report.counts["held"] += 1
        return None
    return report.problem(case, wall, user, f"{ending.verdict}: {ending.text}")


def check_controls(case, wall, user, report):
    """All layers removed: the attack works. Any single one kept: it does not."""
    layers, kind = case.layers(wall, user), case.get("control", wall, user, "none")
    if os.environ.get("ESCAPE_CONTROLS") == "0" or not layers or kind not in ("run", "observe"):
        return report.skip({"kernel": "control: the kernel itself refuses", "vm": "control: would harm the host"}.get(kind, "no control"))
    if not WITHOUT.exists():
        return report.skip("control: paddock-without is not built")
    if user == "user" and "user_ns" in layers:
        return report.skip("control: an ordinary user cannot do without user_ns")
    for kept in [None, *layers]:
        gone = {layer for layer in layers if layer != kept}
        if not gone:
            continue  # one layer, and it is kept: that was the run above
        removed = ",".join(sorted(gone.union(*(NEEDED_BY.get(layer, set()) for layer in gone))))
        ending = start([WITHOUT, removed], case, wall, user)
        report.counts["controls"] += 1
        right = ending.verdict == "escaped" if kept is None else ending.verdict in ("held", "limit")
        if ending.verdict == "cannot":
            report.skip("control: " + ending.text)
        elif right:
            report.counts["proven"] += 1
        else:
            should = "should escape" if kept is None else f"should be held by {kept} alone"
            report.problem(case, wall, user, f"without {removed} {should}, but {ending.verdict}: {ending.text}")
    return None


def fingerprint_of_host():
    """What no attack may change, whatever it was allowed to try."""
    facts = {path: pathlib.Path(path).read_text() for path in ("/proc/sys/kernel/core_pattern", "/proc/self/mountinfo")}
    facts["host name"] = socket.gethostname()
    for program in (BUILD / "paddock", BUILD / "paddock-launch", pathlib.Path("/usr/bin/env")):
        facts[str(program)] = hashlib.sha256(program.read_bytes()).hexdigest()
    return facts


class Meta(unittest.TestCase):
    def test_there_are_at_least_80_cases(self):
        self.assertGreaterEqual(len([file for file in (HERE / "cases").iterdir() if file.suffix in (".c", ".py")]), 80)

    def test_every_case_names_its_layers(self):
        for case in cases:
            with self.subTest(case=case.name):
                self.assertRegex(case.title, r"^[A-Z]\d\d ")
                self.assertTrue(case.title.lower().startswith(case.name[:3]))
                for key in ("layers", "process"):
                    self.assertIn(frozenset(), case.fields[key], f"no `{key}:` line")
                    for value in case.fields[key].values():
                        self.assertLessEqual(set(value.split()), LAYERS | {"none", "code"})
                self.assertLessEqual(set(case.fields["control"].values()), CONTROLS)


class Escape(unittest.TestCase):
    def test_host_is_unchanged(self):
        concurrent.futures.wait(reports.values())
        self.assertEqual(before, fingerprint_of_host())


def add_test(case):
    def test(self):
        problems = reports[case.name].result().problems
        if problems:
            self.fail("\n" + "\n".join(problems))
    setattr(Escape, "test_" + case.name, test)


def setUpModule():
    global stage, before, reports
    if not (BUILD / "paddock").exists():
        raise unittest.SkipTest(f"{BUILD / 'paddock'} is not built")
    before = fingerprint_of_host()
    stage = Stage(cases)
    atexit.register(stage.close)
    pool = concurrent.futures.ThreadPoolExecutor(2)
    reports = {case.name: pool.submit(check, case) for case in cases}


def tearDownModule():
    done = [report.result() for report in reports.values() if not report.exception()]
    stage.close()
    counts, skips = sum((report.counts for report in done), collections.Counter()), collections.Counter()
    for report in done:
        skips += report.skips
    print(f"\ncases {len(cases)} · runs {counts['runs']} · held {counts['held']} · controls {counts['controls']} · "
          f"proven {counts['proven']} · skipped {sum(skips.values())}")
    for reason, count in skips.most_common():
        print(f"  {count:4} {reason}")


cases = all_cases()
for one in cases:
    add_test(one)

if __name__ == "__main__":
    paddock.main()
