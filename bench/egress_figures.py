"""What the results of egress.py say: middles over the rounds, and ratios within them."""

import statistics

RAW, OURS, OURS_ROOTLESS = "raw loopback", "paddock", "paddock rootless"
OWN = (OURS, OURS_ROOTLESS)


class Figures:
    def __init__(self, data):
        self.data = data
        self.names = [item["name"] for item in data["contenders"]]
        self.rounds = {(row["contender"], row["work"]): row["rounds"] for row in data["results"]}

    def middle(self, name, work, number=0):
        """The median over the rounds of what the client printed; None if no round worked."""
        values = [numbers[number] for numbers in self.rounds.get((name, work), []) if numbers]
        return statistics.median(values) if values else None

    def compare(self, name, work, other, by):
        """The median over the rounds of by(its value, the other's): what drifts between rounds drifts for both."""
        pairs = zip(self.rounds.get((name, work), []), self.rounds.get((other, work), []))
        values = [by(ours[0], theirs[0]) for ours, theirs in pairs if ours and theirs]
        return statistics.median(values) if values else None

    def share(self, name, work, other=RAW):
        return self.compare(name, work, other, lambda ours, theirs: ours / theirs)

    def added_ns(self, name):
        return self.compare(name, "ping", RAW, lambda ours, theirs: ours - theirs)

    def best_peer(self, work):
        peers = [name for name in self.names if name not in (RAW, *OWN) and self.middle(name, work)]
        return max(peers, key=lambda name: self.middle(name, work), default=None)

    def goals(self):
        """(what, the goal as text, [whether and how each of ours meets it])."""
        own = [name for name in OWN if name in self.names]

        def row(what, sign, goal, unit, value):
            form = (lambda number: f"{number:.0f} {unit}") if unit == "µs" else (lambda number: f"{number:.2f} {unit}")
            values = [value(name) for name in own]
            met = [value is not None and (value >= goal if sign == "≥" else value <= goal) for value in values]
            return what, f"{sign} {form(goal)}", ["not run" if value is None else form(value) + ("" if good else ": missed") for value, good in zip(values, met)]

        for work in ("download", "upload"):
            yield row(f"{work}, of raw loopback", "≥", 0.6, "×", lambda name: self.share(name, work))
            peer = self.best_peer(work)
            if peer:
                yield row(f"{work}, of the best peer ({peer})", "≥", 1.0, "×", lambda name: self.share(name, work, peer))
        yield row("new connections, of raw loopback", "≥", 0.35, "×", lambda name: self.share(name, "connect"))
        yield row("added to a round trip, p50", "≤", 60, "µs", lambda name: None if self.added_ns(name) is None else self.added_ns(name) / 1000)


def gigabytes(bytes_per_second):
    return f"{bytes_per_second / 1e9:.2f} GB/s"


def per_second(rate):
    return f"{rate:,.0f}/s"


def microseconds(nanoseconds):
    return f"{nanoseconds / 1000:.0f} µs"


FORMS = {"download": gigabytes, "upload": gigabytes, "connect": per_second, "ping": microseconds}
