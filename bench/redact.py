"""How fast output is redacted, by kind of text, beside copying it and beside search tools that only look.

    redact.py REDACT_BENCH RESULT.json [--rounds 20] [--megabytes 32] [--page FILE.md]

Each round goes through every text and every contender in turn. grep and ripgrep read the same file from memory (/dev/shm), print a count and
change nothing: -F with one string, -F -f with two hundred.
"""

import argparse
import base64
import glob
import json
import os
import random
import shutil
import statistics
import subprocess
import sys
import tempfile

from living import percentile
from start import machine

HERE = os.path.dirname(os.path.abspath(__file__))


def prose(rng):
    pages = [open(path, encoding="utf-8").read() for path in sorted(glob.glob(os.path.join(HERE, "..", "docs", "**", "*.md"), recursive=True))]
    return "\n".join(rng.sample(pages, len(pages)))


def source(rng):
    files = [open(path, encoding="utf-8").read() for path in sorted(glob.glob(os.path.join(HERE, "..", "src", "*", "*.cc")))]
    return "\n".join(rng.sample(files, len(files)))


def log(rng):
    words = "request handled connection opened closed cache miss retry worker started queue drained user session upstream timeout flushed".split()
    lines = []
    for i in range(20000):
        lines.append(f"2026-03-{1 + i % 28:02d}T{i % 24:02d}:{i % 60:02d}:{rng.randrange(60):02d}.{rng.randrange(1000):03d}Z {rng.choice(['INFO', 'DEBUG', 'WARN'])} "
                     f"[worker-{rng.randrange(16)}] {' '.join(rng.choices(words, k=6))} id={rng.randrange(1 << 32):08x} ms={rng.randrange(5000)} "
                     f"url=https://api.example.org/v1/items/{rng.randrange(100000)}")
    return "\n".join(lines)


def structured(rng):
    return "\n".join(json.dumps({"id": rng.randrange(1 << 31), "name": f"item {i}", "tags": rng.choices(["red", "blue", "green", "heavy"], k=3),
                                 "price": round(rng.random() * 100, 2), "created": f"2026-01-{1 + i % 28:02d}T10:00:00Z", "active": i % 2 == 0,
                                 "owner": {"email": f"user{i}@example.org", "uuid": "%08x-%04x-4%03x-a%03x-%012x" % (
                                     rng.randrange(1 << 32), rng.randrange(1 << 16), rng.randrange(1 << 12), rng.randrange(1 << 12), rng.randrange(1 << 48))}})
                     for i in range(10000))


def encoded(rng):
    return "\n".join(base64.b64encode(rng.randbytes(57)).decode() for _ in range(20000))


def hexadecimal(rng):
    return "\n".join(rng.randbytes(32).hex() + "  file" for _ in range(20000))


def numbers(rng):
    return "\n".join(",".join(f"{rng.uniform(-1000, 1000):.6f}" for _ in range(8)) for _ in range(20000))


def binary(rng):
    return rng.randbytes(1 << 21)


def anchors(rng):
    """Hostile: the beginnings of what is looked for, one after the other."""
    starts = ["ghp_", "sk-", "AKIA", "xoxb-", "glpat-", "eyJ", "password=", "token:", "secret_key = ", "://a:", "Bearer ", "-----BEGIN ", "4111 ", "api_key=", "npm_", "hf_"]
    return "".join(rng.choice(starts) + "aA1"[:rng.randrange(4)] for _ in range(100000))


def near_misses(rng):
    """Hostile: values as long as they may be that come to nothing at the end."""
    return "".join(rng.choice(["password=", "secret=", "://u:", "api_key: ", "eyJ", "bearer "]) + "a" * rng.randrange(30, 260) + " " for _ in range(10000))


TEXTS = {"prose": prose, "program text": source, "log lines": log, "JSON": structured, "base64": encoded, "hex digests": hexadecimal, "numbers": numbers,
         "random bytes": binary, "hostile: beginnings": anchors, "hostile: near misses": near_misses}
ORDINARY = ("prose", "program text", "log lines", "JSON")


def timed(command):
    """Processor time, as the benchmark program counts its own."""
    child = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    _, _, usage = os.wait4(child.pid, 0)
    child.returncode = 0
    return usage.ru_utime + usage.ru_stime


def contenders(folder, rng):
    """name → command before the file."""
    needles = os.path.join(folder, "needles")
    with open(needles, "w", encoding="utf-8") as file:
        file.write("".join("".join(rng.choices("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789", k=24)) + "\n" for _ in range(200)))
    found = {}
    for tool, name in (("grep", "grep"), ("rg", "ripgrep")):
        if not shutil.which(tool):
            print(f"  no {name} here", file=sys.stderr)
            continue
        rest = ["-a"] if tool == "grep" else ["-a", "--no-mmap", "-j1", "--no-config", "--no-ignore"]
        found[f"{name} -F, one string"] = [tool, "-c", "-F", *rest, "q7ZpX2mN9vKsT4wRyB8c"]
        found[f"{name} -F, 200 strings"] = [tool, "-c", "-F", *rest, "-f", needles]
    return found


def measure(program, rounds, megabytes):
    rng = random.Random(1)
    with tempfile.TemporaryDirectory(prefix="paddock-bench-redact-", dir="/dev/shm" if os.path.isdir("/dev/shm") else None) as folder:
        files, sizes = {}, {}
        for name, make in TEXTS.items():
            piece = make(rng)
            piece = piece if isinstance(piece, bytes) else piece.encode()
            files[name] = os.path.join(folder, name.replace(" ", "-").replace(":", ""))
            with open(files[name], "wb") as file:
                file.write((piece * (megabytes * (1 << 20) // len(piece) + 1))[:megabytes << 20])
            sizes[name] = megabytes << 20
        peers = contenders(folder, rng)
        samples = {name: {"redact": [], "copy": [], "found": 0, **{peer: [] for peer in peers}} for name in TEXTS}
        compiled = []
        for turn in range(-1, rounds):
            for name, path in files.items():
                once = json.loads(subprocess.run([program, path], capture_output=True, text=True, check=True).stdout)
                times = {peer: timed([*command, path]) for peer, command in peers.items()}
                if turn < 0:
                    continue
                compiled.append(once["compile"] * 1e6)
                samples[name]["found"] = once["found"]
                for key, seconds in {"redact": once["redact"], "copy": once["copy"], **times}.items():
                    samples[name][key].append(sizes[name] / seconds / 1e6)
    texts = {}
    for name, values in samples.items():
        texts[name] = {"found": values.pop("found"), **{key: {"p50": round(statistics.median(speeds)), "p99": round(percentile(speeds, 0.01))} for key, speeds in values.items()}}
    return {"machine": machine(), "rounds": rounds, "megabytes": megabytes, "compile_us": round(statistics.median(compiled)), "peers": list(peers), "texts": texts}


def table(result):
    peers = result["peers"]
    lines = ["| text | redacted, MB/s p50 | p99 | × memcpy | " + " | ".join(f"× {peer}" for peer in peers) + " | secrets found |",
             "|---|---|---|---|" + "---|" * len(peers) + "---|"]
    for name, figures in result["texts"].items():
        speed = figures["redact"]["p50"]
        ratios = " | ".join(f"{speed / figures[peer]['p50']:.2f}" for peer in peers)
        lines.append(f"| {name} | {speed:,} | {figures['redact']['p99']:,} | {speed / figures['copy']['p50']:.2f} | {ratios} | {figures['found']} |")
    return "\n".join(lines)


def page(result):
    ordinary = ", ".join(f"{name} {result['texts'][name]['redact']['p50']:,}" for name in ORDINARY)
    short = [name for name in ORDINARY if result["texts"][name]["redact"]["p50"] < 1000]
    verdict = f"Not reached on: {', '.join(short)}." if short else "Reached on all of them."
    where = result["machine"]
    described = f"{where['cores']} cores ({where['architecture']}), {where['memory_gb']} GB, kernel {where['kernel']}"
    return f"""# How fast is redaction?

Everything that goes back to an agent passes it ([what it finds](../redaction.md)). Goal: at least 1 GB/s on ordinary text with the full rule set on one
core, or half of `grep -F` of one string. Measured on ordinary text, in MB/s: {ordinary}. {verdict}

{table(result)}

{result['megabytes']} MB of each text, fed in pieces of 64 KiB with every rule and three known values; {result['rounds']} rounds, all contenders in turn in each, by processor time. p99 is
the speed that 99 of 100 rounds reached. `memcpy` copies the same bytes in memory. The search tools read the file from memory, only look, and
print a count; redaction looks for everything at once and writes its output. Each log line has an address (`https://…`), which could hold a password and
is looked into. The hostile texts are made of beginnings of secrets, and of values that turn out to be none at their end. Compiling three known values takes
{result['compile_us']} µs; the built-in rules are compiled when Paddock is built.

{described}. Again: `ONLY=redact bench/run.sh build --update-docs`.
"""


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("program")
    parser.add_argument("result")
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--megabytes", type=int, default=32)
    parser.add_argument("--page")
    options = parser.parse_args()
    result = measure(options.program, options.rounds, options.megabytes)
    with open(options.result, "w", encoding="utf-8") as file:
        json.dump(result, file, indent=1)
    print(table(result))
    if options.page:
        with open(options.page, "w", encoding="utf-8") as file:
            file.write(page(result))


if __name__ == "__main__":
    main()
