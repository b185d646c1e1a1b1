"""A kernel of interpreters/ as a process, driven over pipes as the server drives it."""
import json
import os
import select
import shutil
import signal
import subprocess
import threading
import time

from support import paddock

FOLDER = os.path.join(paddock.SOURCE, "interpreters")
PYTHON = "/usr/bin/python3" if os.path.exists("/usr/bin/python3") else shutil.which("python3")  # the one with the system's packages
PROGRAMS = {
    "python": [PYTHON, f"{FOLDER}/python/main.py"],
    "javascript": ["/bin/sh", f"{FOLDER}/node/launch.sh"],
    "java": ["/bin/sh", f"{FOLDER}/java/launch.sh"],
    "bash": [PYTHON, f"{FOLDER}/bash/main.py"],
    "r": [PYTHON, f"{FOLDER}/r/main.py"],
}


def has_module(name):
    return subprocess.run([PYTHON, "-c", f"import {name}"], capture_output=True).returncode == 0


class Died(Exception):
    pass


class Cell:
    """What came of a piece of code."""

    def __init__(self, events):
        self.events = events
        self.results = [event for event in events if event["type"] == "result"]
        self.errors = [event for event in events if event["type"] == "error"]
        self.error = self.errors[0] if self.errors else None
        self.stdout = [event["text"] for event in events if event["type"] == "stdout"]
        self.stderr = [event["text"] for event in events if event["type"] == "stderr"]
        self.count = next((event["execution_count"] for event in events if event["type"] == "number_of_executions"), None)

    @property
    def main(self):
        return next((result for result in self.results if result["is_main_result"]), None)

    @property
    def text(self):
        return self.main and self.main.get("text")

    def __repr__(self):
        return "\n".join(json.dumps(event)[:400] for event in self.events)


class Kernel:
    def __init__(self, language, env=None, cwd="/"):
        base = {name: value for name, value in os.environ.items() if name in ("PATH", "HOME", "LANG")}
        self.process = subprocess.Popen(PROGRAMS[language], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, cwd=cwd,
                                        env={**base, **(env or {})}, start_new_session=True, bufsize=0)
        self.unread, self.number = b"", 0
        _, self.ready = self.event()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.stdin.close()
        try:
            self.process.wait(timeout=10)
        except subprocess.TimeoutExpired:
            pass
        try:
            os.killpg(self.process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        self.process.wait()
        self.process.stdout.close()

    def event(self, patience=60):
        deadline = time.monotonic() + patience
        while b"\n" not in self.unread:
            ready, _, _ = select.select([self.process.stdout], [], [], max(0, deadline - time.monotonic()))
            if not ready:
                raise AssertionError(f"nothing came; unread: {self.unread[:200]}")
            data = os.read(self.process.stdout.fileno(), 1 << 20)
            if not data:
                raise Died
            self.unread += data
        line, _, self.unread = self.unread.partition(b"\n")
        cell, _, event = line.partition(b" ")
        return int(cell), json.loads(event, parse_constant=lambda name: (_ for _ in ()).throw(ValueError(name)))

    def send(self, code, **more):
        self.number += 1
        self.process.stdin.write(json.dumps({"op": "run", "cell": self.number, "code": code, **more}).encode() + b"\n")

    def rest(self):
        events = []
        while not events or events[-1]["type"] != "end_of_execution":
            number, event = self.event()
            if number != self.number:
                raise AssertionError(f"an event of cell {number} in cell {self.number}: {event}")
            events.append(event)
        return Cell(events)

    def run(self, code, **more):
        self.send(code, **more)
        return self.rest()

    def interrupt(self):
        self.process.send_signal(signal.SIGINT)

    def run_and_interrupt(self, code, mark="begun\n", **more):
        """Interrupts the cell once it has printed its mark; again after a while, as the server does, since one can be lost."""
        self.send(code, **more)
        seen = []
        while not any(event.get("text") == mark for event in seen):
            seen.append(self.event()[1])
        self.interrupt()
        again = threading.Timer(2, self.interrupt)
        again.start()
        try:
            return Cell(seen + self.rest().events)
        finally:
            again.cancel()
