"""Sandboxes for the code and the tools of AI agents. `Sandbox` is where to begin."""
from .async_sandbox import AsyncFiles, AsyncProcess, AsyncSandbox, AsyncWatch
from .errors import (CodeFailed, CommandFailed, Conflict, Denied, InvalidArgument, LimitExceeded, NotFound, SandboxError, ServerUnavailable,
                     TimeoutException)
from .manager import SandboxManager
from .model import (CommandResult, Context, Denial, Entry, Execution, ExecutionError, FileEvent, Logs, Metric, Outcome, ProcessInfo, Result,
                    SandboxInfo, Snapshot, Volume)
from .sandbox import Files, Process, Sandbox, Watch
from .volumes import create_volume, list_volumes, remove_volume

__version__ = "0.1.0"
__all__ = [
    "AsyncFiles", "AsyncProcess", "AsyncSandbox", "AsyncWatch", "CodeFailed", "CommandFailed", "CommandResult", "Conflict", "Context", "Denial", "Denied", "Entry",
    "Execution", "ExecutionError", "FileEvent", "Files", "InvalidArgument", "LimitExceeded", "Logs", "Metric", "NotFound", "Outcome", "Process",
    "ProcessInfo", "Result", "Sandbox", "SandboxError", "SandboxInfo", "SandboxManager", "ServerUnavailable", "Snapshot", "TimeoutException",
    "Volume", "Watch", "__version__", "create_volume", "list_volumes", "remove_volume",
]
