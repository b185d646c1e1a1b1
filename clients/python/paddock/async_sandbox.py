"""The same as sandbox.py, awaited. Callbacks may be plain functions or coroutines.

    async with AsyncSandbox(memory="256M") as sandbox:
        print((await sandbox.run_code("1 + 1")).text)
"""
from __future__ import annotations

import asyncio
import inspect
import json
import tempfile
from typing import Any, AsyncIterator, Callable, Dict, Generator, Iterable, List, Literal, Mapping, Optional, Sequence, Union, overload

from . import archive, calls, websocket
from .async_http import AsyncLineStream, AsyncTransport, AsyncWebSocket
from .calls import Output, Policy, Volumes
from .endpoint import resolve
from .errors import NotFound, ServerUnavailable, TimeoutException
from .model import CommandResult, Context, Denial, Entry, Execution, ExecutionError, FileEvent, Metric, ProcessInfo, Result, SandboxInfo, Snapshot
from .sandbox import create_call


class AsyncWatch:
    def __init__(self, stream: AsyncLineStream) -> None:
        self._stream = stream
        self._lines = stream.__aiter__()

    async def _begin(self) -> "AsyncWatch":
        async for _ in self._lines:
            break  # "started"
        return self

    async def __aiter__(self) -> AsyncIterator[FileEvent]:
        async for line in self._lines:
            event = calls.to_file_event(line)
            if event is not None:
                yield event

    def close(self) -> None:
        self._stream.close()

    async def __aenter__(self) -> "AsyncWatch":
        return self

    async def __aexit__(self, *_: Any) -> None:
        self.close()


class AsyncFiles:
    def __init__(self, transport: AsyncTransport, id: str) -> None:
        self._transport, self._id = transport, id

    async def read(self, path: str, *, user: Optional[str] = None) -> str:
        return (await self.read_bytes(path, user=user)).decode("utf-8")

    async def read_bytes(self, path: str, *, user: Optional[str] = None) -> bytes:
        return await self._transport.call(calls.read(self._id, path, user))

    async def write(self, path: str, data: Union[str, bytes, Iterable[bytes]], *, user: Optional[str] = None, mode: Optional[int] = None) -> Entry:
        return await self._transport.call(calls.write(self._id, path, data, user, mode))

    async def list(self, path: str = ".", *, depth: int = 1, user: Optional[str] = None) -> List[Entry]:
        return await self._transport.call(calls.list_files(self._id, path, depth, user))

    async def stat(self, path: str, *, user: Optional[str] = None) -> Entry:
        return await self._transport.call(calls.stat(self._id, path, user))

    async def exists(self, path: str, *, user: Optional[str] = None) -> bool:
        try:
            await self.stat(path, user=user)
            return True
        except NotFound:
            await self._transport.call(calls.info(self._id))
            return False

    async def make_dir(self, path: str, *, user: Optional[str] = None) -> None:
        await self._transport.call(calls.make_dir(self._id, path, user))

    async def rename(self, source: str, destination: str, *, user: Optional[str] = None) -> Entry:
        return await self._transport.call(calls.rename(self._id, source, destination, user))

    async def remove(self, path: str, *, user: Optional[str] = None) -> None:
        await self._transport.call(calls.remove(self._id, path, user))

    async def watch(self, path: str, *, recursive: bool = False, user: Optional[str] = None) -> AsyncWatch:
        return await AsyncWatch(await self._transport.lines(calls.watch_path(self._id, path, recursive, user)))._begin()

    async def upload_dir(self, local: str, path: str, *, user: Optional[str] = None) -> None:
        await self._transport.call(calls.upload_tar(self._id, path, archive.pack(local), user))

    async def download_dir(self, path: str, local: str, *, user: Optional[str] = None) -> int:
        with tempfile.TemporaryFile() as file:
            await self._transport.call(calls.download_tar(self._id, path, user, file.write))
            file.seek(0)
            return await asyncio.get_running_loop().run_in_executor(None, archive.unpack, file, local)


class AsyncProcess:
    def __init__(self, transport: AsyncTransport, id: str, socket: AsyncWebSocket, collector: calls.CommandCollector) -> None:
        self._transport, self._id, self._socket, self._collector = transport, id, socket, collector
        self._started: "asyncio.Event" = asyncio.Event()
        self._error: Optional[BaseException] = None
        self._task = asyncio.ensure_future(self._read())

    async def _begin(self) -> "AsyncProcess":
        await self._started.wait()
        if self._error is not None:
            raise self._error
        return self

    async def _read(self) -> None:
        streams = {1: "stdout", 2: "stderr", 3: "stdout"}
        try:
            async for op, payload in self._socket.messages():
                settled: Any = None
                if op == websocket.TEXT:
                    event = json.loads(payload)
                    settled = self._collector.take(event)
                    if event.get("type") == "start":
                        self._started.set()
                    if event.get("type") == "end":
                        break
                elif payload:
                    settled = self._collector.take_output(streams.get(payload[0], "stdout"), payload[1:])
                if inspect.isawaitable(settled):
                    await settled
        except asyncio.CancelledError:
            raise
        except BaseException as error:
            self._error = error
        finally:
            if self._error is None and self._collector.pid is None:
                self._error = ServerUnavailable("the connection to the server ended before the command began", "unavailable")
            self._socket.close()
            self._started.set()

    @property
    def pid(self) -> int:
        assert self._collector.pid is not None
        return self._collector.pid

    async def wait(self, timeout: Optional[float] = None) -> CommandResult:
        done, _ = await asyncio.wait([self._task], timeout=timeout)
        if not done:
            raise TimeoutException(f"the command is still running after {timeout} seconds", "deadline_exceeded")
        if self._error is not None:
            raise self._error
        return self._collector.result()

    async def send_stdin(self, data: Union[str, bytes]) -> None:
        payload = data.encode() if isinstance(data, str) else data
        for start in range(0, len(payload), 64 << 10):
            await self._socket.send(websocket.BINARY, b"\0" + payload[start:start + (64 << 10)])

    async def close_stdin(self) -> None:
        await self._socket.send(websocket.TEXT, b'{"type":"close_stdin"}')

    async def signal(self, name: str) -> None:
        await self._transport.call(calls.signal(self._id, self.pid, name))

    async def kill(self) -> None:
        try:
            await self.signal("SIGKILL")
        except NotFound:
            pass


class AsyncSandbox:
    """Made when it is entered or awaited: `async with AsyncSandbox() as sandbox` or `sandbox = await AsyncSandbox()`."""

    def __init__(self, template: str = "code-interpreter-v1", *, name: str = "", timeout: Optional[float] = 300, idle_timeout: Optional[float] = None,
                 on_timeout: str = "kill", auto_resume: bool = False, memory: Union[None, str, int] = None, cpu: Optional[float] = None,
                 pids: Optional[int] = None, disk: Union[None, str, int] = None, limits: Optional[Mapping[str, Any]] = None,
                 allow_net: Optional[Sequence[str]] = None, env: Optional[Mapping[str, str]] = None, secrets: Optional[Mapping[str, str]] = None,
                 metadata: Optional[Mapping[str, str]] = None, volumes: Optional[Volumes] = None, policy: Optional[Policy] = None,
                 url: Optional[str] = None, api_key: Optional[str] = None) -> None:
        given = {**(limits or {}), **{key: value for key, value in (("memory", memory), ("cpu", cpu), ("pids", pids), ("disk", disk)) if value is not None}}
        self._create = create_call(template, name, timeout, idle_timeout, on_timeout, auto_resume, env, secrets, metadata, volumes, policy, allow_net, given)
        self._where = (url, api_key)
        self.id = ""

    def _attach(self, transport: AsyncTransport, id: str) -> "AsyncSandbox":
        self._transport, self.id = transport, id
        self.files = AsyncFiles(transport, id)
        return self

    @classmethod
    def _existing(cls, transport: AsyncTransport, id: str) -> "AsyncSandbox":
        return cls.__new__(cls)._attach(transport, id)

    async def _begin(self) -> "AsyncSandbox":
        if self.id:
            return self
        # Starting a server of one's own takes a moment, and not the loop's.
        endpoint = await asyncio.get_running_loop().run_in_executor(None, resolve, *self._where)
        transport = AsyncTransport(endpoint)
        return self._attach(transport, (await transport.call(self._create)).id)

    def __await__(self) -> Generator[Any, None, "AsyncSandbox"]:
        return self._begin().__await__()

    async def __aenter__(self) -> "AsyncSandbox":
        return await self._begin()

    async def __aexit__(self, *_: Any) -> None:
        await self.kill()

    def __repr__(self) -> str:
        return f"AsyncSandbox({self.id!r})"

    @classmethod
    async def connect(cls, id: str, *, timeout: Optional[float] = None, url: Optional[str] = None, api_key: Optional[str] = None) -> "AsyncSandbox":
        transport = AsyncTransport(await asyncio.get_running_loop().run_in_executor(None, resolve, url, api_key))
        info = await transport.call(calls.info(id))
        sandbox = cls._existing(transport, info.id)
        if info.state == "paused" or timeout is not None:
            await sandbox.resume(timeout)
        return sandbox

    @staticmethod
    async def list(*, states: Optional[Sequence[str]] = None, metadata: Optional[Mapping[str, str]] = None, url: Optional[str] = None,
                   api_key: Optional[str] = None) -> List[SandboxInfo]:
        transport = AsyncTransport(await asyncio.get_running_loop().run_in_executor(None, resolve, url, api_key))
        found: List[SandboxInfo] = []
        token = ""
        while True:
            page, token = await transport.call(calls.list_page(states, metadata, token))
            found += page
            if not token:
                transport.close()
                return found

    # -- code and commands -------------------------------------------------------------------------------------------

    async def run_code(self, code: str, *, language: Optional[str] = None, context: Union[None, str, Context] = None, on_stdout: Output = None, on_stderr: Output = None,
                       on_result: Optional[Callable[[Result], Any]] = None, on_error: Optional[Callable[[ExecutionError], Any]] = None,
                       env: Optional[Mapping[str, str]] = None, timeout: Optional[float] = None) -> Execution:
        collector = calls.ExecutionCollector(on_stdout, on_stderr, on_result, on_error)
        try:
            return await self._transport.call(calls.run_code(self.id, code, language, context, env, timeout, collector))
        except TimeoutException:
            awaited = collector.timed_out(timeout)
            if inspect.isawaitable(awaited):
                await awaited
            return collector.execution

    async def create_context(self, language: Optional[str] = None, cwd: Optional[str] = None) -> Context:
        return await self._transport.call(calls.create_context(self.id, language, cwd))

    async def contexts(self) -> List[Context]:
        return await self._transport.call(calls.list_contexts(self.id))

    async def restart_context(self, context: Union[str, Context]) -> None:
        await self._transport.call(calls.restart_context(self.id, context))

    async def remove_context(self, context: Union[str, Context]) -> None:
        await self._transport.call(calls.remove_context(self.id, context))

    @overload
    async def run(self, command: Union[str, Sequence[str]], *, cwd: Optional[str] = ..., user: Optional[str] = ..., env: Optional[Mapping[str, str]] = ...,
                  timeout: Optional[float] = ..., stdin: Union[None, str, bytes] = ..., on_stdout: Output = ..., on_stderr: Output = ...,
                  background: Literal[False] = ...) -> CommandResult: ...

    @overload
    async def run(self, command: Union[str, Sequence[str]], *, cwd: Optional[str] = ..., user: Optional[str] = ..., env: Optional[Mapping[str, str]] = ...,
                  timeout: Optional[float] = ..., stdin: Union[None, str, bytes] = ..., on_stdout: Output = ..., on_stderr: Output = ...,
                  background: Literal[True]) -> AsyncProcess: ...

    async def run(self, command: Union[str, Sequence[str]], *, cwd: Optional[str] = None, user: Optional[str] = None, env: Optional[Mapping[str, str]] = None,
                  timeout: Optional[float] = None, stdin: Union[None, str, bytes] = None, on_stdout: Output = None, on_stderr: Output = None,
                  background: bool = False) -> Union[CommandResult, AsyncProcess]:
        request = calls.exec_request(command, cwd=cwd, user=user, env=env, timeout=timeout)
        collector = calls.CommandCollector(on_stdout, on_stderr)
        if not background and (stdin is None or isinstance(stdin, str)):
            return await self._transport.call(calls.run(self.id, request, stdin, collector))
        socket = await self._transport.websocket(calls.sandbox_path(self.id, "/exec/ws"))
        await socket.send(websocket.TEXT, json.dumps({**request, "stdin": True, "background": background}).encode())
        process = await AsyncProcess(self._transport, self.id, socket, collector)._begin()
        if stdin is not None:
            await process.send_stdin(stdin)
        if background:
            return process
        await process.close_stdin()
        return await process.wait()

    async def processes(self) -> List[ProcessInfo]:
        return await self._transport.call(calls.processes(self.id))

    # -- its life ----------------------------------------------------------------------------------------------------

    async def info(self) -> SandboxInfo:
        return await self._transport.call(calls.info(self.id))

    async def is_running(self) -> bool:
        try:
            return (await self.info()).state == "running"
        except NotFound:
            return False

    async def pause(self, *, memory: bool = True) -> None:
        await self._transport.call(calls.pause(self.id, memory))

    async def resume(self, timeout: Optional[float] = None) -> None:
        await self._transport.call(calls.resume(self.id, timeout))

    async def set_timeout(self, timeout: float) -> None:
        await self._transport.call(calls.set_timeout(self.id, timeout))

    async def snapshot(self, name: Optional[str] = None) -> Snapshot:
        return await self._transport.call(calls.snapshot(self.id, name))

    async def fork(self, count: int = 1, *, timeout: Optional[float] = None) -> List["AsyncSandbox"]:
        return [AsyncSandbox._existing(self._transport, info.id) for info in await self._transport.call(calls.fork(self.id, count, timeout))]

    async def kill(self) -> bool:
        try:
            await self._transport.call(calls.kill(self.id))
            return True
        except NotFound:
            return False
        finally:
            self._transport.close()

    async def metrics(self) -> List[Metric]:
        return await self._transport.call(calls.metrics(self.id))

    async def logs(self) -> List[Dict[str, Any]]:
        return await self._transport.call(calls.logs(self.id))

    async def network_log(self) -> List[Dict[str, Any]]:
        return calls.network_entries(await self.logs())

    async def denials(self) -> List[Denial]:
        return calls.denials_of(await self.logs())

    async def enforced(self) -> Dict[str, Any]:
        return await self._transport.call(calls.enforced(self.id))
