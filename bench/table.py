"""Prints the results as tables, for the terminal or for the page in docs/benchmarks.

    table.py START.json WATERFALL.json [PAGE.md]      with PAGE.md: rewrites what stands between its markers
"""

import json
import os
import sys

from plot import milliseconds, times

BEGIN, END = "<!-- figures: begin (written by bench/table.py) -->", "<!-- figures: end -->"
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


def failures(data):
    return [f"{row['contender']}, {row['workload']}: {row['failures']} of {data['rounds']} starts failed" for row in data["results"] if row["failures"]]


def print_terminal(data, waterfall):
    for title, table in start_tables(data):
        print(f"\n{title.replace('`', '')}\n{table.plain()}")
    print(f"\nWhat the wall costs the program inside\n{inside_table(data).plain()}")
    if waterfall:
        phases, _ = waterfall_tables(waterfall)
        print(f"\nWhere a cold container run's time goes (traced {milliseconds(waterfall['traced_us'])}, untraced {milliseconds(waterfall['untraced_us'])})\n{phases.plain()}")
    for line in failures(data) + [f"left out: {skip['contender']}: {skip['reason']}" for skip in data["skipped"]]:
        print(f"  {line}")
    print()


def figures(data, waterfall):
    machine = data["machine"]
    parts = [f"{machine['cores']} cores ({machine['architecture']}), {machine['memory_gb']} GB, kernel {machine['kernel']}, cgroups {machine['cgroups']}; "
             f"{data['rounds']} rounds, each contender once per round in random order."]
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


def main():
    with open(sys.argv[1], encoding="utf-8") as file:
        data = json.load(file)
    waterfall = None
    if os.path.exists(sys.argv[2]):
        with open(sys.argv[2], encoding="utf-8") as file:
            waterfall = json.load(file)
    if len(sys.argv) < 4:
        print_terminal(data, waterfall)
        return
    with open(sys.argv[3], encoding="utf-8") as file:
        page = file.read()
    before, rest = page.split(BEGIN)
    after = rest.split(END)[1]
    with open(sys.argv[3], "w", encoding="utf-8") as file:
        file.write(f"{before}{BEGIN}\n{figures(data, waterfall)}\n{END}{after}")


if __name__ == "__main__":
    main()
