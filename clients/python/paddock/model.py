"""What comes back: values without behaviour."""
from __future__ import annotations

import base64
from dataclasses import dataclass, field
from typing import Any, Dict, List, Optional

from .errors import CodeFailed, CommandFailed, LimitExceeded, TimeoutException


@dataclass(frozen=True)
class Denial:
    """Something that the policy did not allow: which layer stopped what, by which rule, and why."""
    layer: str
    action: str
    rule: str
    why: str


@dataclass(frozen=True)
class Outcome:
    """How a program ended. kind: "exited" (with `code`), "signaled" (by `signal`) or "limit" (`limit`, its `value` and the `peak`)."""
    kind: str
    code: Optional[int] = None
    signal: Optional[str] = None
    limit: Optional[str] = None
    value: Optional[int] = None
    peak: Optional[int] = None

    def __str__(self) -> str:
        if self.kind == "exited":
            return f"exited with {self.code}"
        if self.kind == "signaled":
            return f"killed by {self.signal}"
        return f"stopped by a limit: limit={self.limit} value={self.value} peak={self.peak}"


@dataclass
class CommandResult:
    outcome: Outcome
    stdout_bytes: bytes = b""
    stderr_bytes: bytes = b""
    denials: List[Denial] = field(default_factory=list)
    pid: Optional[int] = None
    redactions: int = 0                                 # secrets that were taken out of what it printed
    redacted: Dict[str, int] = field(default_factory=dict)  # by kind

    @property
    def stdout(self) -> str:
        return self.stdout_bytes.decode("utf-8", "replace")

    @property
    def stderr(self) -> str:
        return self.stderr_bytes.decode("utf-8", "replace")

    @property
    def exit_code(self) -> Optional[int]:
        """Of a program that exited; None when a signal or a limit ended it."""
        return self.outcome.code

    @property
    def ok(self) -> bool:
        return self.outcome.kind == "exited" and self.outcome.code == 0

    def check(self) -> "CommandResult":
        """Itself when all went well; else raises LimitExceeded or CommandFailed."""
        if self.ok:
            return self
        if self.outcome.kind == "limit":
            raise LimitExceeded(str(self.outcome), "exhausted")
        raise CommandFailed(f"the command {self.outcome}: {self.stderr[-500:]}".rstrip(": "), self)


@dataclass
class Result:
    """One thing that code displayed, or the value of its last expression (`is_main_result`), in every form it has."""
    is_main_result: bool = False
    text: Optional[str] = None
    html: Optional[str] = None
    markdown: Optional[str] = None
    svg: Optional[str] = None
    png: Optional[str] = None        # base64
    jpeg: Optional[str] = None       # base64
    pdf: Optional[str] = None        # base64
    latex: Optional[str] = None
    json: Any = None
    javascript: Optional[str] = None
    data: Optional[Dict[str, Any]] = None    # a DataFrame's columns
    chart: Optional[Dict[str, Any]] = None
    extra: Optional[Dict[str, Any]] = None

    def formats(self) -> List[str]:
        return [name for name in self.__dataclass_fields__ if name != "is_main_result" and getattr(self, name) is not None]

    def png_bytes(self) -> Optional[bytes]:
        return base64.b64decode(self.png) if self.png else None


@dataclass(frozen=True)
class ExecutionError:
    """An exception in the code, as its language tells it."""
    name: str
    value: str
    traceback: str


@dataclass
class Logs:
    stdout: List[str] = field(default_factory=list)
    stderr: List[str] = field(default_factory=list)


@dataclass
class Execution:
    results: List[Result] = field(default_factory=list)
    logs: Logs = field(default_factory=Logs)
    error: Optional[ExecutionError] = None
    execution_count: Optional[int] = None

    @property
    def text(self) -> Optional[str]:
        """The value of the last expression, as text."""
        for result in self.results:
            if result.is_main_result:
                return result.text
        return None

    @property
    def stdout(self) -> str:
        return "".join(self.logs.stdout)

    @property
    def stderr(self) -> str:
        return "".join(self.logs.stderr)

    def check(self) -> "Execution":
        """Itself when all went well; else raises CodeFailed, or TimeoutException."""
        if self.error is None:
            return self
        if self.error.name == "TimeoutException":
            raise TimeoutException(self.error.value, "deadline_exceeded")
        raise CodeFailed(f"{self.error.name}: {self.error.value}", self)


@dataclass(frozen=True)
class Context:
    """One interpreter with its own variables."""
    id: str
    language: str
    cwd: str


@dataclass(frozen=True)
class Entry:
    """A file, a directory or a link inside."""
    name: str
    path: str
    type: str            # "file", "directory", "symlink", "other"
    size: int = 0
    mode: int = 0
    permissions: str = ""
    owner: str = ""
    group: str = ""
    modified_ns: int = 0
    target: Optional[str] = None

    @property
    def is_dir(self) -> bool:
        return self.type == "directory"


@dataclass(frozen=True)
class FileEvent:
    """A change beneath a watched directory. type: create, write, remove, rename, chmod."""
    type: str
    name: str
    entry: Optional[Entry] = None


@dataclass(frozen=True)
class SandboxInfo:
    id: str
    name: str = ""
    template: str = ""
    state: str = ""
    created_ms: int = 0
    started_ms: int = 0
    ends_ms: int = 0              # 0: never
    metadata: Dict[str, str] = field(default_factory=dict)
    memory_bytes: int = 0
    cpu_millicores: int = 0
    disk_bytes: int = 0
    on_timeout: str = "kill"
    ended_because: str = ""
    raw: Dict[str, Any] = field(default_factory=dict, repr=False, compare=False)


@dataclass(frozen=True)
class Metric:
    time_ms: int
    cpu_percent: float       # of one core
    memory: int
    memory_cache: int = 0
    disk: int = 0
    pids: int = 0


@dataclass(frozen=True)
class Snapshot:
    id: str
    name: str = ""
    created_ms: int = 0
    bytes: int = 0


@dataclass(frozen=True)
class ProcessInfo:
    pid: int
    argv: List[str]
    cwd: str = ""
    user: str = ""
    tag: str = ""


@dataclass(frozen=True)
class Volume:
    name: str
    id: str = ""
    quota_bytes: int = 0
    used_bytes: int = 0
