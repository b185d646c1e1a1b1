"""Measures the start of all contenders, and what the walls cost the program inside.

    start.py PROGRAMS PADDOCK ROUNDS RESULT.json      PROGRAMS: where `start` and `inside` were built
"""

import json
import os
import platform
import random
import signal
import statistics
import subprocess
import sys
import tempfile

from contenders import WORKLOADS, Contenders, Unusable


def machine():
    """What a reader needs in order to compare."""
    with open("/proc/self/mounts", encoding="utf-8") as file:
        kinds = {line.split()[2] for line in file} & {"cgroup", "cgroup2"}
    cgroups = {frozenset({"cgroup"}): "v1", frozenset({"cgroup2"}): "v2", frozenset({"cgroup", "cgroup2"}): "v1 (hybrid)"}
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    return {"cores": os.cpu_count(), "memory_gb": round(memory), "kernel": platform.release().split("-")[0],
            "cgroups": cgroups.get(frozenset(kinds), "none"), "architecture": platform.machine()}


def measure_start(programs, contenders, rounds, folder):
    commands = os.path.join(folder, "commands")
    with open(commands, "w", encoding="utf-8") as file:
        file.writelines(contender.line(workload) for contender in contenders for workload in WORKLOADS)
    done = subprocess.run([os.path.join(programs, "start"), commands, str(rounds), "2"], stdout=subprocess.PIPE, check=True)
    return json.loads(done.stdout)


def measure_inside(programs, all_contenders, rounds):
    """Each kind of work under each wall; the program times itself, so the start is not part of it."""
    program = os.path.join(programs, "inside")
    own = os.path.dirname(program)
    names = ["native", "paddock process", "paddock container", "bubblewrap"]
    chosen = {contender.name: contender.argv for contender in all_contenders if contender.name in names}
    if "native" not in chosen:  # without root: all of them are rootless
        chosen = {contender.name: contender.argv for contender in all_contenders if not callable(contender.argv)}

    def command(name, work):
        argv = list(chosen[name])
        if name.startswith("paddock"):
            argv[-1:] = ["--read", own, "--"]
        elif name.startswith("bubblewrap"):
            argv += ["--ro-bind", own, own]
        directory = "/dev/shm" if name.startswith("native") else "/tmp"  # both a tmpfs
        return argv + [program, work] + ([directory] if work == "files" else [])

    samples = {}
    # A comparison with a tmpfs would say more about the disk than about the wall.
    skipped = {(name, "files"): "its scratch space is on disk, not a tmpfs" for name in chosen if name.startswith("paddock process")}
    for turn in range(-1, rounds):
        if sys.stderr.isatty():
            print(f"\r  inside: round {max(turn + 1, 0)} of {rounds} ", end="", file=sys.stderr, flush=True)
        turns = [(name, work) for name in chosen for work in ("cpu", "spawn", "files") if (name, work) not in skipped]
        random.shuffle(turns)
        for name, work in turns:
            with tempfile.TemporaryFile() as errors:
                done = subprocess.run(command(name, work), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=errors, check=False)
                if done.returncode != 0:
                    errors.seek(0)
                    skipped[name, work] = errors.read().decode(errors="replace").strip()[-200:] or f"exit status {done.returncode}"
                elif turn >= 0:
                    samples.setdefault((name, work), []).append(int(done.stdout) / 1e6)
    if sys.stderr.isatty():
        print("\r\033[K", end="", file=sys.stderr)
    return {
        "rounds": rounds,
        "results": [{"contender": name, "work": work, "p50_ms": statistics.median(values), "min_ms": min(values)}
                    for (name, work), values in sorted(samples.items())],
        "skipped": [{"contender": name, "work": work, "reason": reason} for (name, work), reason in skipped.items()],
    }


def main():
    programs, paddock, rounds, target = os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2]), int(sys.argv[3]), sys.argv[4]
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda number, _: sys.exit(128 + number))  # so that everything is undone
    with tempfile.TemporaryDirectory(prefix="paddock-bench-") as folder:
        os.chmod(folder, 0o755)
        os.environ.update(HOME="/tmp", LANG="C.UTF-8")
        with Contenders(paddock, folder) as contenders:
            if not contenders.usable:
                raise Unusable("no contender works here")
            for skip in contenders.skipped:
                print(f"  left out: {skip['contender']}: {skip['reason']}", file=sys.stderr)
            result = measure_start(programs, contenders.usable, rounds, folder)
            result["machine"] = machine()
            result["skipped"] = contenders.skipped
            result["contenders"] = [{"name": contender.name, "note": contender.note, "baseline": contender.baseline, "peer": contender.peer}
                                    for contender in contenders.usable]
            result["inside"] = measure_inside(programs, contenders.usable, max(5, rounds // 4))
    with open(target, "w", encoding="utf-8") as file:
        json.dump(result, file, indent=1)


if __name__ == "__main__":
    main()
