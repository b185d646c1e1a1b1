"""Runs one cell after the other, each with its own environment, each of which can be interrupted."""
import os
import signal
import sys
import traceback

from . import hooks


def welcome_interrupts():
    """SIGINT is KeyboardInterrupt while a cell runs (but in the middle of an event's line: wire.py)."""
    signal.signal(signal.SIGINT, signal.default_int_handler)


def ignore_interrupts():
    """Between cells it is nothing. Not SIG_IGN, which programs started in the background would inherit."""
    signal.signal(signal.SIGINT, lambda *_: None)


def choose_shell(wire):
    """IPython where it is installed; PADDOCK_KERNEL=own is for those who do not want it."""
    if os.environ.pop("PADDOCK_KERNEL", "") != "own":
        try:
            from .shell_ipython import Shell
            return Shell(wire)
        except ImportError:
            pass
    from .shell_own import Shell
    return Shell(wire)


def prepare_pip():
    """What pip installs for the user is found, also when it is the first thing installed."""
    os.environ.setdefault("PIP_BREAK_SYSTEM_PACKAGES", "1")  # the system is the sandbox's own
    import site
    try:
        directory = site.getusersitepackages()
        os.makedirs(directory, exist_ok=True)
    except OSError:
        return
    if site.ENABLE_USER_SITE is not False and directory not in sys.path:
        sys.path.append(directory)


def set_environment(values):
    """Sets variables for one cell; gives what they were."""
    before = {name: os.environ.get(name) for name in values}
    for name, value in values.items():
        if value is None:
            os.environ.pop(name, None)
        else:
            os.environ[name] = value
    return before


def serve(wire):
    ignore_interrupts()
    hooks.install()
    prepare_pip()
    shell = choose_shell(wire)
    ready = {"type": "ready", "language": "python", "engine": shell.engine}
    wire.send(ready, cell=0)
    for command in wire.commands():
        if command.get("op") == "run":
            run(wire, shell, command)
        elif command.get("op") == "hello":
            wire.send(ready, cell=0)
        if wire.is_child:  # the user's code forked and came back here
            os._exit(0)


def run(wire, shell, command):
    before = set_environment(command.get("env") or {})
    wire.cell = command["cell"]
    try:
        wire.send({"type": "number_of_executions", "execution_count": shell.count()}, soon=True)
        welcome_interrupts()
        shell.run(command["code"])
        ignore_interrupts()
    except BaseException as error:  # an interrupt at the wrong moment, or a shell that fails: the context goes on
        ignore_interrupts()
        report(wire, error)
    finally:
        set_environment(before)
    wire.flush()
    wire.send({"type": "end_of_execution"})
    wire.cell = 0


def report(wire, error):
    wire.flush()
    text = "".join(traceback.format_exception(type(error), error, error.__traceback__))
    wire.send({"type": "error", "name": type(error).__name__, "value": str(error), "traceback": text})
