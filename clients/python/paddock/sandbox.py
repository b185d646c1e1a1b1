"""A sandbox, its files and its processes.

    from paddock import Sandbox

    with Sandbox(memory="256M", allow_net=["pypi.org"]) as sandbox:
        print(sandbox.run_code("1 + 1").text)
        print(sandbox.run("ls -la").stdout)
"""
from __future__ import annotations

import json
import tempfile
import threading
from types import TracebackType
from typing import Any, Callable, Dict, IO, Iterable, Iterator, List, Literal, Mapping, Optional, Sequence, Type, Union, overload

from . import archive, calls, websocket
from .calls import Output, Policy, Volumes
from .endpoint import resolve
from .errors import InvalidArgument, NotFound, SandboxError, ServerUnavailable, TimeoutException
from .http import LineStream, Transport, WebSocket
from .model import CommandResult, Context, Denial, Entry, Execution, ExecutionError, FileEvent, Metric, ProcessInfo, Result, SandboxInfo, Snapshot



class Watch:
    """Changes beneath a directory, as they happen: iterate over it; close() ends it."""

    def __init__(self, stream: LineStream) -> None:
        self._stream = stream
        self._lines = iter(stream)
        next(self._lines, None)  # "started": from here on nothing is missed

    def __iter__(self) -> Iterator[FileEvent]:
        for line in self._lines:
            event = calls.to_file_event(line)
            if event is not None:
                yield event

    def close(self) -> None:
        self._stream.close()

    def __enter__(self) -> "Watch":
        return self

    def __exit__(self, *_: Any) -> None:
        self.close()


class Files:
    """The files inside. Relative paths begin at the user's home."""

    def __init__(self, transport: Transport, id: str) -> None:
        self._transport, self._id = transport, id

    def read(self, path: str, *, user: Optional[str] = None) -> str:
        return self.read_bytes(path, user=user).decode("utf-8")

    def read_bytes(self, path: str, *, user: Optional[str] = None) -> bytes:
        return self._transport.call(calls.read(self._id, path, user))

    def write(self, path: str, data: Union[str, bytes, IO[bytes], Iterable[bytes]], *, user: Optional[str] = None, mode: Optional[int] = None) -> Entry:
        """Makes or replaces a file, with the directories above it. A file object or an iterator is sent piece by piece."""
        if hasattr(data, "read"):
            data = iter(lambda: data.read(256 << 10), b"")  # type: ignore[union-attr]
        return self._transport.call(calls.write(self._id, path, data, user, mode))  # type: ignore[arg-type]

    def list(self, path: str = ".", *, depth: int = 1, user: Optional[str] = None) -> List[Entry]:
        return self._transport.call(calls.list_files(self._id, path, depth, user))

    def stat(self, path: str, *, user: Optional[str] = None) -> Entry:
        return self._transport.call(calls.stat(self._id, path, user))

    def exists(self, path: str, *, user: Optional[str] = None) -> bool:
        try:
            self.stat(path, user=user)
            return True
        except NotFound:
            self._transport.call(calls.info(self._id))  # it is the file that is not there, not the sandbox
            return False

    def make_dir(self, path: str, *, user: Optional[str] = None) -> None:
        self._transport.call(calls.make_dir(self._id, path, user))

    def rename(self, source: str, destination: str, *, user: Optional[str] = None) -> Entry:
        return self._transport.call(calls.rename(self._id, source, destination, user))

    def remove(self, path: str, *, user: Optional[str] = None) -> None:
        """A file, or a directory with all that is in it."""
        self._transport.call(calls.remove(self._id, path, user))

    def watch(self, path: str, *, recursive: bool = False, user: Optional[str] = None) -> Watch:
        return Watch(self._transport.lines(calls.watch_path(self._id, path, recursive, user)))

    def upload_dir(self, local: str, path: str, *, user: Optional[str] = None) -> None:
        """What is in a directory here into one inside."""
        self._transport.call(calls.upload_tar(self._id, path, archive.pack(local), user))

    def download_dir(self, path: str, local: str, *, user: Optional[str] = None) -> int:
        """What is in a directory inside into one here; the number of files. Nothing is written outside of it."""
        with tempfile.TemporaryFile() as file:
            self._transport.call(calls.download_tar(self._id, path, user, file.write))
            file.seek(0)
            return archive.unpack(file, local)


class Process:
    """A command that runs on. Its output is collected, and given to the callbacks from a thread of its own."""

    def __init__(self, transport: Transport, id: str, socket: WebSocket, collector: calls.CommandCollector) -> None:
        self._transport, self._id, self._socket, self._collector = transport, id, socket, collector
        self._started, self._ended = threading.Event(), threading.Event()
        self._error: Optional[BaseException] = None
        self._thread = threading.Thread(target=self._read, name="paddock-process", daemon=True)
        self._thread.start()
        self._started.wait()
        if self._error is not None:
            raise self._error

    def _read(self) -> None:
        streams = {1: "stdout", 2: "stderr", 3: "stdout"}
        try:
            for op, payload in self._socket.messages():
                if op == websocket.TEXT:
                    event = json.loads(payload)
                    self._collector.take(event)
                    if event.get("type") == "start":
                        self._started.set()
                    if event.get("type") == "end":
                        break
                elif payload:
                    self._collector.take_output(streams.get(payload[0], "stdout"), payload[1:])
        except BaseException as error:  # also what a callback raises: wait() tells
            self._error = error
        finally:
            if self._error is None and self._collector.pid is None:
                self._error = ServerUnavailable("the connection to the server ended before the command began", "unavailable")
            self._socket.close()
            self._started.set()
            self._ended.set()

    @property
    def pid(self) -> int:
        assert self._collector.pid is not None
        return self._collector.pid

    def poll(self) -> Optional[CommandResult]:
        """The result when it has ended, else None."""
        return self.wait() if self._ended.is_set() else None

    def wait(self, timeout: Optional[float] = None) -> CommandResult:
        if not self._ended.wait(timeout):
            raise TimeoutException(f"the command is still running after {timeout} seconds", "deadline_exceeded")
        if self._error is not None:
            raise self._error
        return self._collector.result()

    def send_stdin(self, data: Union[str, bytes]) -> None:
        payload = data.encode() if isinstance(data, str) else data
        for start in range(0, len(payload), 64 << 10):
            self._socket.send(websocket.BINARY, b"\0" + payload[start:start + (64 << 10)])

    def close_stdin(self) -> None:
        self._socket.send(websocket.TEXT, b'{"type":"close_stdin"}')

    def signal(self, name: str) -> None:
        """"SIGINT", "SIGTERM", …"""
        self._transport.call(calls.signal(self._id, self.pid, name))

    def kill(self) -> None:
        try:
            self.signal("SIGKILL")
        except NotFound:
            pass  # it ended meanwhile


def create_call(template: str, name: str, timeout: Optional[float], idle_timeout: Optional[float], on_timeout: str, auto_resume: bool, env: Optional[Mapping[str, str]],
                secrets: Optional[Mapping[str, str]], metadata: Optional[Mapping[str, str]], volumes: Optional[Volumes], policy: Optional[Policy],
                allow_net: Optional[Sequence[str]], limits: Mapping[str, Any]) -> "calls.Call[SandboxInfo]":
    if on_timeout not in ("kill", "pause"):
        raise InvalidArgument(f"on_timeout is 'kill' or 'pause', not {on_timeout!r}", "invalid")
    return calls.create(template=template, name=name, timeout=timeout, idle_timeout=idle_timeout, on_timeout=on_timeout, auto_resume=auto_resume, env=env,
                        secrets=secrets, metadata=metadata, volumes=volumes, policy=policy, allow_net=allow_net, limits=limits)


class Sandbox:
    """A living sandbox. Made when this is; killed at the end of a `with`, by kill(), or when its time is over.

    Sizes are "256M" or bytes, times are seconds (of limits: "30s" or milliseconds). What is not named is closed: no network but
    `allow_net`, nothing of this machine but the template's files. `secrets` are variables as `env`, never shown, and taken out of
    all that comes back of the sandbox.
    """

    def __init__(self, template: str = "code-interpreter-v1", *, name: str = "", timeout: Optional[float] = 300, idle_timeout: Optional[float] = None,
                 on_timeout: str = "kill", auto_resume: bool = False, memory: Union[None, str, int] = None, cpu: Optional[float] = None,
                 pids: Optional[int] = None, disk: Union[None, str, int] = None, limits: Optional[Mapping[str, Any]] = None,
                 allow_net: Optional[Sequence[str]] = None, env: Optional[Mapping[str, str]] = None, secrets: Optional[Mapping[str, str]] = None,
                 metadata: Optional[Mapping[str, str]] = None, volumes: Optional[Volumes] = None, policy: Optional[Policy] = None,
                 url: Optional[str] = None, api_key: Optional[str] = None) -> None:
        given = {**(limits or {}), **{key: value for key, value in (("memory", memory), ("cpu", cpu), ("pids", pids), ("disk", disk)) if value is not None}}
        call = create_call(template, name, timeout, idle_timeout, on_timeout, auto_resume, env, secrets, metadata, volumes, policy, allow_net, given)
        self._attach(Transport(resolve(url, api_key)), "")
        self._attach(self._transport, self._transport.call(call).id)

    def _attach(self, transport: Transport, id: str) -> None:
        self._transport, self.id = transport, id
        self.files = Files(transport, id)

    @classmethod
    def _existing(cls, transport: Transport, id: str) -> "Sandbox":
        sandbox = cls.__new__(cls)
        sandbox._attach(transport, id)
        return sandbox

    @classmethod
    def connect(cls, id: str, *, timeout: Optional[float] = None, url: Optional[str] = None, api_key: Optional[str] = None) -> "Sandbox":
        """To one that lives, by id or name. A paused one goes on."""
        transport = Transport(resolve(url, api_key))
        info = transport.call(calls.info(id))
        sandbox = cls._existing(transport, info.id)
        if info.state == "paused" or timeout is not None:
            sandbox.resume(timeout)
        return sandbox

    @staticmethod
    def list(*, states: Optional[Sequence[str]] = None, metadata: Optional[Mapping[str, str]] = None, url: Optional[str] = None,
             api_key: Optional[str] = None) -> List[SandboxInfo]:
        transport = Transport(resolve(url, api_key))
        found: List[SandboxInfo] = []
        token = ""
        while True:
            page, token = transport.call(calls.list_page(states, metadata, token))
            found += page
            if not token:
                transport.close()
                return found

    def __enter__(self) -> "Sandbox":
        return self

    def __exit__(self, kind: Optional[Type[BaseException]], error: Optional[BaseException], trace: Optional[TracebackType]) -> None:
        self.kill()

    def __repr__(self) -> str:
        return f"Sandbox({self.id!r})"

    # -- code and commands -------------------------------------------------------------------------------------------

    def run_code(self, code: str, *, language: Optional[str] = None, context: Union[None, str, Context] = None, on_stdout: Output = None, on_stderr: Output = None,
                 on_result: Optional[Callable[[Result], Any]] = None, on_error: Optional[Callable[[ExecutionError], Any]] = None, env: Optional[Mapping[str, str]] = None,
                 timeout: Optional[float] = None) -> Execution:
        """Runs code in an interpreter that remembers: variables and imports are there in the next call. How it failed is in the
        result's `error`, also when it was interrupted after `timeout` seconds ("TimeoutException"); check() raises then."""
        collector = calls.ExecutionCollector(on_stdout, on_stderr, on_result, on_error)
        try:
            return self._transport.call(calls.run_code(self.id, code, language, context, env, timeout, collector))
        except TimeoutException:
            collector.timed_out(timeout)
            return collector.execution

    def create_context(self, language: Optional[str] = None, cwd: Optional[str] = None) -> Context:
        """Another interpreter, with variables of its own."""
        return self._transport.call(calls.create_context(self.id, language, cwd))

    def contexts(self) -> List[Context]:
        return self._transport.call(calls.list_contexts(self.id))

    def restart_context(self, context: Union[str, Context]) -> None:
        self._transport.call(calls.restart_context(self.id, context))

    def remove_context(self, context: Union[str, Context]) -> None:
        self._transport.call(calls.remove_context(self.id, context))

    @overload
    def run(self, command: Union[str, Sequence[str]], *, cwd: Optional[str] = ..., user: Optional[str] = ..., env: Optional[Mapping[str, str]] = ...,
            timeout: Optional[float] = ..., stdin: Union[None, str, bytes] = ..., on_stdout: Output = ..., on_stderr: Output = ...,
            background: Literal[False] = ...) -> CommandResult: ...

    @overload
    def run(self, command: Union[str, Sequence[str]], *, cwd: Optional[str] = ..., user: Optional[str] = ..., env: Optional[Mapping[str, str]] = ...,
            timeout: Optional[float] = ..., stdin: Union[None, str, bytes] = ..., on_stdout: Output = ..., on_stderr: Output = ...,
            background: Literal[True]) -> Process: ...

    def run(self, command: Union[str, Sequence[str]], *, cwd: Optional[str] = None, user: Optional[str] = None, env: Optional[Mapping[str, str]] = None,
            timeout: Optional[float] = None, stdin: Union[None, str, bytes] = None, on_stdout: Output = None, on_stderr: Output = None,
            background: bool = False) -> Union[CommandResult, Process]:
        """Runs a command: a string in a shell, a list as it is. How it ended is in the result's `outcome`; check() raises unless it
        was 0. With background=True it runs on, and a Process comes back at once."""
        request = calls.exec_request(command, cwd=cwd, user=user, env=env, timeout=timeout)
        collector = calls.CommandCollector(on_stdout, on_stderr)
        if not background and (stdin is None or isinstance(stdin, str)):
            return self._transport.call(calls.run(self.id, request, stdin, collector))
        socket = self._transport.websocket(calls.sandbox_path(self.id, "/exec/ws"))
        socket.send(websocket.TEXT, json.dumps({**request, "stdin": True, "background": background}).encode())
        process = Process(self._transport, self.id, socket, collector)
        if stdin is not None:
            process.send_stdin(stdin)
        if background:
            return process
        process.close_stdin()
        return process.wait()

    def processes(self) -> List[ProcessInfo]:
        return self._transport.call(calls.processes(self.id))

    # -- its life ----------------------------------------------------------------------------------------------------

    def info(self) -> SandboxInfo:
        return self._transport.call(calls.info(self.id))

    def is_running(self) -> bool:
        try:
            return self.info().state == "running"
        except NotFound:
            return False

    def pause(self, *, memory: bool = True) -> None:
        """Stops every process where it is. memory=False keeps the files alone."""
        self._transport.call(calls.pause(self.id, memory))

    def resume(self, timeout: Optional[float] = None) -> None:
        self._transport.call(calls.resume(self.id, timeout))

    def set_timeout(self, timeout: float) -> None:
        """Lives so many seconds from now on; more or less than before."""
        self._transport.call(calls.set_timeout(self.id, timeout))

    def snapshot(self, name: Optional[str] = None) -> Snapshot:
        """Its files as a template: Sandbox(template=snapshot.id)."""
        return self._transport.call(calls.snapshot(self.id, name))

    def fork(self, count: int = 1, *, timeout: Optional[float] = None) -> List["Sandbox"]:
        """New sandboxes that begin with the files of this one as they are now."""
        return [Sandbox._existing(self._transport, info.id) for info in self._transport.call(calls.fork(self.id, count, timeout))]

    def kill(self) -> bool:
        """False when it was gone already."""
        try:
            self._transport.call(calls.kill(self.id))
            return True
        except NotFound:
            return False
        finally:
            self._transport.close()

    def metrics(self) -> List[Metric]:
        return self._transport.call(calls.metrics(self.id))

    def logs(self) -> List[Dict[str, Any]]:
        return self._transport.call(calls.logs(self.id))

    def network_log(self) -> List[Dict[str, Any]]:
        """Every request to the network, with the verdict on it."""
        return calls.network_entries(self.logs())

    def denials(self) -> List[Denial]:
        """What the policy refused so far, with the rule and the reason."""
        return calls.denials_of(self.logs())

    def enforced(self) -> Dict[str, Any]:
        """What holds each limit and wall of this sandbox."""
        return self._transport.call(calls.enforced(self.id))


__all__ = ["Files", "Process", "Sandbox", "SandboxError", "Watch"]
