"""Directories that outlive sandboxes and can be shared between them: Sandbox(volumes={"data": "/mnt/data"})."""
from __future__ import annotations

import re
from typing import List, Optional, Union

from . import calls
from .endpoint import resolve
from .errors import InvalidArgument
from .http import Transport
from .model import Volume

_UNITS = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40}


def bytes_of_size(size: Union[int, str]) -> int:
    """"64M" → 67108864."""
    if isinstance(size, int):
        return size
    found = re.fullmatch(r"(\d+(?:\.\d+)?)([KMGT]?)", size.strip())
    if not found:
        raise InvalidArgument(f"{size!r} is no size", "invalid", "for example 64M")
    return int(float(found[1]) * _UNITS[found[2]])


def create_volume(name: str, quota: Union[None, int, str] = None, *, url: Optional[str] = None, api_key: Optional[str] = None) -> Volume:
    return Transport(resolve(url, api_key)).call(calls.create_volume(name, None if quota is None else bytes_of_size(quota)))


def list_volumes(*, url: Optional[str] = None, api_key: Optional[str] = None) -> List[Volume]:
    return Transport(resolve(url, api_key)).call(calls.list_volumes())


def remove_volume(name: str, *, url: Optional[str] = None, api_key: Optional[str] = None) -> None:
    Transport(resolve(url, api_key)).call(calls.remove_volume(name))
