"""What watching costs: CPU of a server with many idle sandboxes, each sampled every second; and what a scrape of /metrics takes.

    monitor.py PADDOCK RESULT.json [--alive 500] [--seconds 60]

CPU is read from /proc/PID/task/*/schedstat, in nanoseconds: the server's own, and apart from it that of keepers and guests.
"""

import argparse
import json
import os
import shutil
import statistics
import subprocess
import time

from living import Client, Server, timed
from start import machine


def cpu_ns(pid):
    total = 0
    try:
        for task in os.listdir(f"/proc/{pid}/task"):
            with open(f"/proc/{pid}/task/{task}/schedstat", encoding="utf-8") as file:
                total += int(file.read().split()[0])
    except OSError:
        pass
    return total


def descendants(pid):
    found, wanted = [], [pid]
    while wanted:
        parent = wanted.pop()
        try:
            for task in os.listdir(f"/proc/{parent}/task"):
                with open(f"/proc/{parent}/task/{task}/children", encoding="utf-8") as file:
                    children = list(map(int, file.read().split()))
                found += children
                wanted += children
        except OSError:
            continue
    return found


def measure(server, client, alive, seconds):
    sandboxes = []
    for _ in range(alive):
        sandboxes.append(client.create())
    time.sleep(15)  # what starting them left to do
    pid, below = server.process.pid, descendants(server.process.pid)
    own, theirs, began = cpu_ns(pid), sum(map(cpu_ns, below)), time.monotonic()
    time.sleep(seconds)
    passed = (time.monotonic() - began) * 1e9
    result = {"alive": alive, "seconds": seconds, "server_percent_of_a_core": round((cpu_ns(pid) - own) / passed * 100, 3),
              "keepers_and_guests_percent_of_a_core": round((sum(map(cpu_ns, below)) - theirs) / passed * 100, 3)}
    with open(f"/proc/{pid}/status", encoding="utf-8") as file:
        result["server_resident_kb"] = next(int(line.split()[1]) for line in file if line.startswith("VmRSS"))
    result |= scrape(server, client)
    for sandbox in sandboxes:
        client.kill(sandbox)
    return result


def scrape(server, client):
    key = json.loads(subprocess.run([server.paddock, "key", "create", "--json", "--scope", "metrics"], env=server.env, capture_output=True,
                                    text=True, check=False).stdout or "{}").get("key")
    if not key:
        return {}  # a server that has none
    reader, took, size = Client(server.port, key), [], 0
    for _ in range(20):
        milliseconds, (status, body) = timed(lambda: reader.call("GET", "/metrics"))
        if status != 200:
            return {}
        took.append(milliseconds)
        size = len(body)
    return {"scrape_ms": round(statistics.median(took), 2), "scrape_bytes": size}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("paddock")
    parser.add_argument("result")
    parser.add_argument("--alive", type=int, default=500)
    parser.add_argument("--seconds", type=int, default=60)
    options = parser.parse_args()
    server = Server(shutil.which(options.paddock) or options.paddock)
    server.paddock = options.paddock
    try:
        result = {"machine": machine(), **measure(server, server.client(), options.alive, options.seconds)}
    finally:
        server.close()
    with open(options.result, "w", encoding="utf-8") as file:
        json.dump(result, file, indent=1)
    print(json.dumps({key: value for key, value in result.items() if key != "machine"}, indent=1))


if __name__ == "__main__":
    main()
