"""Many agents, each in a sandbox of its own.

    with SandboxManager(memory="256M", most=20) as manager:
        alice = manager.agent("alice", allow_net=["pypi.org"])
        bob = manager.agent("bob", env={"ROLE": "tester"})
        alice.run_code("x = 1")          # bob knows nothing of x
        manager.agent("alice") is alice  # the same one again
"""
from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Dict, List, Optional

from .errors import Conflict, InvalidArgument, LimitExceeded
from .sandbox import Sandbox


class _Slot:
    def __init__(self, options: Dict[str, Any]) -> None:
        self.options, self.lock = options, threading.Lock()
        self.sandbox: Optional[Sandbox] = None


class SandboxManager:
    """Gives each agent its sandbox: made at its first use, the same one afterwards, made anew when it has ended. Threads may
    share a manager. `most` is how many there may be at once; the other options are defaults for every agent's."""

    def __init__(self, *, most: Optional[int] = None, **defaults: Any) -> None:
        if most is not None and most < 1:
            raise InvalidArgument(f"most is at least 1, not {most}", "invalid")
        self._most, self._defaults = most, defaults
        self._slots: Dict[str, _Slot] = {}
        self._lock = threading.Lock()
        self._closed = False

    def agent(self, name: str, **options: Any) -> Sandbox:
        """The agent's sandbox. `options` are those of Sandbox; given again, they must be the same as before."""
        if not name:
            raise InvalidArgument("an agent needs a name", "invalid")
        slot = self._slot(name, options)
        with slot.lock:
            if slot.sandbox is None or not (slot.sandbox.is_running() or self._wake(slot.sandbox)):
                try:
                    slot.sandbox = self._make(name, slot.options)
                except BaseException:
                    slot.sandbox = None
                    self._forget(name, slot)
                    raise
                if self._closed:  # while it was being made
                    slot.sandbox.kill()
                    raise Conflict("the manager is closed", "conflict")
            return slot.sandbox

    def _slot(self, name: str, options: Dict[str, Any]) -> _Slot:
        with self._lock:
            if self._closed:
                raise Conflict("the manager is closed", "conflict")
            slot = self._slots.get(name)
            if slot is None:
                if self._most is not None and len(self._slots) >= self._most:
                    raise LimitExceeded(f"there are {len(self._slots)} agents already, and there may be {self._most}", "exhausted", "close one with: manager.close(name)")
                slot = self._slots[name] = _Slot({**self._defaults, **options})
            elif options and {**slot.options, **options} != slot.options:
                raise Conflict(f"agent {name!r} has a sandbox with other options", "conflict", "close it first with: manager.close(name)")
            return slot

    @staticmethod
    def _wake(sandbox: Sandbox) -> bool:
        try:
            sandbox.resume()
            return True
        except Exception:  # ended
            return False

    @staticmethod
    def _make(name: str, options: Dict[str, Any]) -> Sandbox:
        metadata = {**(options.get("metadata") or {}), "agent": name}
        return Sandbox(**{**options, "metadata": metadata})

    def _forget(self, name: str, slot: _Slot) -> None:
        with self._lock:
            if self._slots.get(name) is slot:
                del self._slots[name]

    def agents(self) -> List[str]:
        with self._lock:
            return sorted(self._slots)

    def close(self, name: str) -> bool:
        """Ends an agent's sandbox. False when there is none."""
        with self._lock:
            slot = self._slots.pop(name, None)
        if slot is None:
            return False
        with slot.lock:
            if slot.sandbox is not None:
                slot.sandbox.kill()
                slot.sandbox = None
        return True

    def close_all(self) -> None:
        """Ends them all. The manager makes no new ones afterwards."""
        with self._lock:
            self._closed = True
            names = list(self._slots)
        if names:
            with ThreadPoolExecutor(max_workers=min(16, len(names))) as pool:
                list(pool.map(self.close, names))

    def __enter__(self) -> "SandboxManager":
        return self

    def __exit__(self, *_: Any) -> None:
        self.close_all()
