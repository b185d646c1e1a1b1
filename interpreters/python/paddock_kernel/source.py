"""Cells that are not quite Python: !commands, %magics, object?; an indentation that all lines share."""
import re

ASSIGNED = re.compile(r"^(\s*)([\w.,\s\[\]'\"]+?)\s*=\s*([!%])(.*)$")
HELP = re.compile(r"^(\s*)(?:(\?{1,2})\s*([\w.]+)|([\w.]+)\s*(\?{1,2}))\s*$")


def without_indent(code):
    lines = code.splitlines(keepends=True)
    first = next((line for line in lines if line.strip()), "")
    indent = first[:len(first) - len(first.lstrip())]
    if not indent:
        return code
    return "".join(line[len(indent):] if line.startswith(indent) else line for line in lines)


def to_python(code):
    """Only lines that begin a statement are looked at: what stands inside a string or brackets stays as it is."""
    made, state = [], State()
    waiting = ""  # of a !command that goes on in the next line
    for line in code.splitlines():
        if waiting or (state.is_fresh() and line.lstrip()[:1] in ("!", "%")):
            whole = waiting + line
            if whole.endswith("\\"):
                waiting = whole[:-1]
                continue
            waiting = ""
            made.append(call(whole))
            continue
        if state.is_fresh():
            line = assignment(line) or help_call(line) or line
        state.read(line)
        made.append(line)
    return "\n".join(made) + "\n"


def call(line):
    indent, text = line[:len(line) - len(line.lstrip())], line.strip()
    if text.startswith("!"):
        return f"{indent}get_ipython().system({text[1:]!r})" if not text.startswith("!!") else f"{indent}get_ipython().lines({text[2:]!r})"
    name, _, rest = text[1:].partition(" ")
    return f"{indent}get_ipython().run_line_magic({name!r}, {rest.strip()!r})"


def assignment(line):
    match = ASSIGNED.match(line)
    if not match or "==" in match.group(2):
        return None
    indent, names, kind, rest = match.groups()
    if kind == "!":
        return f"{indent}{names} = get_ipython().lines({rest.strip()!r})"
    name, _, rest = rest.partition(" ")
    return f"{indent}{names} = get_ipython().run_line_magic({name!r}, {rest.strip()!r})"


def help_call(line):
    match = HELP.match(line)
    return f"{match.group(1)}get_ipython().help({(match.group(3) or match.group(4))!r})" if match else None


class State:
    """Whether a line begins a statement: how many brackets are open, and which string."""

    def __init__(self):
        self.depth, self.quote, self.goes_on = 0, "", False

    def is_fresh(self):
        return self.depth == 0 and not self.quote and not self.goes_on

    def read(self, line):
        at = 0
        while at < len(line):
            rest = line[at:]
            if self.quote:
                if rest.startswith("\\"):
                    at += 2
                elif rest.startswith(self.quote):
                    at += len(self.quote)
                    self.quote = ""
                else:
                    at += 1
            elif rest.startswith(('"""', "'''")):
                self.quote = rest[:3]
                at += 3
            elif rest[0] in "\"'":
                self.quote = rest[0]
                at += 1
            elif rest[0] == "#":
                break
            else:
                self.depth = max(0, self.depth + (rest[0] in "([{") - (rest[0] in ")]}"))
                at += 1
        if len(self.quote) == 1 and not line.endswith("\\"):
            self.quote = ""
        self.goes_on = line.endswith("\\")
