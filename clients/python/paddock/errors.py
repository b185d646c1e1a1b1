"""What can go wrong. What a *program* did (its exit code, a limit that ended it) is a result, not an exception, unless you ask
for one with ``result.check()``."""
from __future__ import annotations

from typing import TYPE_CHECKING, Optional

if TYPE_CHECKING:
    from .model import CommandResult, Execution


class SandboxError(Exception):
    """Paddock failed or refused. `code` is one of invalid, denied, unsupported, not_found, conflict, exhausted, io, internal."""

    def __init__(self, message: str, code: str = "internal", hint: str = "", status: Optional[int] = None) -> None:
        super().__init__(f"{message} ({hint})" if hint else message)
        self.message, self.code, self.hint, self.status = message, code, hint, status


class NotFound(SandboxError):
    """There is no such sandbox, file, process, template or volume (any more)."""


class Denied(SandboxError):
    """The policy, the key or the quota does not allow it."""


class InvalidArgument(SandboxError):
    """The request is malformed or impossible."""


class Conflict(SandboxError):
    """The state of things does not allow it: paused already, a name that is taken."""


class LimitExceeded(SandboxError):
    """No room: a quota, a rate or a limit of the server was reached, or `check()` on a result that a limit ended."""


class TimeoutException(SandboxError):
    """It took longer than the time you gave it."""


class ServerUnavailable(SandboxError):
    """No server runs and none could be started, or the connection to it broke."""


class CommandFailed(SandboxError):
    """`check()` on a command that did not exit with 0."""

    def __init__(self, message: str, result: "CommandResult") -> None:
        super().__init__(message, "failed")
        self.result = result


class CodeFailed(SandboxError):
    """`check()` on code that ended with an error."""

    def __init__(self, message: str, execution: "Execution") -> None:
        super().__init__(message, "failed")
        self.execution = execution


_BY_CODE = {
    "invalid": InvalidArgument, "unsupported": InvalidArgument, "invalid_argument": InvalidArgument,
    "denied": Denied, "permission_denied": Denied, "unauthenticated": Denied,
    "not_found": NotFound, "conflict": Conflict, "already_exists": Conflict, "failed_precondition": Conflict,
    "exhausted": LimitExceeded, "resource_exhausted": LimitExceeded, "deadline_exceeded": TimeoutException,
    "unavailable": ServerUnavailable,
}
_BY_STATUS = {400: "invalid", 401: "denied", 403: "denied", 404: "not_found", 409: "conflict", 413: "exhausted", 429: "exhausted",
              502: "not_found", 503: "unavailable", 507: "exhausted"}


def error_for(message: str, code: str = "", hint: str = "", status: Optional[int] = None) -> SandboxError:
    """The exception that fits a code of the server's, or else an HTTP status."""
    code = code or _BY_STATUS.get(status or 0, "internal")
    return _BY_CODE.get(code, SandboxError)(message, code, hint, status)
