"""Living sandboxes: how fast they are made and answer, how many fit, what one costs.

    living.py PADDOCK RESULT.json [--alive 500] [--seconds 60] [--rounds 30] [--page FILE.md]

Starts a server of its own on loopback. `docker run` is measured in the same rounds where Docker works here.
"""

import argparse
import base64
import http.client
import json
import os
import socket
import statistics
import subprocess
import sys
import tempfile
import threading
import time

from contenders import Contenders, Unusable
from start import machine


def percentile(values, part):
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(part * len(ordered)))]


def figures(milliseconds):
    return {"p50": round(statistics.median(milliseconds), 2), "p99": round(percentile(milliseconds, 0.99), 2), "count": len(milliseconds)}


def available():
    with open("/proc/meminfo", encoding="utf-8") as file:
        return next(int(line.split()[1]) * 1024 for line in file if line.startswith("MemAvailable"))


class Client:
    """One kept connection to the server, speaking E2B's wire as its SDK does."""

    def __init__(self, port, key):
        self.connection, self.key = http.client.HTTPConnection("127.0.0.1", port, timeout=120), key

    def call(self, method, path, body=None, headers=None):
        content = json.dumps(body).encode() if isinstance(body, dict) else body
        self.connection.request(method, path, content, {"X-API-Key": self.key, "Content-Type": "application/json", **(headers or {})})
        answer = self.connection.getresponse()
        return answer.status, answer.read()

    def create(self, **options):
        status, body = self.call("POST", "/v2/sandboxes", {"templateID": "base", "timeout": 3600, **options})
        if status != 201:
            raise RuntimeError(f"create: {status} {body[:300]!r}")
        return json.loads(body)

    def kill(self, sandbox):
        status, body = self.call("DELETE", f"/sandboxes/{sandbox['sandboxID']}")
        if status != 204:
            raise RuntimeError(f"kill: {status} {body[:300]!r}")

    def headers(self, sandbox, port):
        return {"E2b-Sandbox-Id": sandbox["sandboxID"], "E2b-Sandbox-Port": str(port), "X-Access-Token": sandbox["envdAccessToken"]}

    def run(self, sandbox, command):
        message = json.dumps({"process": {"cmd": command[0], "args": command[1:]}, "stdin": False}).encode()
        status, body = self.call("POST", "/process.Process/Start", b"\0" + len(message).to_bytes(4, "big") + message,
                                 {**self.headers(sandbox, 49983), "Content-Type": "application/connect+json"})
        out = b""
        while body and status == 200:
            size = int.from_bytes(body[1:5], "big")
            out += base64.b64decode(json.loads(body[5:5 + size]).get("event", {}).get("data", {}).get("stdout", ""))
            body = body[5 + size:]
        return out

    def cell(self, sandbox, code):
        status, body = self.call("POST", "/execute", {"code": code}, self.headers(sandbox, 49999))
        if status != 200:
            raise RuntimeError(f"execute: {status} {body[:300]!r}")
        return body


class Server:
    def __init__(self, paddock):
        self.folder = tempfile.TemporaryDirectory(prefix="paddock-bench-state-")
        self.env = {**os.environ, "PADDOCK_STATE": self.folder.name}
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.port = probe.getsockname()[1]
        ready, its_ready = os.pipe()
        self.process = subprocess.Popen([paddock, "serve", "--listen", f"127.0.0.1:{self.port}", "--exit-kills", "--ready-fd", str(its_ready)],
                                        env=self.env, pass_fds=(its_ready,), stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
        os.close(its_ready)
        with os.fdopen(ready) as said:
            if said.readline() != "ready\n":
                raise Unusable("paddock serve did not start")
        made = subprocess.run([paddock, "key", "create", "--json"], env=self.env, capture_output=True, text=True, check=True)
        self.key = json.loads(made.stdout)["key"]

    def client(self):
        return Client(self.port, self.key)

    def close(self):
        self.process.terminate()
        self.process.wait(120)
        self.folder.cleanup()


def timed(action):
    started = time.perf_counter()
    result = action()
    return (time.perf_counter() - started) * 1000, result


def measure_first_output(server, docker, rounds):
    """From nothing to the first output of a command, and `docker run` of the same in between."""
    client, samples = server.client(), {"create": [], "create to first output": [], "docker run": []}
    for turn in range(-2, rounds):
        created, sandbox = timed(client.create)
        ran, out = timed(lambda: client.run(sandbox, ["/bin/echo", "x"]))
        if out != b"x\n":
            raise RuntimeError(f"the command said {out!r}")
        client.kill(sandbox)
        if docker:
            ended, _ = timed(lambda: docker.try_once("echo"))
        if turn >= 0:
            samples["create"].append(created)
            samples["create to first output"].append(created + ran)
            if docker:
                samples["docker run"].append(ended)
    return {name: figures(values) for name, values in samples.items() if values}


def measure_cells(server, rounds):
    client = server.client()
    sandbox = client.create(templateID="code-interpreter-v1")
    for _ in range(20):
        client.cell(sandbox, "1 + 1")
    samples = [timed(lambda: client.cell(sandbox, "1 + 1"))[0] for _ in range(rounds * 10)]
    client.kill(sandbox)
    return figures(samples)


def measure_alive(server, count, **options):
    """That many at once; each answers; what one costs."""
    client = server.client()
    client.kill(client.create(**options))
    time.sleep(2)
    before, creates, sandboxes = available(), [], []
    for number in range(count):
        created, sandbox = timed(lambda: client.create(**options))
        creates.append(created)
        sandboxes.append(sandbox)
        progress(f"{number + 1} of {count} alive")
    time.sleep(5)
    each = (before - available()) / count
    answers = []
    for number, sandbox in enumerate(sandboxes):
        took, out = timed(lambda: client.run(sandbox, ["/bin/echo", str(number)]))
        if out != f"{number}\n".encode():
            raise RuntimeError(f"sandbox {number} said {out!r}")
        answers.append(took)
    ticks = server_ticks(server)
    time.sleep(10)
    busy = (server_ticks(server) - ticks) / os.sysconf("SC_CLK_TCK") / 10
    for sandbox in sandboxes:
        client.kill(sandbox)
    return {"alive": count, "memory_each": round(each), "create": figures(creates), "answer": figures(answers), "idle_cores": round(busy, 4)}


def server_ticks(server):
    """CPU of the server and of all keepers and guests, which are its descendants."""
    total, wanted = 0, [server.process.pid]
    while wanted:
        pid = wanted.pop()
        try:
            with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as file:
                fields = file.read().rsplit(")", 1)[1].split()
            total += int(fields[11]) + int(fields[12])
            for task in os.listdir(f"/proc/{pid}/task"):
                with open(f"/proc/{pid}/task/{task}/children", encoding="utf-8") as file:
                    wanted += map(int, file.read().split())
        except OSError:
            continue
    return total


def measure_parallel(server, threads, seconds, window):
    """Creates, a command and a kill in that many threads for that long; what the first and the last `window` seconds show."""
    samples, failures, until, began = [], [], time.monotonic() + seconds, time.monotonic()

    def work():
        client = server.client()
        while time.monotonic() < until:
            try:
                took, sandbox = timed(client.create)
                if client.run(sandbox, ["/bin/echo", "x"]) != b"x\n":
                    raise RuntimeError("no answer")
                client.kill(sandbox)
                samples.append((time.monotonic() - began, took))
            except Exception as error:  # noqa: BLE001: counted and shown
                failures.append(repr(error))
                client = server.client()

    workers = [threading.Thread(target=work) for _ in range(threads)]
    for worker in workers:
        worker.start()
    while any(worker.is_alive() for worker in workers):
        progress(f"{threads} in parallel: {len(samples)} made, {len(failures)} failed")
        time.sleep(0.5)
    first = [took for when, took in samples if when < window]
    last = [took for when, took in samples if when >= seconds - window]
    return {"threads": threads, "seconds": seconds, "per_second": round(len(samples) / seconds, 1), "failed": len(failures), "failures": failures[:5],
            "create": figures([took for _, took in samples]), "first": figures(first), "last": figures(last)}


PAGE = """# What does a living sandbox cost?

Written by `ONLY=living bench/run.sh build --update-docs` on {machine}. Everything goes over HTTP on
loopback, as E2B's SDK does it, with a network and every limit of the `server` preset. Milliseconds.

| | p50 | p99 |
|---|---|---|
{rows}

{alive} sandboxes alive at once, each answering a command in {answer} ms (p50); one costs {memory:.2f} MB of the machine's memory (MemAvailable before
and after), and all of them idle use {idle:.1%} of a core. {threads} clients that create, run a command and kill for {seconds} s: {rate} sandboxes a second,
{failed} failures; creating takes {first} ms (p99) in the first quarter and {last} ms in the last.
"""


def page(result):
    facts = machine()
    rows = [(name, values) for name, values in result["first"].items()] + [("a cell of a living Python", result["cell"])]
    alive, parallel = result["alive"], result["parallel"]
    return PAGE.format(machine=f"{facts['cores']} cores, {facts['memory_gb']} GB, Linux {facts['kernel']}, cgroup {facts['cgroups']}",
                       rows="\n".join(f"| {name} | {values['p50']} | {values['p99']} |" for name, values in rows),
                       alive=alive["alive"], answer=alive["answer"]["p50"], memory=alive["memory_each"] / 1e6, idle=alive["idle_cores"],
                       threads=parallel["threads"], seconds=parallel["seconds"], rate=parallel["per_second"], failed=parallel["failed"],
                       first=parallel["first"]["p99"], last=parallel["last"]["p99"])


def progress(text):
    if sys.stderr.isatty():
        print(f"\r  living: {text}   ", end="", file=sys.stderr, flush=True)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("paddock")
    parser.add_argument("result")
    parser.add_argument("--alive", type=int, default=500)
    parser.add_argument("--seconds", type=int, default=60)
    parser.add_argument("--rounds", type=int, default=30)
    parser.add_argument("--page")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="paddock-bench-") as folder, Contenders(options.paddock, folder) as contenders:
        docker = next((each for each in contenders.usable if each.name == "docker run"), None)
        server = Server(options.paddock)
        try:
            result = {"first": measure_first_output(server, docker, options.rounds), "cell": measure_cells(server, options.rounds)}
            result["alive"] = measure_alive(server, options.alive, allow_internet_access=True)
            result["parallel"] = measure_parallel(server, 20, options.seconds, options.seconds / 4)
        finally:
            server.close()
    with open(options.result, "w", encoding="utf-8") as file:
        json.dump(result, file, indent=1)
    print(json.dumps(result, indent=1))
    if options.page:
        with open(options.page, "w", encoding="utf-8") as file:
            file.write(page(result))


if __name__ == "__main__":
    main()
