"""A server of this process's own, for its lifetime: with private state, on a UNIX socket in a directory that only this user
can enter. It ends when this process does, however that happens: its stdin is a pipe from here, and its end is its end."""
from __future__ import annotations

import atexit
import os
import select
import shutil
import subprocess
import tempfile
from typing import List

from .endpoint import Endpoint
from .errors import ServerUnavailable

_PATIENCE = 120.0  # the first start of all makes the base template


def find_program() -> str:
    """$PADDOCK_BIN; else `paddock` on the PATH; else build/paddock of the source tree that this package stands in."""
    named = os.environ.get("PADDOCK_BIN")
    if named:
        return named
    found = shutil.which("paddock")
    if found:
        return found
    tree = os.path.dirname(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))
    built = os.path.join(tree, "build", "paddock")
    if os.access(built, os.X_OK):
        return built
    raise ServerUnavailable("no server runs, and there is no `paddock` to start one with", "unavailable",
                            "start one with: paddock serve; or set PADDOCK_BIN, or build it with: make build")


def _wait_until_ready(process: "subprocess.Popen[bytes]", ready: int, log: str) -> None:
    said = b""
    while not said.endswith(b"\n"):
        readable, _, _ = select.select([ready], [], [], _PATIENCE)
        piece = os.read(ready, 100) if readable else b""
        if not piece:
            break
        said += piece
    if said.strip() == b"ready":
        return
    process.kill()
    process.wait()
    with open(log, errors="replace") as file:
        raise ServerUnavailable(f"the server did not start: {file.read()[-2000:].strip() or 'it said nothing'}", "unavailable", "try: paddock doctor")


def start() -> Endpoint:
    program = find_program()
    directory = tempfile.mkdtemp(prefix="paddock-")
    socket_path, log = os.path.join(directory, "server.sock"), os.path.join(directory, "server.log")
    ready, its_ready = os.pipe()
    command: List[str] = [program, "serve", "--no-listen", "--socket", socket_path, "--with-parent", "--exit-kills", "--temporary", "--ready-fd", str(its_ready)]
    try:
        with open(log, "wb") as output:
            # A session of its own: Ctrl-C in the terminal is for this program, which then ends the server in order.
            process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=output, stderr=output, pass_fds=(its_ready,), start_new_session=True,
                                       env={**os.environ, "PADDOCK_STATE": directory})
        os.close(its_ready)
        its_ready = -1
        _wait_until_ready(process, ready, log)
    except OSError as error:
        shutil.rmtree(directory, ignore_errors=True)
        raise ServerUnavailable(f"start {program}: {error}", "unavailable") from error
    except ServerUnavailable:
        shutil.rmtree(directory, ignore_errors=True)
        raise
    finally:
        os.close(ready)
        if its_ready >= 0:
            os.close(its_ready)
    owner = os.getpid()

    def stop() -> None:
        if os.getpid() != owner:  # a fork of this process has the pipe too, but not the duty
            return
        assert process.stdin is not None
        process.stdin.close()
        try:
            process.wait(timeout=30)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        if process.returncode != 0:  # else it takes its directory along
            shutil.rmtree(directory, ignore_errors=True)

    atexit.register(stop)
    return Endpoint(socket_path=socket_path)
