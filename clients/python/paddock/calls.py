"""Every request as a value, and what its answer means: shared by the sync and the async client. No I/O here."""
from __future__ import annotations

import base64
import json
import warnings
from dataclasses import dataclass, fields
from typing import Any, Callable, Dict, Generic, Iterable, List, Mapping, Optional, Sequence, Tuple, Type, TypeVar, Union
from urllib.parse import quote

from .errors import InvalidArgument, SandboxError, error_for
from .model import (CommandResult, Context, Denial, Entry, Execution, ExecutionError, FileEvent, Metric, Outcome, ProcessInfo, Result, SandboxInfo,
                    Snapshot, Volume)

T = TypeVar("T")
Json = Dict[str, Any]
Policy = Union[str, Mapping[str, Any], Sequence[Union[str, Mapping[str, Any]]]]
Volumes = Union[Mapping[str, str], Sequence[Mapping[str, Any]]]
Output = Optional[Callable[[str], Any]]
UNSET: Any = object()


@dataclass
class Call(Generic[T]):
    """A request. `parse` makes the value out of the whole body; when lines or pieces are taken as they come, that is empty."""
    method: str
    path: str
    parse: Callable[[bytes], T]
    body: Optional[bytes] = None
    pieces: Optional[Iterable[bytes]] = None            # a body of unknown length
    content_type: str = "application/json"
    on_line: Optional[Callable[[Json], Any]] = None     # each line of NDJSON; may be awaitable in the async client
    on_piece: Optional[Callable[[bytes], Any]] = None
    timeout: Optional[float] = None                     # for the whole of it


def _call(method: str, path: str, parse: Callable[[bytes], T], body: Optional[Mapping[str, Any]] = None, **options: Any) -> Call[T]:
    return Call(method, path, parse, None if body is None else json.dumps(body).encode(), **options)


def sandbox_path(id: str, rest: str = "", **query: Any) -> str:
    pairs = "&".join(f"{name}={quote(str(value), safe='')}" for name, value in query.items() if value is not None)
    return f"/v1/sandboxes/{quote(id, safe='')}{rest}" + (f"?{pairs}" if pairs else "")


def refusal(status: int, body: bytes) -> SandboxError:
    """The exception for an answer that is no success."""
    try:
        said = json.loads(body)
        inner = said["error"] if isinstance(said.get("error"), dict) else said
        code = said["error"] if isinstance(said.get("error"), str) else inner.get("code", "")
        hint = inner.get("hint", "") or ("set PADDOCK_API_KEY; make one with: paddock key create" if status == 401 else "")
        return error_for(str(inner.get("message") or f"the server answered {status}"), code if isinstance(code, str) else "", hint, status)
    except (ValueError, AttributeError, KeyError):
        return error_for(f"the server answered {status}: {body[:300].decode('utf-8', 'replace')}", status=status)


# ---- from JSON to values -------------------------------------------------------------------------------------------

def _pick(kind: Type[T], source: Mapping[str, Any]) -> T:
    names = {field.name for field in fields(kind)}  # type: ignore[arg-type]
    return kind(**{name: value for name, value in source.items() if name in names and value is not None})


def _object(body: bytes) -> Json:
    value = json.loads(body) if body else {}
    if not isinstance(value, dict):
        raise SandboxError("the server's answer is no object")
    return value


def _nothing(_: bytes) -> None:
    return None


def to_entry(value: Mapping[str, Any]) -> Entry:
    return _pick(Entry, value)


def to_info(value: Mapping[str, Any]) -> SandboxInfo:
    return _pick(SandboxInfo, {**value, "raw": dict(value)})


def to_outcome(value: Mapping[str, Any]) -> Outcome:
    signal = value.get("signal")
    return _pick(Outcome, {**value, "signal": str(signal) if signal is not None else None})


def _info(body: bytes) -> SandboxInfo:
    return to_info(_object(body))


def _entry(body: bytes) -> Entry:
    value = _object(body)
    return to_entry(value.get("entry", value))


# ---- sandboxes -----------------------------------------------------------------------------------------------------

def _volumes(volumes: Optional[Volumes]) -> List[Json]:
    if not volumes:
        return []
    if not isinstance(volumes, Mapping):
        return [dict(volume) for volume in volumes]
    listed = []
    for name, path in volumes.items():
        place, _, mode = path.partition(":")
        if mode not in ("", "ro", "rw") or not place.startswith("/"):
            raise InvalidArgument(f"volume {name!r}: '/path', '/path:ro' or '/path:rw', not {path!r}", "invalid")
        listed.append({"name": name, "path": place, "read_only": mode == "ro"})
    return listed


def milliseconds(seconds: float) -> int:
    if seconds < 0:
        raise InvalidArgument(f"a time of {seconds} seconds", "invalid")
    return int(seconds * 1000)


def create(*, template: str, name: str, timeout: Optional[float], idle_timeout: Optional[float], on_timeout: str, auto_resume: bool, env: Optional[Mapping[str, str]],
           secrets: Optional[Mapping[str, str]], metadata: Optional[Mapping[str, str]], volumes: Optional[Volumes], policy: Optional[Policy],
           allow_net: Optional[Sequence[str]], limits: Mapping[str, Any]) -> Call[SandboxInfo]:
    body: Json = {"template": template, "env": dict(env or {}), "metadata": dict(metadata or {}), "volumes": _volumes(volumes), "on_timeout": on_timeout}
    if secrets:
        body["secrets"] = dict(secrets)
    if name:
        body["name"] = name
    if timeout is not None:
        body["timeout_ms"] = milliseconds(timeout)
    if idle_timeout is not None:
        body["idle_timeout_ms"] = milliseconds(idle_timeout)
    if auto_resume:
        body["auto_resume"] = True
    if policy is not None:
        body["policy"] = policy if isinstance(policy, str) else dict(policy) if isinstance(policy, Mapping) else list(policy)
    if allow_net is not None:
        body["allow_net"] = [allow_net] if isinstance(allow_net, str) else list(allow_net)
    given = {key: value for key, value in limits.items() if value is not None}
    if given:
        body["limits"] = given
    return _call("POST", "/v1/sandboxes", _made, body)


def _made(body: bytes) -> SandboxInfo:
    """A new sandbox. What the server has to say about it (a shorter life than was asked for, a variable that seems to be a secret) is a warning."""
    for note in _object(body).get("notes") or []:
        warnings.warn(str(note), UserWarning, stacklevel=2)
    return _info(body)


def info(id: str) -> Call[SandboxInfo]:
    return _call("GET", sandbox_path(id), _info)


def list_page(states: Optional[Sequence[str]], metadata: Optional[Mapping[str, str]], token: str) -> Call[Tuple[List[SandboxInfo], str]]:
    query = {f"metadata.{key}": value for key, value in (metadata or {}).items()}
    if states:
        query["state"] = ",".join(states)
    if token:
        query["token"] = token
    pairs = "&".join(f"{quote(name, safe='')}={quote(str(value), safe='')}" for name, value in query.items())

    def parse(body: bytes) -> Tuple[List[SandboxInfo], str]:
        page = _object(body)
        return [to_info(each) for each in page.get("sandboxes", [])], page.get("next") or ""
    return _call("GET", "/v1/sandboxes" + (f"?{pairs}" if pairs else ""), parse)


def kill(id: str) -> Call[None]:
    return _call("DELETE", sandbox_path(id), _nothing)


def pause(id: str, memory: bool) -> Call[None]:
    return _call("POST", sandbox_path(id, "/pause"), _nothing, {"memory": memory})


def resume(id: str, timeout: Optional[float]) -> Call[None]:
    return _call("POST", sandbox_path(id, "/resume"), _nothing, {} if timeout is None else {"timeout_ms": milliseconds(timeout)})


def set_timeout(id: str, timeout: float) -> Call[None]:
    return _call("POST", sandbox_path(id, "/timeout"), _nothing, {"timeout_ms": milliseconds(timeout)})


def snapshot(id: str, name: Optional[str]) -> Call[Snapshot]:
    return _call("POST", sandbox_path(id, "/snapshots"), lambda body: _pick(Snapshot, _object(body)), {"name": name} if name else {})


def fork(id: str, count: int, timeout: Optional[float]) -> Call[List[SandboxInfo]]:
    body: Json = {"count": count}
    if timeout is not None:
        body["timeout_ms"] = milliseconds(timeout)

    def parse(answer: bytes) -> List[SandboxInfo]:
        made = []
        for each in _object(answer).get("sandboxes", []):
            if "sandbox" not in each:
                error = each.get("error", {})
                raise error_for(str(error.get("message", "the fork failed")), str(error.get("error", "")))
            made.append(to_info(each["sandbox"]))
        return made
    return _call("POST", sandbox_path(id, "/fork"), parse, body)


def metrics(id: str) -> Call[List[Metric]]:
    return _call("GET", sandbox_path(id, "/metrics"), lambda body: [_pick(Metric, each) for each in _object(body).get("metrics", [])])


def logs(id: str) -> Call[List[Json]]:
    return _call("GET", sandbox_path(id, "/logs"), lambda body: [json.loads(line) for line in body.splitlines() if line.strip()])


def network_entries(lines: List[Json]) -> List[Json]:
    return [line for line in lines if line.get("kind") == "connection"]


def denials_of(lines: List[Json]) -> List[Denial]:
    """The requests that the network policy refused, out of a sandbox's log."""
    found = []
    for entry in network_entries(lines):
        if entry.get("verdict") != "deny":
            continue
        protocol, name, port = str(entry.get("protocol", "")), entry.get("name") or entry.get("address") or "", entry.get("port")
        action = f"resolve {name}" if protocol == "dns" else f"connect {name}{f':{port}' if port else ''}"
        found.append(Denial("network", action, str(entry.get("rule", "")), str(entry.get("why", ""))))
    return found


def enforced(id: str) -> Call[Json]:
    return _call("GET", sandbox_path(id, "/enforced"), _object)


# ---- commands ------------------------------------------------------------------------------------------------------

def bytes_of(event: Mapping[str, Any]) -> bytes:
    if "base64" in event:
        return base64.b64decode(event["base64"])
    return str(event.get("data", "")).encode("utf-8", "surrogatepass")


def exec_request(command: Union[str, Sequence[str]], *, cwd: Optional[str], user: Optional[str], env: Optional[Mapping[str, str]], timeout: Optional[float]) -> Json:
    request: Json = {"command": command} if isinstance(command, str) else {"argv": [str(word) for word in command]}
    if cwd is not None:
        request["cwd"] = cwd
    if user is not None:
        request["user"] = user
    if env:
        request["env"] = dict(env)
    if timeout is not None:
        request["timeout_ms"] = milliseconds(timeout)
    return request


class CommandCollector:
    """Takes the events of a command as they come; `result()` at its end."""

    def __init__(self, on_stdout: Output, on_stderr: Output) -> None:
        self._callbacks = {"stdout": on_stdout, "stderr": on_stderr}
        self._bytes = {"stdout": bytearray(), "stderr": bytearray()}
        self._decoders = {name: _decoder() for name in self._bytes}
        self.pid: Optional[int] = None
        self._end: Optional[Json] = None

    def take(self, event: Json) -> Any:
        kind = event.get("type")
        if kind in ("stdout", "stderr"):
            return self.take_output(kind, bytes_of(event))
        if kind == "start":
            self.pid = event.get("pid")
        elif kind == "end":
            self._end = event
        elif kind == "error" and event.get("fatal") is not False:
            error = event.get("error") or {}
            raise error_for(str(error.get("message", "the command failed")), str(error.get("code", "")), str(error.get("hint", "")))
        return None

    def take_output(self, stream: str, data: bytes) -> Any:
        self._bytes[stream] += data
        callback = self._callbacks[stream]
        text = self._decoders[stream].decode(data) if callback else ""
        return callback(text) if callback and text else None

    def result(self) -> CommandResult:
        if self._end is None:
            raise error_for("the connection to the server ended before the command did", "unavailable")
        denials = [_pick(Denial, each) for each in self._end.get("denials") or []]
        return CommandResult(to_outcome(self._end.get("outcome") or {}), bytes(self._bytes["stdout"]), bytes(self._bytes["stderr"]), denials, self.pid,
                             int(self._end.get("redactions") or 0), dict(self._end.get("redacted") or {}))


def _decoder() -> Any:
    import codecs
    return codecs.getincrementaldecoder("utf-8")("replace")


def run(id: str, request: Json, stdin: Optional[Union[str, bytes]], collector: CommandCollector) -> Call[CommandResult]:
    if stdin is not None:
        text = stdin if isinstance(stdin, str) else stdin.decode("utf-8", "strict")
        request = {**request, "stdin": text}
    return _call("POST", sandbox_path(id, "/exec"), lambda _: collector.result(), request, on_line=collector.take)


def processes(id: str) -> Call[List[ProcessInfo]]:
    return _call("GET", sandbox_path(id, "/processes"), lambda body: [_pick(ProcessInfo, each) for each in _object(body).get("processes", [])])


def signal(id: str, pid: int, name: str) -> Call[None]:
    return _call("POST", sandbox_path(id, f"/processes/{int(pid)}/signal"), _nothing, {"signal": name})


# ---- code ----------------------------------------------------------------------------------------------------------

class ExecutionCollector:
    def __init__(self, on_stdout: Output, on_stderr: Output, on_result: Optional[Callable[[Result], Any]], on_error: Optional[Callable[[ExecutionError], Any]]) -> None:
        self.execution = Execution()
        self._ended = False
        self._on_stdout, self._on_stderr, self._on_result, self._on_error = on_stdout, on_stderr, on_result, on_error

    def take(self, event: Json) -> Any:
        kind = event.get("type")
        if kind in ("stdout", "stderr"):
            text = str(event.get("text", ""))
            getattr(self.execution.logs, kind).append(text)
            callback = self._on_stdout if kind == "stdout" else self._on_stderr
            return callback(text) if callback else None
        if kind == "result":
            result = _pick(Result, event)
            self.execution.results.append(result)
            return self._on_result(result) if self._on_result else None
        if kind == "error":
            error = ExecutionError(str(event.get("name", "")), str(event.get("value", "")), str(event.get("traceback", "")))
            self.execution.error = error
            return self._on_error(error) if self._on_error else None
        if kind == "number_of_executions":
            self.execution.execution_count = event.get("execution_count")
        elif kind == "end_of_execution":
            self._ended = True
        return None

    def result(self) -> Execution:
        if not self._ended:
            raise error_for("the connection to the server ended before the code did", "unavailable")
        return self.execution

    def timed_out(self, timeout: Optional[float]) -> Any:
        """The deadline passed, and the server interrupts the cell when the connection is closed: an outcome, as for a command."""
        text = f"the code was still running after {timeout} seconds, and was interrupted"
        return self.take({"type": "error", "name": "TimeoutException", "value": text, "traceback": text})


def run_code(id: str, code: str, language: Optional[str], context: Union[None, str, Context], env: Optional[Mapping[str, str]], timeout: Optional[float],
             collector: ExecutionCollector) -> Call[Execution]:
    body: Json = {"code": code}
    if language is not None:
        body["language"] = language
    if context is not None:
        body["context"] = context.id if isinstance(context, Context) else context
    if env:
        body["env"] = dict(env)
    return _call("POST", sandbox_path(id, "/code"), lambda _: collector.result(), body, on_line=collector.take, timeout=timeout)


def create_context(id: str, language: Optional[str], cwd: Optional[str]) -> Call[Context]:
    body = {key: value for key, value in (("language", language), ("cwd", cwd)) if value is not None}
    return _call("POST", sandbox_path(id, "/contexts"), lambda answer: _pick(Context, _object(answer)), body)


def list_contexts(id: str) -> Call[List[Context]]:
    def parse(body: bytes) -> List[Context]:
        value = json.loads(body)
        return [_pick(Context, each) for each in (value if isinstance(value, list) else value.get("contexts", []))]
    return _call("GET", sandbox_path(id, "/contexts"), parse)


def remove_context(id: str, context: Union[str, Context]) -> Call[None]:
    name = context.id if isinstance(context, Context) else context
    return _call("DELETE", sandbox_path(id, f"/contexts/{quote(name, safe='')}"), _nothing)


def restart_context(id: str, context: Union[str, Context]) -> Call[None]:
    name = context.id if isinstance(context, Context) else context
    return _call("POST", sandbox_path(id, f"/contexts/{quote(name, safe='')}/restart"), _nothing, {})


# ---- files ---------------------------------------------------------------------------------------------------------

def read(id: str, path: str, user: Optional[str], on_piece: Optional[Callable[[bytes], Any]] = None) -> Call[bytes]:
    return _call("GET", sandbox_path(id, "/files", path=path, user=user), bytes, on_piece=on_piece)


def write(id: str, path: str, data: Union[str, bytes, Iterable[bytes]], user: Optional[str], mode: Optional[int]) -> Call[Entry]:
    target = sandbox_path(id, "/files", path=path, user=user, mode=None if mode is None else f"{mode:o}")
    body = data.encode() if isinstance(data, str) else bytes(data) if isinstance(data, (bytes, bytearray, memoryview)) else None
    pieces = None if body is not None else data
    return Call("PUT", target, _entry, body, pieces, "application/octet-stream")  # type: ignore[arg-type]


def stat(id: str, path: str, user: Optional[str]) -> Call[Entry]:
    return _call("GET", sandbox_path(id, "/files/stat", path=path, user=user), _entry)


def list_files(id: str, path: str, depth: int, user: Optional[str]) -> Call[List[Entry]]:
    return _call("GET", sandbox_path(id, "/files/list", path=path, depth=depth, user=user), lambda body: [to_entry(each) for each in _object(body).get("entries", [])])


def make_dir(id: str, path: str, user: Optional[str]) -> Call[None]:
    return _call("POST", sandbox_path(id, "/files/mkdir"), _nothing, {"path": path, **({"user": user} if user else {})})


def rename(id: str, source: str, destination: str, user: Optional[str]) -> Call[Entry]:
    return _call("POST", sandbox_path(id, "/files/move"), _entry, {"source": source, "destination": destination, **({"user": user} if user else {})})


def remove(id: str, path: str, user: Optional[str]) -> Call[None]:
    return _call("DELETE", sandbox_path(id, "/files", path=path, user=user), _nothing)


def watch_path(id: str, path: str, recursive: bool, user: Optional[str]) -> str:
    return sandbox_path(id, "/files/watch", path=path, recursive=int(recursive), user=user)


def to_file_event(line: Mapping[str, Any]) -> Optional[FileEvent]:
    """None for a line that is no event ("started", "keepalive")."""
    if "name" not in line:
        if line.get("type") == "error":
            error = line.get("error") or {}
            raise error_for(str(error.get("message", "the watch ended")), str(error.get("code", "")))
        return None
    entry = line.get("entry")
    return FileEvent(str(line.get("type", "")), str(line["name"]), to_entry(entry) if isinstance(entry, dict) else None)


def upload_tar(id: str, path: str, pieces: Iterable[bytes], user: Optional[str]) -> Call[None]:
    return Call("PUT", sandbox_path(id, "/tar", path=path, user=user), _nothing, pieces=pieces, content_type="application/x-tar")


def download_tar(id: str, path: str, user: Optional[str], on_piece: Callable[[bytes], Any]) -> Call[bytes]:
    return _call("GET", sandbox_path(id, "/tar", path=path, user=user), bytes, on_piece=on_piece)


# ---- volumes -------------------------------------------------------------------------------------------------------

def create_volume(name: str, quota_bytes: Optional[int]) -> Call[Volume]:
    return _call("POST", "/v1/volumes", lambda body: _pick(Volume, _object(body)), {"name": name, **({"quota_bytes": quota_bytes} if quota_bytes else {})})


def list_volumes() -> Call[List[Volume]]:
    return _call("GET", "/v1/volumes", lambda body: [_pick(Volume, each) for each in _object(body).get("volumes", [])])


def remove_volume(name: str) -> Call[None]:
    return _call("DELETE", f"/v1/volumes/{quote(name, safe='')}", _nothing)
