"""The R kernel of one context: R runs kernel.R beside it, and this program speaks with the server. docs/code.md says what it speaks."""
import base64
import json
import os
import re
import select
import signal
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[0] = os.path.join(os.path.dirname(HERE), "python")

from paddock_kernel import wire  # noqa: E402
from paddock_kernel.child import PATIENCE, Child, Interrupts, Stuck  # noqa: E402

REPEATED = (0, 0.5, 1, 1.5, 2, 2.5)  # seconds after the request at which a cell is interrupted: C code may miss one
NAME = re.compile(r"^[A-Za-z_]\w*$")
UTF8 = re.compile(r"utf-?8", re.IGNORECASE)


def literal(text):
    """A string as R writes it, without the byte that R cannot hold."""
    return json.dumps(text.replace("\0", "").encode("utf-8", "replace").decode(), ensure_ascii=False)


class R:
    def __init__(self, interrupts):
        self.interrupts, self.number, self.said = interrupts, 0, b""
        theirs, self.commands = os.pipe()
        self.reports, reporting = os.pipe()
        env = dict(os.environ)
        if not UTF8.search(env.get("LC_ALL") or env.get("LC_CTYPE") or env.get("LANG") or ""):
            env["LC_ALL"] = "C.UTF-8"
        argv = ["Rscript", "--no-save", "--no-restore", "--no-init-file", os.path.join(HERE, "kernel.R"), str(theirs), str(reporting)]
        try:
            self.child = Child(argv, stdin=subprocess.DEVNULL, pass_fds=[theirs, reporting], env=env)
        finally:
            os.close(theirs)
            os.close(reporting)
        self.engine = "R"
        for kind, body in self.reported(interruptible=False):
            if kind == "ready":
                self.engine = body.decode("utf-8", "replace")
                break
        else:
            self.end()
            sys.exit(127)

    def send(self, **parts):
        """Blocks while R has not read what came before: nothing did, when a cell has ended."""
        self.number += 1
        line = ", ".join([f"number = {self.number}", *(f"{name} = {value}" for name, value in parts.items())])
        view = memoryview(f"list({line})\n".encode())
        try:
            while view:
                view = view[os.write(self.commands, view):]
        except BrokenPipeError:
            pass  # it has ended, and reported() sees that

    def reported(self, interruptible=True, signalled=True):
        """What R reports, until it has ended. Interrupts it when that is asked for; raises Stuck when it does not stop."""
        sent = 0
        while True:
            head, newline, rest = self.said.partition(b"\n")
            size = int(head.split()[1]) if newline else 0
            if newline and len(rest) >= size:
                self.said = rest[size:]
                yield head.split()[0].decode(), rest[:size]
                continue
            asked_at = self.interrupts.asked_at if interruptible else None
            if asked_at is not None:
                waited = time.monotonic() - asked_at
                if waited > PATIENCE:
                    raise Stuck
                if signalled and sent < len(REPEATED) and waited >= REPEATED[sent]:
                    sent += 1
                    self.child.signal(signal.SIGINT)
            watched = [self.reports, self.child.gone] + ([self.interrupts.fd] if asked_at is None and interruptible else [])
            ready, _, _ = select.select(watched, [], [], 0.05 if asked_at is not None else None)
            if self.reports in ready:
                more = os.read(self.reports, 1 << 20)
                if not more:
                    return
                self.said += more
            elif self.child.gone in ready:
                return

    def wait_for_end(self, **how):
        """False: R has ended."""
        return any(kind == "end" and body == b"%d" % self.number for kind, body in self.reported(**how))

    def run(self, line, code, variables):
        """Sends the events of a cell. False: R ended."""
        if self.interrupts.asked_at is not None:
            line.send({"type": "error", "name": "KeyboardInterrupt", "value": "the cell was interrupted", "traceback": ""}, soon=True)
            return True
        env = ", ".join(f"{name} = {literal(value)}" for name, value in variables.items())
        self.send(code=literal(code), env=f"c({env})")
        for kind, body in self.reported():
            line.flush()
            text = body.decode("utf-8", "replace")
            if kind == "result" and text:
                line.send({"type": "result", "is_main_result": True, "text": text})
            elif kind == "png":
                show_picture(line, text)
            elif kind == "error":
                name, value, traceback = (text.split("\1") + ["", ""])[:3]
                line.send({"type": "error", "name": name, "value": value.strip(), "traceback": traceback}, soon=True)
            elif kind == "end" and text == str(self.number):
                break
        else:
            return False
        if self.interrupts.asked_at is None:
            return True
        self.send()  # an interrupt that came late must not reach the next cell
        return self.wait_for_end(signalled=False)

    def end(self, kill=False):
        code = self.child.end(kill)
        os.close(self.commands)
        os.close(self.reports)
        return code


def show_picture(line, path):
    try:
        with open(path, "rb") as file:
            picture = file.read()
        os.unlink(path)
    except OSError:
        return
    line.send({"type": "result", "is_main_result": False, "png": base64.b64encode(picture).decode()})


def cell(line, r, command, count):
    line.cell = command["cell"]
    line.send({"type": "number_of_executions", "execution_count": count}, soon=True)
    variables = {name: str(value) for name, value in (command.get("env") or {}).items() if NAME.match(name)}
    error = None
    try:
        ended = not r.run(line, command["code"], variables)
        if ended:
            code = r.end()
            value = str(code) if code >= 0 else signal.Signals(-code).name
            error = {"name": "SystemExit", "value": value, "traceback": f"R ended with {value}. The next cell starts it again, without its variables."}
    except Stuck:
        ended = True
        r.end(kill=True)
        value = "The cell did not stop when it was interrupted, so R was ended. The next cell starts it again, without its variables."
        error = {"name": "KernelDied", "value": value, "traceback": value}
    line.flush()
    if error:
        line.send({"type": "error", **error}, soon=True)
    r.interrupts.ignore()
    line.send({"type": "end_of_execution"})
    line.cell = 0
    return R(r.interrupts) if ended else r


def main():
    line = wire.Wire()
    interrupts = Interrupts()
    r, count = R(interrupts), 0
    line.flush()
    ready = {"type": "ready", "language": "r", "engine": r.engine}
    line.send(ready, cell=0)
    for command in line.commands():
        if command.get("op") == "hello":
            line.send(ready, cell=0)
        if command.get("op") != "run":
            continue
        count += 1
        interrupts.listen()
        r = cell(line, r, command, count)


try:
    main()
except FileNotFoundError:  # there is no R
    sys.exit(127)
