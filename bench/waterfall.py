"""Where the time of one `paddock run -- /bin/true` goes, phase by phase.

    waterfall.py PADDOCK RUNS RESULT.json

The kernel's own trace (tracefs: entry and end of every system call, fork, exec, exit, and who has the CPU, on the monotonic clock) is
recorded for one run at a time, in an instance of its own. That costs well under a microsecond per event, where strace costs a
hundred; runs without any tracing alternate with the traced ones, and both totals are reported.

A process is in one phase at a time; the table below says which system call begins which. Each moment of the run is given to
the process furthest inside that has a CPU, so the phases add up to the whole, and what other programs on the machine take is not
counted as ours.
"""

import contextlib
import json
import os
import re
import statistics
import subprocess
import sys
import tempfile
import time

from contenders import LIMITS

ROLES = ["paddock", "keeper", "first process", "program"]  # each is the child of the one before
WAKE_UP = "off the CPU"  # none of ours runs: one is being woken, the kernel cleans up, or another program has the CPU
PHASES = [
    "start and parse", "plan", "keeper start", "namespaces", "identity", "network", "root and mounts", "cgroups", "capabilities",
    "landlock", "fork", "seccomp", "last steps", "exec", "program", "teardown", WAKE_UP,
]
FIRST_PHASE = {"paddock": "start and parse", "keeper": "keeper start", "first process": "namespaces", "program": "last steps"}

# Per role, the stages in order; in each, these system calls begin these phases. The first of the next stage's calls ends a stage.
STAGES = {
    "paddock": [{"socketpair": "keeper start", "getcwd": "start and parse", "geteuid": "plan"}],
    "keeper": [{}, {"clone3": "namespaces"}, {"mkdir": "cgroups", "mkdirat": "cgroups"}],
    "first process": [
        {"prctl": "identity", "setresuid": "identity", "socket": "network", "mount_setattr": "root and mounts"},
        {"open_tree": "root and mounts", "fsopen": "root and mounts"},
        {"sendmsg": "cgroups"},
        {"prctl": "capabilities", "capset": "capabilities"},
        {"landlock_create_ruleset": "landlock", "pipe2": "fork", "clone": "fork", "clone3": "fork", "seccomp": "seccomp"},
    ],
    "program": [{"seccomp": "seccomp", "execve": "exec"}],
}
EXITS = {"exit", "exit_group"}


def syscall_names():
    """Numbers to names, from the compiler's headers."""
    text = subprocess.run(["gcc", "-E", "-dM", "-include", "sys/syscall.h", "-x", "c", "/dev/null"], capture_output=True, text=True, check=True).stdout
    return {int(number): name for name, number in re.findall(r"#define __NR_(\w+) (\d+)", text)}


class Tracer:
    """An instance of the kernel's tracer that follows one process and its descendants."""

    EVENTS = ["raw_syscalls/sys_enter", "raw_syscalls/sys_exit", "sched/sched_process_fork", "sched/sched_process_exec", "sched/sched_switch"]

    @classmethod
    @contextlib.contextmanager
    def open(cls):
        with contextlib.ExitStack() as undo:
            root = "/sys/kernel/tracing"
            if not os.path.exists(f"{root}/instances"):
                root = undo.enter_context(tempfile.TemporaryDirectory(prefix="paddock-trace-"))
                subprocess.run(["mount", "-t", "tracefs", "tracefs", root], check=True)
                undo.callback(subprocess.run, ["umount", root], check=True)
            path = f"{root}/instances/paddock-bench-{os.getpid()}"
            os.mkdir(path)
            undo.callback(os.rmdir, path)
            tracer = cls(path)
            tracer.set("tracing_on", "0")
            tracer.set("trace_clock", "mono")
            tracer.set("buffer_size_kb", "4096")
            tracer.set("options/event-fork", "1")
            for event in cls.EVENTS:
                tracer.set(f"events/{event}/enable", "1")
            yield tracer

    def __init__(self, path):
        self.path = path

    def set(self, name, value):
        with open(f"{self.path}/{name}", "w", encoding="ascii") as file:
            file.write(value)

    def begin(self, pid):
        self.set("trace", "")
        self.set("set_event_pid", str(pid))
        self.set("tracing_on", "1")

    def end(self):
        self.set("tracing_on", "0")
        with open(f"{self.path}/trace", encoding="utf-8", errors="replace") as file:
            return file.read()


def run(argv, tracer=None):
    """One run. Returns its pid, begin and end in µs on the monotonic clock, and its trace."""
    go_read, go_write = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.read(go_read, 1)
        null = os.open("/dev/null", os.O_RDWR)
        for number in range(3):
            os.dup2(null, number)
        os.execv(argv[0], argv)
    if tracer:
        tracer.begin(pid)
    time.sleep(0.01)  # it waits, and its start finds a calm machine
    begin = time.clock_gettime_ns(time.CLOCK_MONOTONIC) / 1000
    os.write(go_write, b"g")
    _, status = os.waitpid(pid, 0)
    end = time.clock_gettime_ns(time.CLOCK_MONOTONIC) / 1000
    trace = tracer.end() if tracer else ""
    os.close(go_read)
    os.close(go_write)
    if status != 0:
        raise RuntimeError(f"{argv[0]} ended with {os.waitstatus_to_exitcode(status)}")
    return pid, begin, end, trace


LINE = re.compile(r"^\s*.*?-(\d+)\s+(?:\(\s*[-\d]+\)\s+)?\[\d+\]\s+\S+\s+(\d+)\.(\d+): (\w+): (.*)$")


def parse(trace, names):
    """(time, pid, event, system call or child) for each line."""
    for line in trace.splitlines():
        found = LINE.match(line)
        if not found:
            continue
        pid, when, event, rest = int(found[1]), int(found[2]) * 1e6 + int(found[3]), found[4], found[5]
        if event in ("sys_enter", "sys_exit"):
            number = re.match(r"NR (-?\d+)", rest)[1]
            yield when, pid, event, names.get(int(number), number)
        elif event == "sched_process_fork":
            yield when, pid, "fork", int(re.search(r"child_pid=(\d+)", rest)[1])
        elif event == "sched_process_exec":
            yield when, pid, "exec", None
        elif event == "sched_switch":
            switch = re.search(r"prev_pid=(\d+) .*prev_state=(\S+) ==> .*next_pid=(\d+)", rest)
            yield when, int(switch[1]), "gone" if switch[2][0] in "XZ" else "off", None
            yield when, int(switch[3]), "on", None


class Lane:
    """What one process did: pieces of time, each with its phase and whether it had a CPU."""

    def __init__(self, role, begin, running):
        self.role, self.phase, self.since, self.running = role, FIRST_PHASE[role], begin, running
        self.stages = list(STAGES[role])
        self.pieces, self.calls = [], []
        self.entered, self.off_us = None, 0.0
        self.over = False

    def cut(self, when):
        if when > self.since:
            self.pieces.append((self.phase, self.since, when, self.running))
            self.off_us += 0 if self.running else when - self.since
        self.since = max(when, self.since)

    def switch(self, when, running):
        self.cut(when)
        self.running = running

    def enter(self, when, name):
        self.cut(when)
        self.entered, self.off_us = (when, name), 0.0
        if len(self.stages) > 1 and name in self.stages[1]:
            del self.stages[0]
        self.phase = self.stages[0].get(name, self.phase)

    def leave(self, when, name):
        self.cut(when)
        if self.entered and self.entered[1] == name:
            self.calls.append((self.phase, name, when - self.entered[0] - self.off_us))
        self.entered = None


def lanes_of(events, pid, end):
    """One lane per role; processes the program itself starts are part of its own time."""
    lanes = {}
    program_over = end
    for when, who, event, what in events:
        lane = lanes.get(who)
        if event == "exec" and who == pid and not lane:
            lanes[who] = Lane(ROLES[0], when, running=True)
        if not lane or lane.over:
            continue
        if event == "fork" and len(lanes) < len(ROLES) and lane.role == ROLES[len(lanes) - 1]:
            lanes[what] = Lane(ROLES[len(lanes)], when, running=False)
        elif event == "exec" and lane.role == "program":
            lane.cut(when)
            lane.phase = "program"
        elif event == "sys_enter":
            if what in EXITS and lane.role == "program":
                program_over = when
            lane.enter(when, what)
        elif event == "sys_exit":
            lane.leave(when, what)
        elif event in ("on", "off"):
            lane.switch(when, event == "on")
        elif event == "gone":
            lane.cut(when)
            lane.over = True
    for lane in lanes.values():
        if not lane.over:
            lane.cut(end)
        if lane.role != "program":  # after the program's end everything the others do is tidying up
            lane.pieces = [part for piece in merged(lane.pieces) for part in split_at(piece, program_over)]
        else:
            lane.pieces = merged(lane.pieces)
    return list(lanes.values())


def merged(pieces):
    result = []
    for piece in pieces:
        if result and result[-1][0] == piece[0] and result[-1][3] == piece[3] and result[-1][2] == piece[1]:
            result[-1] = (piece[0], result[-1][1], piece[2], piece[3])
        else:
            result.append(piece)
    return result


def split_at(piece, when):
    phase, begin, end, running = piece
    if end <= when:
        return [piece]
    if begin >= when:
        return [("teardown", begin, end, running)]
    return [(phase, begin, when, running), ("teardown", when, end, running)]


def attribute(lanes, begin, end):
    """Gives each moment to the innermost lane that has a CPU; returns (phase, begin, end) in order."""
    edges = sorted({begin, end, *(edge for lane in lanes for piece in lane.pieces for edge in piece[1:3] if begin <= edge <= end)})
    path = []
    for left, right in zip(edges, edges[1:]):
        phase = WAKE_UP
        for lane in sorted(lanes, key=lambda lane: -ROLES.index(lane.role)):
            active = [piece for piece in lane.pieces if piece[1] <= left and piece[2] >= right and piece[3]]
            if active:
                phase = active[0][0]
                break
        if path and path[-1][0] == phase:
            path[-1] = (phase, path[-1][1], right)
        else:
            path.append((phase, left, right))
    return path


def slowest_calls(runs):
    """Per role, phase and system call: how often, and its time on the CPU, median over the runs."""
    table = {}
    for index, lanes in enumerate(runs):
        for lane in lanes:
            for phase, name, time_us in lane.calls:
                if phase == "program":
                    continue
                per_run = table.setdefault((lane.role, phase, name), {})
                count, total = per_run.get(index, (0, 0))
                per_run[index] = (count + 1, total + time_us)
    rows = []
    for (role, phase, name), per_run in table.items():
        counts, totals = zip(*per_run.values())
        rows.append({"role": role, "phase": phase, "call": name, "count": int(statistics.median(counts)), "us": round(statistics.median(totals), 1)})
    return sorted(rows, key=lambda row: -row["us"])


def main():
    paddock, runs, target = os.path.abspath(sys.argv[1]), int(sys.argv[2]), sys.argv[3]
    flags = [word for key, value in LIMITS.items() for word in (f"--{key}", value)]
    argv = [paddock, "run", "--wall", "container", *flags, "--", "/bin/true"]
    names = syscall_names()
    traced, plain = [], []
    with Tracer.open() as tracer:
        for turn in range(-3, runs):
            _, begin, end, _ = run(argv)
            if turn >= 0:
                plain.append(end - begin)
            pid, _, end, trace = run(argv, tracer)
            events = list(parse(trace, names))
            lanes = lanes_of(events, pid, end)
            if turn < 0 or len(lanes) != len(ROLES):
                continue
            begin = lanes[0].pieces[0][1]
            traced.append((end - begin, begin, end, lanes))
    if not traced:
        raise SystemExit("waterfall: the trace does not show the four processes of a container run")
    traced.sort(key=lambda item: item[0])
    total, begin, end, lanes = traced[len(traced) // 2]
    paths = [attribute(some_lanes, first, last) for _, first, last, some_lanes in traced]
    sums = [{phase: sum(right - left for name, left, right in path if name == phase) for phase in PHASES} for path in paths]
    result = {
        "runs": len(traced), "traced_us": total, "untraced_us": statistics.median(plain),
        "phases": [{"phase": phase, "us": round(statistics.median(one[phase] for one in sums), 1)} for phase in PHASES],
        "path": [{"phase": phase, "begin": left - begin, "end": right - begin} for phase, left, right in attribute(lanes, begin, end)],
        "lanes": [{"role": lane.role, "pieces": [{"phase": phase, "begin": left - begin, "end": right - begin, "running": running}
                                                 for phase, left, right, running in lane.pieces]} for lane in lanes],
        "calls": slowest_calls([item[3] for item in traced])[:40],
    }
    with open(target, "w", encoding="utf-8") as file:
        json.dump(result, file, indent=1)


if __name__ == "__main__":
    main()
