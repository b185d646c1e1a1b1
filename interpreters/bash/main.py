"""The bash kernel of one context: a shell that lives on, watched by this program. docs/code.md says what it speaks.

The shell is an interactive one without a terminal: an interrupt ends what it is doing, and not the shell. Bash loses an
interrupt now and then, and an interrupt discards the line that bash is reading. So interrupts are repeated until the cell
has ended, a cell is never sent as a line, and a shell that does not stop is replaced.
"""
import fcntl
import os
import re
import select
import shlex
import signal
import subprocess
import sys
import time

sys.path[0] = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "python")

from paddock_kernel import wire  # noqa: E402
from paddock_kernel.child import PATIENCE, Child, Interrupts, Stuck  # noqa: E402

ERRORS = 7      # the shell's descriptor for what cells write to 2
OURS = 100      # where our descriptors in the shell begin: far from those that scripts choose
INTERRUPTED = 130
# Seconds after the request at which a cell is interrupted. Bash ignores an interrupt when the command it waits for ends by
# itself, which a short command that is hit before its exec does: a loop of such needs many tries. The pauses are for the
# answer, which an interrupt discards.
REPEATED = [0, 0.1, 0.3, 0.6] + [burst + 0.04 * step for burst in (1.0, 1.7, 2.4) for step in range(10)]
NAME = re.compile(r"^[A-Za-z_]\w*$")
BEGIN = "PS1= PS2= PROMPT_COMMAND=; set +o history +H; unset HISTFILE; exit() { builtin exit \"$@\" 2>/dev/null; }; __paddock_code=0"


class Shell:
    def __init__(self, interrupts):
        self.interrupts = interrupts
        self.status, writer = os.pipe()
        self.cell = os.memfd_create("cell")
        theirs = fcntl.fcntl(writer, fcntl.F_DUPFD, OURS)
        cell = os.open(f"/proc/self/fd/{self.cell}", os.O_RDONLY)
        theirs_cell = fcntl.fcntl(cell, fcntl.F_DUPFD, OURS)
        # What an interactive shell says of itself (prompts, the missing terminal) is not the cell's: its own 2 is nowhere.
        self.child = Child(["bash", "--norc", "--noprofile", "--noediting", "-i"], stdin=subprocess.PIPE, stderr=subprocess.DEVNULL,
                           pass_fds=[theirs, theirs_cell, ERRORS])
        self.input = self.child.process.stdin
        for fd in (writer, theirs, cell, theirs_cell):
            os.close(fd)
        self.number, self.said = 0, b""
        self.tell = f"printf '%s %s\\0' {{}} \"$__paddock_code\" >&{theirs}; __paddock_code={INTERRUPTED}"
        self.take_cell = f"IFS= read -rd '' __paddock_cell </proc/self/fd/{theirs_cell}; eval \"$__paddock_cell\" </dev/null 2>&{ERRORS}"
        self.write(BEGIN)
        self.ask()
        self.wait(interruptible=False)

    def write(self, text):
        try:
            self.input.write(text.encode() + b"\n")
            self.input.flush()
        except BrokenPipeError:
            pass  # it has ended, and wait() sees that

    def ask(self):
        """Asks for the cell's exit status. Bash discards the question when it is interrupted while it reads it."""
        self.number += 1
        self.write(self.tell.format(self.number))

    def run(self, code, restore):
        """Runs a cell, then the lines of `restore`. Gives the exit code; None when the shell ended; raises Stuck."""
        if self.interrupts.asked_at is not None:
            return INTERRUPTED
        os.ftruncate(self.cell, 0)
        os.pwrite(self.cell, code.replace("\0", "").encode("utf-8", "replace") + b"\0", 0)
        self.write("\n".join([self.take_cell, "__paddock_code=$?", *restore]))
        self.ask()
        status = self.wait()
        if status is None or self.interrupts.asked_at is None:
            return status
        # A late interrupt may have discarded one of our lines, or could discard the next cell's: ask until it is quiet.
        self.write("\n".join(restore))
        self.ask()
        return None if self.wait(signalled=False) is None else status

    def wait(self, interruptible=True, signalled=True):
        """The answer to the last question."""
        sent, asked_again = 0, time.monotonic()
        while True:
            while b"\0" in self.said:
                answer, _, self.said = self.said.partition(b"\0")
                number, _, code = answer.partition(b" ")
                if number == b"%d" % self.number:
                    return int(code or 0)
            asked_at = self.interrupts.asked_at if interruptible else None
            if asked_at is not None:
                now = time.monotonic()
                if now - asked_at > PATIENCE:
                    raise Stuck
                if signalled and sent < len(REPEATED) and now - asked_at >= REPEATED[sent]:
                    sent += 1
                    self.child.signal(signal.SIGINT)
                if now - asked_again > 0.2:
                    asked_again = now
                    self.ask_again()
            waited = [self.status, self.child.gone] + ([self.interrupts.fd] if asked_at is None and interruptible else [])
            ready, _, _ = select.select(waited, [], [], 0.02 if asked_at is not None else None)
            if self.status in ready:
                more = os.read(self.status, 4096)
                if not more:
                    return None
                self.said += more
            elif self.child.gone in ready:
                return None

    def ask_again(self):
        """The same question once more; not while the shell leaves much of what it was told unread."""
        _, writable, _ = select.select([], [self.input], [], 0)
        if writable:
            self.write(self.tell.format(self.number))

    def end(self, kill=False):
        code = self.child.end(kill)
        try:
            self.input.close()
        except BrokenPipeError:
            pass
        os.close(self.status)
        os.close(self.cell)
        return code


def script(code, variables):
    """The cell with its own variables set before it, and the lines that restore them: those may run twice."""
    begin = [f"__paddock_{index}=${{{name}-}} __paddock_{index}_set=${{{name}+1}}; export {name}={shlex.quote(value)}\n"
             for index, (name, value) in enumerate(variables.items())]
    restore = [f"if [ \"${{__paddock_{index}_set+1}}\" ]; then if [ \"$__paddock_{index}_set\" ]; then "
               f"export {name}=\"$__paddock_{index}\"; else unset {name}; fi; unset __paddock_{index} __paddock_{index}_set; fi"
               for index, name in enumerate(variables)]
    return "".join(begin) + code, restore


def cell(line, shell, command, count):
    line.cell = command["cell"]
    line.send({"type": "number_of_executions", "execution_count": count}, soon=True)
    variables = {name: str(value).replace("\0", "") for name, value in (command.get("env") or {}).items() if NAME.match(name)}
    error = None
    try:
        code = shell.run(*script(command["code"], variables))
        ended = code is None
        if ended:
            code = shell.end()
        if code != 0:
            how = "the shell ended" if ended else "the last command ended"
            value = str(code) if code > 0 else signal.Signals(-code).name
            error = {"name": "ExitStatus", "value": value, "traceback": f"{how} with {'exit status ' * (code > 0)}{value}"}
    except Stuck:
        ended = True
        shell.end(kill=True)
        value = "The cell did not stop when it was interrupted, so its shell was ended. The next cell starts a new one, without its variables."
        error = {"name": "KernelDied", "value": value, "traceback": value}
    line.flush()
    if error:
        line.send({"type": "error", **error}, soon=True)
    shell.interrupts.ignore()
    line.send({"type": "end_of_execution"})
    line.cell = 0
    return Shell(shell.interrupts) if ended else shell


def main():
    line = wire.Wire()
    os.dup2(2, ERRORS)
    interrupts = Interrupts()
    shell, count = Shell(interrupts), 0
    line.flush()
    ready = {"type": "ready", "language": "bash", "engine": "bash"}
    line.send(ready, cell=0)
    for command in line.commands():
        if command.get("op") == "hello":
            line.send(ready, cell=0)
        if command.get("op") != "run":
            continue
        count += 1
        interrupts.listen()
        shell = cell(line, shell, command, count)


try:
    main()
except FileNotFoundError:  # there is no bash
    sys.exit(127)
