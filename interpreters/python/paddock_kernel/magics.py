"""The magics of the own shell. IPython has many more; these are the ones that agents' code uses."""
import contextlib
import io
import os
import re
import shlex
import subprocess
import sys
import time
import timeit

from . import commands, figures

VARIABLE = re.compile(r"\{([^{}]+)\}|\$([A-Za-z_]\w*)")


def expand(text, names):
    """{expression} and $name of Python in a command; what Python does not know is left for the shell."""
    def value(match):
        try:
            return str(eval(match.group(1), names)) if match.group(1) else str(names[match.group(2)])
        except Exception:
            return match.group(0)
    return VARIABLE.sub(value, text)


def pip(shell, line):
    commands.wait(subprocess.Popen([sys.executable, "-m", "pip", *shlex.split(expand(line, shell.names))]))


def cd(shell, line):
    os.chdir(os.path.expanduser(line.strip() or "~"))
    print(os.getcwd())


def env(shell, line):
    if not line:
        return dict(os.environ)
    name, separator, value = (line.partition("=") if "=" in line else line.partition(" "))
    if not separator:
        return os.environ.get(name.strip())
    os.environ[name.strip()] = expand(value.strip(), shell.names)
    print(f"env: {name.strip()}={os.environ[name.strip()]}")


def who(shell, _line):
    names = sorted(name for name in shell.names if not name.startswith("_") and name not in shell.hidden)
    print("\t".join(names) if names else "Interactive namespace is empty.")


def pwd(_shell, _line):
    return os.getcwd()


def matplotlib(_shell, _line):
    pass  # figures are always results


def config(_shell, line):
    name, _, value = line.partition("=")
    if name.strip() in ("InlineBackend.figure_format", "InlineBackend.figure_formats"):
        chosen = eval(value)
        figures.FORMATS[:] = [chosen] if isinstance(chosen, str) else list(chosen)


def run_timeit(shell, line, body=None):
    loops = repeats = None
    words = line.split(" ")
    while words and words[0].startswith("-"):
        option, number = words[0][1:2], words[0][2:] or (words.pop(1) if len(words) > 1 else "")
        loops, repeats = (int(number), repeats) if option == "n" else (loops, int(number)) if option == "r" else (loops, repeats)
        words.pop(0)
    setup, statement = (" ".join(words) or "pass", body) if body is not None else ("pass", " ".join(words))
    timer = timeit.Timer(statement, setup, globals=shell.names)
    repeats = repeats or 7
    loops = loops or max(1, timer.autorange()[0])
    times = [total / loops for total in timer.repeat(repeats, loops)]
    mean = sum(times) / len(times)
    spread = (sum((one - mean) ** 2 for one in times) / len(times)) ** 0.5
    print(f"{duration(mean)} ± {duration(spread)} per loop (mean ± std. dev. of {repeats} run{'s' * (repeats != 1)}, "
          f"{loops:,} loop{'s' * (loops != 1)} each)")


def duration(seconds):
    for unit, factor in (("s", 1), ("ms", 1e3), ("μs", 1e6)):
        if seconds * factor >= 1:
            return f"{seconds * factor:.3g} {unit}"
    return f"{seconds * 1e9:.3g} ns"


def run_time(shell, line, body=None):
    wall, cpu = time.perf_counter(), time.process_time()
    try:
        shell.run_code((line + "\n" + body) if body is not None else line, shell.number)
    finally:
        print(f"CPU times: {duration(time.process_time() - cpu)}\nWall time: {duration(time.perf_counter() - wall)}")


def script(program):
    def run(shell, line, body):
        child = subprocess.Popen([program, *shlex.split(line)], stdin=subprocess.PIPE)
        with contextlib.suppress(BrokenPipeError):
            child.stdin.write(body.encode())
            child.stdin.close()
        code = commands.wait(child)
        if code:
            raise subprocess.CalledProcessError(code, program)
    return run


def writefile(_shell, line, body):
    append, path = line.startswith("-a "), os.path.expanduser(line.removeprefix("-a ").strip().strip("\"'"))
    print(("Appending to " if append else "Overwriting " if os.path.exists(path) else "Writing ") + path)
    with open(path, "a" if append else "w", encoding="utf-8") as file:
        file.write(body)


def capture(shell, line, body):
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        shell.run_code(body, shell.number)
    if line.strip().isidentifier():
        shell.names[line.strip()] = printed.getvalue()


def run_file(shell, line):
    words = shlex.split(expand(line, shell.names))
    with open(os.path.expanduser(words[0]), encoding="utf-8") as file:
        text = file.read()
    before, sys.argv = sys.argv, words
    try:
        exec(compile(text, words[0], "exec"), shell.names)
    finally:
        sys.argv = before


def shell_command(program):
    return lambda shell, line: shell.system(f"{program} {line}")


LINE = {"pip": pip, "cd": cd, "env": env, "set_env": env, "who": who, "whos": who, "pwd": pwd, "matplotlib": matplotlib,
        "config": config, "timeit": run_timeit, "time": run_time, "run": run_file, "load_ext": matplotlib, "autoreload": matplotlib,
        **{name: shell_command(name) for name in ("ls", "cat", "mkdir", "rm", "cp", "mv", "sx")}}
CELL = {"bash": script("bash"), "sh": script("sh"), "script": lambda shell, line, body: script(line.split()[0])(shell, "", body),
        "python": script(sys.executable), "python3": script(sys.executable), "timeit": run_timeit, "time": run_time,
        "writefile": writefile, "file": writefile, "capture": capture,
        "html": lambda shell, _line, body: shell.display({"text/html": body}, raw=True),
        "markdown": lambda shell, _line, body: shell.display({"text/markdown": body}, raw=True),
        "latex": lambda shell, _line, body: shell.display({"text/latex": body}, raw=True),
        "svg": lambda shell, _line, body: shell.display({"image/svg+xml": body}, raw=True),
        "javascript": lambda shell, _line, body: shell.display({"application/javascript": body}, raw=True),
        "js": lambda shell, _line, body: shell.display({"application/javascript": body}, raw=True)}


class UsageError(Exception):
    pass


def line(shell, name, text):
    if name not in LINE:
        raise UsageError(f"Line magic function `%{name}` not found.")
    return LINE[name](shell, text)


def cell(shell, name, text, body):
    if name not in CELL:
        raise UsageError(f"Cell magic `%%{name}` not found.")
    return CELL[name](shell, text, body)
