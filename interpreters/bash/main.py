"""The bash kernel of one context: a shell that lives on, watched by this program. docs/code.md says what it speaks.

The shell is an interactive one without a terminal: an interrupt ends what it is doing, and not the shell.
"""
import os
import re
import select
import shlex
import signal
import subprocess
import sys

sys.path[0] = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "python")

from paddock_kernel import wire  # noqa: E402

ERRORS = 7  # the shell's descriptor for what cells write to 2
NAME = re.compile(r"^[A-Za-z_]\w*$")
BEGIN = "PS1= PS2= PROMPT_COMMAND=; set +o history +H; unset HISTFILE; exit() { builtin exit \"$@\" 2>/dev/null; }\n"


class Shell:
    def __init__(self):
        self.status, theirs = os.pipe()
        self.tell = f"printf '%s\\0' \"$?\" >&{theirs}"
        # What an interactive shell says of itself (prompts, the missing terminal) is not the cell's: its own 2 is nowhere.
        self.child = subprocess.Popen(["bash", "--norc", "--noprofile", "--noediting", "-i"], stdin=subprocess.PIPE,
                                      stderr=subprocess.DEVNULL, pass_fds=[theirs, ERRORS], start_new_session=True)
        os.close(theirs)
        self.gone = os.pidfd_open(self.child.pid)
        self.again = 0  # how often an interrupt is still repeated
        self.run(BEGIN)

    def run(self, text):
        """Gives the exit code; None when the shell ended."""
        try:
            self.child.stdin.write(f"{text}\n{self.tell}\n".encode("utf-8", "replace"))
            self.child.stdin.flush()
        except BrokenPipeError:
            return None
        said, self.again = b"", 0
        while b"\0" not in said:
            ready, _, _ = select.select([self.status, self.gone], [], [], 0.2)
            if not ready:
                if self.again:  # bash loses an interrupt that comes between fork and exec of a command
                    self.again -= 1
                    os.killpg(self.child.pid, signal.SIGINT)
                continue
            more = os.read(self.status, 64) if self.status in ready else b""
            if not more:
                return None
            said += more
        return int(said.partition(b"\0")[0] or 0)

    def interrupt(self):
        self.again = 3
        os.killpg(self.child.pid, signal.SIGINT)

    def end(self):
        code = self.child.wait()
        os.close(self.status)
        os.close(self.gone)
        return code


def script(code, variables):
    """The cell with its own variables around it; $? is the cell's."""
    begin = [f"__paddock_{index}=${{{name}-}} __paddock_{index}_set=${{{name}+1}}; export {name}={shlex.quote(value)}"
             for index, (name, value) in enumerate(variables.items())]
    end = [f"if [ \"$__paddock_{index}_set\" ]; then export {name}=\"$__paddock_{index}\"; else unset {name}; fi; "
           f"unset __paddock_{index} __paddock_{index}_set" for index, name in enumerate(variables)]
    run = f"eval {shlex.quote(code)} </dev/null 2>&{ERRORS}"
    if not variables:
        return run
    # Lines, not one list: an interrupt throws away the line it falls into, and what follows still runs.
    return "\n".join([*begin, run, "__paddock_code=$?", *end, "(exit $__paddock_code)"])


def cell(line, shell, command, count):
    line.cell = command["cell"]
    line.send({"type": "number_of_executions", "execution_count": count}, soon=True)
    variables = {name: str(value) for name, value in (command.get("env") or {}).items() if NAME.match(name)}
    code = shell.run(script(command["code"], variables))
    ended = code is None
    if ended:
        code = shell.end()
    line.flush()
    if code != 0:
        how = "the shell ended" if ended else "the last command ended"
        value = str(code) if code > 0 else signal.Signals(-code).name
        line.send({"type": "error", "name": "ExitStatus", "value": value, "traceback": f"{how} with {'exit status ' * (code > 0)}{value}"},
                  soon=True)
    line.send({"type": "end_of_execution"})
    line.cell = 0
    return Shell() if ended else shell


def main():
    line = wire.Wire()
    os.dup2(2, ERRORS)
    shell, count = Shell(), 0
    busy = False

    def interrupt(*_):
        if busy:
            shell.interrupt()

    signal.signal(signal.SIGINT, interrupt)
    line.flush()
    ready = {"type": "ready", "language": "bash", "engine": "bash"}
    line.send(ready, cell=0)
    for command in line.commands():
        if command.get("op") == "hello":
            line.send(ready, cell=0)
        if command.get("op") != "run":
            continue
        count += 1
        busy = True
        shell = cell(line, shell, command, count)
        busy = False


try:
    main()
except FileNotFoundError:  # there is no bash
    sys.exit(127)
