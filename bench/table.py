"""Prints the results as tables, for the terminal or for the page in docs/benchmarks.

    table.py START.json WATERFALL.json EGRESS.json [PAGE.md]      with PAGE.md: rewrites what stands between its markers

What a missing file would say is left as it was.
"""

import json
import os
import sys

from egress_figures import FORMS, OWN, Figures, microseconds
from plot import milliseconds, times

START_MARKS = "<!-- figures: begin (written by bench/table.py) -->", "<!-- figures: end -->"
EGRESS_MARKS = "<!-- egress: begin (written by bench/table.py) -->", "<!-- egress: end -->"
TITLES = {
    "true": "`/bin/true`, start to exit", "python-pass": "`python3 -c pass`, start to exit",
    "echo": "`/bin/echo x`, start to first byte", "python-print": "`python3 -c 'print(1)'`, start to first byte",
}
WORK = {"cpu": "CPU-heavy: mixing 8 MB of memory", "spawn": "spawn-heavy: 200 × `/bin/true`", "files": "small-file-heavy: 20,000 files made, looked at, removed"}


class Table:
    """Rows of text, printed with aligned columns or as Markdown."""

    def __init__(self, *columns):
        self.columns, self.rows = columns, []

    def add(self, *cells):
        self.rows.append(cells)

    def plain(self):
        all_rows = [[cell.replace("`", "") for cell in row] for row in [self.columns, *self.rows]]
        widths = [max(len(row[column]) for row in all_rows) for column in range(len(self.columns))]
        lines = ["  ".join(cell.ljust(width) if column == 0 else cell.rjust(width) for column, (cell, width) in enumerate(zip(row, widths))) for row in all_rows]
        return "\n".join("  " + line.rstrip() for line in lines)

    def markdown(self):
        lines = ["| " + " | ".join(self.columns) + " |", "|---|" + "---:|" * (len(self.columns) - 1)]
        for row in self.rows:
            bold = row[0].startswith("paddock")
            lines.append("| " + " | ".join(f"**{cell}**" if bold and cell.strip() else cell for cell in row) + " |")
        return "\n".join(lines)


def start_tables(data):
    contenders = {item["name"]: item for item in data["contenders"]}
    by_key = {(row["contender"], row["workload"]): row for row in data["results"]}
    for workload, title in TITLES.items():
        kind = "first_us" if workload in ("echo", "python-print") else "end_us"
        table = Table("", "p50", "p99", "× native", "× bubblewrap")

        def p50(name):
            row = by_key.get((name, workload))
            return row[kind]["p50"] if row and row[kind] else None

        names = sorted((name for name in contenders if p50(name)), key=lambda name: (name.endswith(" rootless"), p50(name)))
        for name in names:
            contender, value = contenders[name], by_key[name, workload][kind]
            others = ("", "") if name == contender["baseline"] else (contender["baseline"], contender["peer"])
            ratios = [times(value["p50"] / p50(other)) if other != name and p50(other) else "" for other in others]
            table.add(name, milliseconds(value["p50"]), milliseconds(value["p99"]), *ratios)
        yield title, table


def inside_table(data):
    results = {(row["contender"], row["work"]): row["p50_ms"] for row in data["inside"]["results"]}
    names = sorted({name for name, _ in results}, key=lambda name: (not name.startswith("native"), not name.startswith("paddock container"), name))
    table = Table("p50 inside", *[name if name.startswith("native") else f"{name}, × native" for name in names])
    for work, title in WORK.items():
        native = next((results[name, work] for name in names if name.startswith("native") and (name, work) in results), None)
        cells = []
        for name in names:
            value = results.get((name, work))
            if value is None or not native:
                cells.append("not run")
            else:
                cells.append(milliseconds(value * 1000) if name.startswith("native") else f"{value / native:.3f}")
        table.add(title, *cells)
    return table


def waterfall_tables(data):
    phases = Table("phase", "p50")
    for phase in data["phases"]:
        phases.add(phase["phase"], f"{phase['us']:.0f} µs")
    calls = Table("system call", "process", "phase", "times", "on the CPU, p50")
    for call in data["calls"][:15]:
        calls.add(call["call"], call["role"], call["phase"], str(call["count"]), f"{call['us']:.0f} µs")
    return phases, calls


def egress_tables(data):
    """Title and table of each."""
    figures = Figures(data)
    own = [name for name in OWN if name in figures.names]
    through = Table("", "download", "upload", "new connections", "round trip, p50", "p99", "added, p50")
    for name in figures.names:
        cells = []
        for work in ("download", "upload", "connect"):
            value, share = figures.middle(name, work), figures.share(name, work)
            cells.append("not run" if value is None else FORMS[work](value) + ("" if share == 1 else f" ({share:.2f} ×)"))
        p50, p99, added = figures.middle(name, "ping"), figures.middle(name, "ping", 1), figures.added_ns(name)
        cells += ["not run"] * 3 if p50 is None else [microseconds(p50), microseconds(p99), microseconds(added) if added else ""]
        through.add(name, *cells)
    yield "Through each (×: of raw loopback)", through

    goals = Table("goal", "wanted", *own)
    for what, wanted, measured in figures.goals():
        goals.add(what, wanted, *measured)
    yield "Goals", goals

    counts = sorted({int(count) for row in data["memory"] for count in row["per_connection"]})
    memory = Table("resident memory", "with one connection", *[f"each of {count:,} idle ones" for count in counts])
    for row in data["memory"]:
        sizes = [row["per_connection"].get(str(count)) for count in counts]
        memory.add(row["contender"], f"{row['one'] / 2**20:.1f} MB" if "one" in row else "not run", *["not run" if size is None else f"{size / 1024:.1f} KB" for size in sizes])
    yield "Memory of the process that relays", memory

    start = Table("`paddock run -- /bin/true`", "p50", "p99", "× without")
    by_key = {(row["contender"], row["workload"]): row["end_us"] for row in data["start"]["results"]}
    for (user, workload), value in by_key.items():
        without = by_key.get((user, "without"))
        if value:
            ratio = times(value["p50"] / without["p50"]) if workload == "with" and without else ""
            start.add(f"{user}, {workload} `--allow-net example.com`", milliseconds(value["p50"]), milliseconds(value["p99"]), ratio)
    yield "What a network adds to the start", start


def egress_left_out(data):
    lines = [f"{skip['contender']}: {skip['reason']}" for skip in data["skipped"]]
    lines += [f"{row['contender']}, {row['work']}: {row['count']} times: {row['reason']}" for row in data["failures"]]
    lines += [f"{row['contender']}, idle connections: {row['reason']}" for row in data["memory"] if "reason" in row]
    return lines + [f"start {row['contender']}, {row['workload']}: {row['failures']} failed" for row in data["start"]["results"] if row["failures"]]


def failures(data):
    return [f"{row['contender']}, {row['workload']}: {row['failures']} of {data['rounds']} starts failed" for row in data["results"] if row["failures"]]


def print_egress(data):
    for title, table in egress_tables(data):
        print(f"\n{title}\n{table.plain()}")
    for line in egress_left_out(data):
        print(f"  left out: {line}")
    print()


def print_start(data, waterfall):
    for title, table in start_tables(data):
        print(f"\n{title.replace('`', '')}\n{table.plain()}")
    print(f"\nWhat the wall costs the program inside\n{inside_table(data).plain()}")
    if waterfall:
        phases, _ = waterfall_tables(waterfall)
        print(f"\nWhere a cold container run's time goes (traced {milliseconds(waterfall['traced_us'])}, untraced {milliseconds(waterfall['untraced_us'])})\n{phases.plain()}")
    for line in failures(data) + [f"left out: {skip['contender']}: {skip['reason']}" for skip in data["skipped"]]:
        print(f"  {line}")
    print()


def circumstances(data):
    machine = data["machine"]
    return (f"{machine['cores']} cores ({machine['architecture']}), {machine['memory_gb']} GB, kernel {machine['kernel']}, cgroups {machine['cgroups']}; "
            f"{data['rounds']} rounds, each contender once per round in random order.")


def start_figures(data, waterfall):
    parts = [circumstances(data)]
    for title, table in start_tables(data):
        parts += [f"### {title}", table.markdown()]
    parts += ["### What each one does", "\n".join(f"- {item['name']}: {item['note']}" for item in data["contenders"] if item["note"])]
    left_out = [f"- {skip['contender']}: {skip['reason']}" for skip in data["skipped"]] + [f"- {line}" for line in failures(data)]
    parts += ["### Left out", "\n".join(left_out) or "Nothing: every contender worked here."]
    parts += ["## What the wall costs the program inside", inside_table(data).markdown()]
    if data["inside"]["skipped"]:
        parts.append("Not run: " + "; ".join(f"{skip['contender']}, {skip['work']}: {skip['reason']}" for skip in data["inside"]["skipped"]) + ".")
    if waterfall:
        phases, calls = waterfall_tables(waterfall)
        parts += ["## Where our own time goes", "![The phases of one cold run](waterfall.svg)",
                  f"One `paddock run -- /bin/true`, container wall, every limit on: {milliseconds(waterfall['traced_us'])} traced, "
                  f"{milliseconds(waterfall['untraced_us'])} untraced in turn with it ({waterfall['runs']} runs each). The phases add up to the whole: a moment "
                  "belongs to the process furthest inside that has a CPU.",
                  phases.markdown(), "The system calls that take longest, the program's own left out:", calls.markdown()]
    return "\n\n".join(parts)


def egress_figures(data):
    parts = [circumstances(data)]
    for title, table in egress_tables(data):
        parts += [f"### {title}", table.markdown()]
    parts += ["### What each one does", "\n".join(f"- {item['name']}: {item['note']}" for item in data["contenders"] if item["note"])]
    if egress_left_out(data):
        parts += ["### Left out", "\n".join(f"- {line}" for line in egress_left_out(data))]
    return "\n\n".join(parts)


def load(path):
    if not os.path.exists(path):
        return None
    with open(path, encoding="utf-8") as file:
        return json.load(file)


def replace_between(page, marks, text):
    before, rest = page.split(marks[0])
    after = rest.split(marks[1])[1]
    return f"{before}{marks[0]}\n{text}\n{marks[1]}{after}"


def main():
    start, waterfall, egress = (load(path) for path in sys.argv[1:4])
    if len(sys.argv) < 5:
        if start:
            print_start(start, waterfall)
        if egress:
            print_egress(egress)
        return
    with open(sys.argv[4], encoding="utf-8") as file:
        page = file.read()
    if start:
        page = replace_between(page, START_MARKS, start_figures(start, waterfall))
    if egress:
        page = replace_between(page, EGRESS_MARKS, egress_figures(egress))
    with open(sys.argv[4], "w", encoding="utf-8") as file:
        file.write(page)


if __name__ == "__main__":
    main()
