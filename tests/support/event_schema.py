"""docs/formats/events.md as a check: what an event may have in it."""
import os
import re

from support import paddock

TOP = {"time", "kind", "trace", "span", "parent", "sandbox", "tenant", "agent", "verdict", "duration_us", "data"}
OF_THE_LOG = {"seq", "prev", "hash"}


def _tables():
    tables, heading = {}, ""
    with open(os.path.join(paddock.SOURCE, "docs/formats/events.md")) as file:
        for line in file:
            if line.startswith("#"):
                heading = line.strip("# \n")
            cells = [cell.strip() for cell in line.strip().strip("|").split("|")]
            if line.startswith("| `") and len(cells) == 3:
                tables.setdefault(heading, {})[cells[0].strip("`")] = set(re.findall(r"`([a-z0-9_]+)`", cells[2]))
    return tables


TABLES = _tables()
KINDS, ACTS = TABLES["Kinds"], TABLES["`admin`, by act"]


def problems(event):
    """What is in it that the document does not have."""
    found = []
    unknown = set(event) - TOP - OF_THE_LOG
    if unknown:
        found.append(f"keys {sorted(unknown)}")
    if event["kind"] not in KINDS:
        return found + ["an unknown kind"]
    allowed = set(KINDS[event["kind"]])
    if event["kind"] == "admin":
        allowed |= ACTS.get(event["data"].get("act"), set())
        if event["data"].get("act") not in ACTS and event.get("tenant"):  # commands of the user's own name acts of their own
            found.append(f"an unknown act {event['data'].get('act')}")
    unknown = set(event["data"]) - allowed
    if unknown:
        found.append(f"data {sorted(unknown)}")
    for key, size in (("trace", 32), ("span", 16), ("parent", 16)):
        if not re.fullmatch(f"[0-9a-f]{{{size}}}", event.get(key, "0" * size)):
            found.append(f"{key} {event[key]!r}")
    if not re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z", event["time"]):
        found.append(f"time {event['time']!r}")
    return found


def check(test, events):
    for event in events:
        test.assertEqual(problems(event), [], event)
