"""Which server to talk to: one that runs, or one of this process's own."""
from __future__ import annotations

import os
import socket
import ssl
import threading
from dataclasses import dataclass
from typing import Mapping, Optional
from urllib.parse import urlsplit

from .errors import InvalidArgument, ServerUnavailable


@dataclass(frozen=True)
class Endpoint:
    """A UNIX socket, or a host and a port with a key."""
    socket_path: str = ""
    host: str = ""
    port: int = 0
    tls: bool = False
    key: str = ""

    @property
    def host_header(self) -> str:
        return f"{self.host}:{self.port}" if self.host else "localhost"

    def connect(self, timeout: Optional[float] = None) -> socket.socket:
        try:
            if self.socket_path:
                connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
                try:
                    connection.settimeout(timeout)
                    connection.connect(self.socket_path)
                except BaseException:
                    connection.close()
                    raise
                return connection
            plain = socket.create_connection((self.host, self.port), timeout)
            plain.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            return ssl.create_default_context().wrap_socket(plain, server_hostname=self.host) if self.tls else plain
        except OSError as error:
            raise ServerUnavailable(f"connect to the server at {self.socket_path or self.host_header}: {error}", "unavailable", "start one with: paddock serve") from error


def from_url(url: str, key: str = "") -> Endpoint:
    parts = urlsplit(url)
    if parts.scheme == "unix" or url.startswith("/"):
        return Endpoint(socket_path=parts.path)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise InvalidArgument(f"{url!r} is no address of a server", "invalid", "http://HOST:PORT, https://HOST:PORT or unix:/PATH")
    if "\r" in key or "\n" in key:
        raise InvalidArgument("a key has no line breaks", "invalid")
    tls = parts.scheme == "https"
    return Endpoint(host=parts.hostname, port=parts.port or (443 if tls else 80), tls=tls, key=key)


def _answers(path: str) -> bool:
    try:
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
            probe.settimeout(5)
            probe.connect(path)
        return True
    except OSError:
        return False


def find_running(variables: Mapping[str, str]) -> Optional[Endpoint]:
    """What the environment names, or the default server of this user if it runs."""
    if variables.get("PADDOCK_URL"):
        return from_url(variables["PADDOCK_URL"], variables.get("PADDOCK_API_KEY", ""))
    if variables.get("PADDOCK_SOCKET"):
        return Endpoint(socket_path=variables["PADDOCK_SOCKET"])
    if variables.get("PADDOCK_STATE"):
        candidate = os.path.join(variables["PADDOCK_STATE"], "server.sock")
    elif os.geteuid() == 0:
        candidate = "/run/paddock/server.sock"
    elif variables.get("XDG_RUNTIME_DIR"):
        candidate = os.path.join(variables["XDG_RUNTIME_DIR"], "paddock", "server.sock")
    else:
        home = variables.get("HOME") or os.path.expanduser("~")
        candidate = os.path.join(variables.get("XDG_STATE_HOME") or os.path.join(home, ".local", "state"), "paddock", "server.sock")
    return Endpoint(socket_path=candidate) if _answers(candidate) else None


_lock = threading.Lock()
_own: Optional[Endpoint] = None
_own_pid = 0


def default() -> Endpoint:
    """A running server; else this process's own, which is started once and ends with it."""
    global _own, _own_pid
    with _lock:
        if _own is not None and _own_pid == os.getpid():
            return _own
        running = find_running(os.environ)
        if running is not None:
            return running
        from .own_server import start
        _own, _own_pid = start(), os.getpid()
        return _own


def resolve(url: Optional[str], api_key: Optional[str]) -> Endpoint:
    if url is None:
        return default()
    return from_url(url, api_key if api_key is not None else os.environ.get("PADDOCK_API_KEY", ""))
