"""Draws the figures as SVG.

    plot.py START.json WATERFALL.json EGRESS.json FOLDER      no picture is drawn for a file that is missing

Each picture carries its own background, light or dark as the reader prefers, so it is readable on any page.
"""

import json
import math
import os
import sys
from html import escape

from egress_figures import FORMS, RAW, Figures

STYLE = """
  text { font: 13px -apple-system, "Segoe UI", "DejaVu Sans", sans-serif; fill: #24292f; }
  .card { fill: #ffffff; stroke: #d0d7de; }
  .title { font-weight: 600; font-size: 16px; } .head { font-weight: 600; } .small { font-size: 11.5px; } .soft { fill: #59636e; }
  .end { text-anchor: end; } .mid { text-anchor: middle; } .ours { font-weight: 600; }
  .grid { stroke: #d8dee4; } .wait { stroke: #afb8c1; stroke-width: 1.5; }
  .peer { fill: #a8b3bf; } .native { fill: #6e7781; } .paddock { fill: #1f6feb; }
  .whisker { stroke: #24292f; stroke-width: 1.3; } .goal { stroke: #cf222e; stroke-width: 1.5; stroke-dasharray: 4 3; } .dot { fill: #ffffff; stroke: #24292f; stroke-width: 1.3; }
  @media (prefers-color-scheme: dark) {
    text { fill: #e6edf3; } .card { fill: #0d1117; stroke: #3d444d; } .soft { fill: #9198a1; } .grid { stroke: #2a313c; }
    .peer { fill: #565f6b; } .native { fill: #7d8590; } .paddock { fill: #4493f8; } .wait { stroke: #4d5560; }
    .whisker { stroke: #e6edf3; } .goal { stroke: #ff7b72; } .dot { fill: #0d1117; stroke: #e6edf3; }
  }
"""
PHASE_COLOURS = {
    "start and parse": "#4e79a7", "plan": "#7ba6d0", "keeper start": "#f28e2b", "namespaces": "#e15759", "identity": "#ff9d9a",
    "network": "#b07aa1", "root and mounts": "#59a14f", "cgroups": "#edc948", "capabilities": "#8cd17d", "landlock": "#499894",
    "fork": "#d4a6c8", "seccomp": "#86bcb6", "last steps": "#9c755f", "exec": "#d37295", "program": "#79706e", "teardown": "#a0a0d8",
    "off the CPU": "#c9c9c9",
}


class Picture:
    def __init__(self, width):
        self.width, self.parts = width, []

    def text(self, x, y, text, style=""):
        self.parts.append(f'<text x="{x:.1f}" y="{y:.1f}" class="{style}">{escape(text)}</text>')

    def box(self, x, y, width, height, style="", fill="", hint=""):
        colour = f' fill="{fill}"' if fill else ""
        title = f"<title>{escape(hint)}</title>" if hint else ""
        self.parts.append(f'<rect x="{x:.1f}" y="{y:.1f}" width="{max(width, 0):.1f}" height="{height:.1f}" class="{style}"{colour}>{title}</rect>')

    def line(self, x1, y1, x2, y2, style):
        self.parts.append(f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" class="{style}"/>')

    def dot(self, x, y):
        self.parts.append(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3.2" class="dot"/>')

    def save(self, path, height, title):
        head = (f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {self.width} {height:.0f}" width="{self.width}" height="{height:.0f}" '
                f'role="img" aria-label="{escape(title)}">\n<style>{STYLE}</style>\n'
                f'<rect x="0.5" y="0.5" width="{self.width - 1}" height="{height - 1:.0f}" rx="8" class="card"/>\n')
        with open(path, "w", encoding="utf-8") as file:
            file.write(head + "\n".join(self.parts) + "\n</svg>\n")


def milliseconds(us):
    value = us / 1000
    return f"{value:.0f} ms" if value >= 99.5 else f"{value:.1f} ms" if value >= 9.95 else f"{value:.2f} ms"


def times(ratio):
    return f"{ratio:.0f} ×" if ratio >= 9.95 else f"{ratio:.1f} ×" if ratio >= 1.995 else f"{ratio:.2f} ×"


def kind_of(name):
    return "paddock" if name.startswith("paddock") else "native" if name.startswith("native") or name == RAW else "peer"


class LogAxis:
    def __init__(self, low, high, left, width):
        self.low, self.high, self.left, self.width = math.log10(low), math.log10(high), left, width

    def __call__(self, value):
        share = (math.log10(value) - self.low) / (self.high - self.low)
        return self.left + self.width * min(max(share, 0), 1)

    def ticks(self):
        return [digit * 10**power for power in range(math.floor(self.low), math.ceil(self.high) + 1) for digit in (1, 2, 5)
                if 10**self.low <= digit * 10**power * 1.0001 and digit * 10**power <= 10**self.high * 1.0001]


def draw_start(data, path):
    by_key = {(row["contender"], row["workload"]): row for row in data["results"] if row["end_us"]}
    contenders = {item["name"]: item for item in data["contenders"]}
    picture, row_height, left, plot_width = Picture(920), 23, 190, 500
    panels = [("/bin/true", "true", "echo"), ("python3 -c pass", "python-pass", "python-print")]
    picture.text(24, 34, "From start to exit of the whole command", "title")
    machine = data["machine"]
    picture.text(24, 54, f"bar: p50 · whisker: p99 · dot: first byte of output, p50 (echo x, print(1)) · logarithmic · {data['rounds']} interleaved rounds, "
                         f"{machine['cores']} cores, kernel {machine['kernel']}, cgroups {machine['cgroups']}", "small soft")
    shown = [row["end_us"] for (_, workload), row in by_key.items() if workload in [ending for _, ending, _ in panels]]
    axis = LogAxis(min(value["p50"] for value in shown) * 0.45, max(value["p99"] for value in shown) * 1.15, left, plot_width)
    y = 84
    for label, ending, output in panels:
        rows = [name for name in contenders if (name, ending) in by_key]
        groups = [("as root", [name for name in rows if not name.endswith(" rootless")]), ("rootless", [name for name in rows if name.endswith(" rootless")])]
        groups = [(title, sorted(names, key=lambda name: by_key[name, ending]["end_us"]["p50"])) for title, names in groups if names]
        picture.text(24, y, label, "head")
        top = y + 12
        height = sum(len(names) * row_height + 22 for _, names in groups)
        for tick in axis.ticks():
            picture.line(axis(tick), top, axis(tick), top + height, "grid")
            picture.text(axis(tick), top + height + 14, f"{tick / 1000:g} ms", "small soft mid")
        y = top
        for title, names in groups:
            picture.text(24, y + 16, title, "small soft")
            y += 22
            for name in names:
                value, middle = by_key[name, ending]["end_us"], y + row_height / 2
                ours = " ours" if kind_of(name) == "paddock" else ""
                picture.text(left - 10, middle + 4, name.removesuffix(" rootless"), "end" + ours)
                picture.box(left, y + 4, axis(value["p50"]) - left, row_height - 8, kind_of(name))
                picture.line(axis(value["p50"]), middle, axis(value["p99"]), middle, "whisker")
                picture.line(axis(value["p99"]), middle - 4, axis(value["p99"]), middle + 4, "whisker")
                first = by_key.get((name, output), {}).get("first_us")
                if first:
                    picture.dot(axis(first["p50"]), middle)
                base = by_key.get((contenders[name]["baseline"], ending))
                ratio = times(value["p50"] / base["end_us"]["p50"]) + " native" if base and not name.startswith("native") else ""
                picture.text(left + plot_width + 92, middle + 4, milliseconds(value["p50"]), "end" + ours)
                picture.text(left + plot_width + 200, middle + 4, ratio, "end soft" + ours)
                y += row_height
        y += 58
    picture.save(path, y - 26, "Start to exit of /bin/true and python3 under each sandbox")


def draw_waterfall(data, path):
    picture, left, plot_width = Picture(920), 130, 750
    total = max(piece["end"] for lane in data["lanes"] for piece in lane["pieces"])
    scale = plot_width / total
    picture.text(24, 34, "Where the time of one cold “paddock run -- /bin/true” goes", "title")
    picture.text(24, 54, f"container wall, every limit on · the median of {data['runs']} runs traced by the kernel: {milliseconds(data['traced_us'])}; "
                         f"untraced in turn with them: {milliseconds(data['untraced_us'])} · thin line: not on a CPU", "small soft")
    y = 78
    step = next(size for size in (100, 200, 500, 1000, 2000, 5000, 10000, 50000) if total / size <= 12)
    lanes_height = len(data["lanes"]) * 40 + 62
    for tick in range(0, int(total) + 1, step):
        picture.line(left + tick * scale, y, left + tick * scale, y + lanes_height, "grid")
        picture.text(left + tick * scale, y + lanes_height + 15, f"{tick / 1000:g} ms", "small soft mid")
    for lane in data["lanes"]:
        middle = y + 20
        picture.text(left - 12, middle + 4, lane["role"], "end")
        picture.line(left + lane["pieces"][0]["begin"] * scale, middle, left + lane["pieces"][-1]["end"] * scale, middle, "wait")
        for piece in lane["pieces"]:
            if piece["running"]:
                length = piece["end"] - piece["begin"]
                picture.box(left + piece["begin"] * scale, middle - 11, max(length * scale, 0.7), 22, fill=PHASE_COLOURS[piece["phase"]],
                            hint=f"{piece['phase']}: {length:.0f} µs")
        y += 40
    picture.text(left - 12, y + 34, "the whole", "end ours")
    for piece in data["path"]:
        length = piece["end"] - piece["begin"]
        picture.box(left + piece["begin"] * scale, y + 16, max(length * scale, 0.5), 28, fill=PHASE_COLOURS[piece["phase"]], hint=f"{piece['phase']}: {length:.0f} µs")
    y += 62 + 40
    picture.text(24, y + 4, "p50 of each phase: a moment belongs to the process furthest inside that has a CPU", "small soft")
    y += 14
    columns = 3
    rows = math.ceil(len(data["phases"]) / columns)
    longest = max(phase["us"] for phase in data["phases"]) or 1
    for index, phase in enumerate(data["phases"]):
        x, row = 24 + (index // rows) * 294, y + (index % rows) * 22
        picture.box(x, row + 5, 12, 12, fill=PHASE_COLOURS[phase["phase"]])
        picture.text(x + 20, row + 15, phase["phase"])
        picture.box(x + 134, row + 7, phase["us"] / longest * 70, 8, fill=PHASE_COLOURS[phase["phase"]])
        picture.text(x + 262, row + 15, f"{phase['us']:.0f} µs", "end")
    picture.save(path, y + rows * 22 + 22, "Where the time of one cold run goes")


def draw_egress(data, path):
    figures = Figures(data)
    picture, row_height, left, plot_width = Picture(920), 23, 190, 500
    machine = data["machine"]
    picture.text(24, 34, "What the way through egress costs", "title")
    picture.text(24, 54, f"bar: p50 · whisker: p99 · dashed: the goal, from raw loopback in the same rounds · {data['rounds']} interleaved rounds, "
                         f"{machine['cores']} cores, kernel {machine['kernel']}", "small soft")
    raw = {work: figures.middle(RAW, work) for work in FORMS}
    panels = [("Download, one connection", "download", raw["download"] * 0.6), ("Upload, one connection", "upload", raw["upload"] * 0.6),
              ("New connections, 16 at a time", "connect", raw["connect"] * 0.35), ("Round trip of 64 bytes (less is better)", "ping", raw["ping"] + 60e3)]
    y = 84
    for label, work, goal in panels:
        names = sorted((name for name in figures.names if figures.middle(name, work)), key=lambda name: figures.middle(name, work), reverse=work != "ping")
        longest = max([goal] + [figures.middle(name, work, number) for name in names for number in ((0, 1) if work == "ping" else (0,))])
        scale = plot_width / longest / 1.02
        picture.text(24, y, label, "head")
        y += 12
        picture.line(left + goal * scale, y, left + goal * scale, y + len(names) * row_height, "goal")
        for name in names:
            value, middle = figures.middle(name, work), y + row_height / 2
            ours = " ours" if kind_of(name) == "paddock" else ""
            picture.text(left - 10, middle + 4, name, "end" + ours)
            picture.box(left, y + 4, value * scale, row_height - 8, kind_of(name))
            if work == "ping":
                p99 = left + figures.middle(name, work, 1) * scale
                picture.line(left + value * scale, middle, p99, middle, "whisker")
                picture.line(p99, middle - 4, p99, middle + 4, "whisker")
            compared = f"{figures.added_ns(name) / 1000:+.0f} µs" if work == "ping" else times(figures.share(name, work)) + " raw"
            picture.text(left + plot_width + 92, middle + 4, FORMS[work](value), "end" + ours)
            picture.text(left + plot_width + 200, middle + 4, "" if name == RAW else compared, "end soft" + ours)
            y += row_height
        y += 36
    picture.save(path, y - 14, "Throughput, new connections and round trips through egress and through forward proxies")


def main():
    start, waterfall, egress, folder = sys.argv[1:5]
    os.makedirs(folder, exist_ok=True)
    for source, draw, name in ((start, draw_start, "start.svg"), (waterfall, draw_waterfall, "waterfall.svg"), (egress, draw_egress, "egress.svg")):
        if os.path.exists(source):
            with open(source, encoding="utf-8") as file:
                draw(json.load(file), os.path.join(folder, name))


if __name__ == "__main__":
    main()
