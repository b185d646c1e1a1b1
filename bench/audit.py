"""What a record in the audit log costs, beside the disk alone.

    audit.py PROGRAM DIRECTORY RESULT.json [--rounds 30] [--page FILE.md]

DIRECTORY is where the logs are written: put it on the disk that is to be measured. It is removed afterwards.
"""

import argparse
import json
import os
import shutil
import subprocess

from start import machine

WAITING = (1, 8, 64, 256)


def filesystem(path):
    done = subprocess.run(["stat", "-f", "-c", "%T", path], stdout=subprocess.PIPE, text=True, check=True)
    return done.stdout.strip().replace("ext2/ext3", "ext4")


def thousands(number):
    return f"{number:,.0f}"


def table(found):
    floor = found["floor"]
    rows = [("the disk alone: write and fdatasync", floor), ("one sync for each record", found["one_sync_each"])]
    rows += [(f"{count} waiting at once" if count > 1 else "group commit, 1 waiting", found[f"waiting_{count}"]) for count in WAITING]
    lines = ["| | records/s | p50 µs | p99 µs | beyond the sync: p50 | p99 | CPU µs per record |", "|---|---|---|---|---|---|---|"]
    for name, row in rows:
        beyond = " | " if row is floor else f"{row['beyond_p50_us']:.0f} | {row['beyond_p99_us']:.0f}"
        cpu = f"{row['cpu_us']:.1f}" if row["cpu_us"] else ""
        lines.append(f"| {name} | {thousands(row['per_second'])} | {row['p50_us']:.0f} | {row['p99_us']:.0f} | {beyond} | {cpu} |")
    return lines


def page(found):
    host, verify, run, append = found["machine"], found["verify"], found["run"], found["append"]
    times = found["waiting_256"]["per_second"] / found["one_sync_each"]["per_second"]
    text = ["# What does a record cost?", "",
            f"Written by `ONLY=audit bench/run.sh build --update-docs` on {host['cores']} cores, {host['memory_gb']} GB, Linux {host['kernel']}, "
            f"{found['filesystem']}, {found['rounds']} rounds in which", "all kinds take turns. A record is a `command.start` of "
            f"{verify['bytes_per_record']:.0f} bytes.", "", *table(found), "",
            f"One sync for all who wait is {times:.0f} times as many records a second as one sync for each (256 waiting).", "",
            "A time is that of `Journal::record`, from the call until the record is known to be on the disk; \"beyond the sync\" is what of it was not the fdatasync that the",
            "record waited for: the others' turns, making and hashing the lines, the write, the head. As many records as said are on their way all the time; whoever hears that one is on the disk hands in",
            "the next. A record that comes while the disk is busy waits for that sync first, and then for its own.", "",
            f"`paddock run` appends without waiting for the disk: open, lock, two records, close takes {run['p50_us']:.0f} µs (p50; p99 {run['p99_us']:.0f} µs); one record more in a log "
            f"that is open {append['p50_us']:.0f} µs.", "",
            f"`verify` reads {verify['mb_per_second']} MB/s ({thousands(verify['records_per_second'])} records a second), SHA-256 of the same bytes alone {verify['sha256_mb_per_second']} MB/s.", ""]
    return "\n".join(text)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("program")
    parser.add_argument("directory")
    parser.add_argument("result")
    parser.add_argument("--rounds", type=int, default=30)
    parser.add_argument("--page")
    options = parser.parse_args()
    shutil.rmtree(options.directory, ignore_errors=True)
    os.mkdir(options.directory, 0o700)
    try:
        kind = filesystem(options.directory)
        done = subprocess.run([options.program, options.directory, str(options.rounds)], stdout=subprocess.PIPE, check=True)
    finally:
        shutil.rmtree(options.directory, ignore_errors=True)
    found = json.loads(done.stdout)
    found.update(machine=machine(), filesystem=kind, rounds=options.rounds)
    with open(options.result, "w", encoding="utf-8") as file:
        json.dump(found, file, indent=1)
    print("\n".join(table(found)))
    print(json.dumps({name: found[name] for name in ("run", "append", "verify")}))
    if options.page:
        with open(options.page, "w", encoding="utf-8") as file:
            file.write(page(found))


if __name__ == "__main__":
    main()
