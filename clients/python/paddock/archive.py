"""Directories as tar streams. What comes out of a sandbox is hostile: nothing of it is written outside the target."""
from __future__ import annotations

import os
import tarfile
import tempfile
from typing import IO, Iterator

from .errors import SandboxError

_PIECE = 256 << 10


def pack(directory: str) -> Iterator[bytes]:
    """The tar of what is beneath a directory, in pieces; on disk meanwhile, not in memory."""
    with tempfile.TemporaryFile() as file:
        with tarfile.open(fileobj=file, mode="w", format=tarfile.PAX_FORMAT) as tar:
            for name in sorted(os.listdir(directory)):
                tar.add(os.path.join(directory, name), arcname=name, filter=_plain)
        file.seek(0)
        while True:
            piece = file.read(_PIECE)
            if not piece:
                return
            yield piece


def _plain(member: tarfile.TarInfo) -> "tarfile.TarInfo | None":
    if not (member.isreg() or member.isdir() or member.issym() or member.islnk()):
        return None
    member.uid = member.gid = 0
    member.uname = member.gname = ""
    return member


def unpack(file: IO[bytes], directory: str) -> int:
    """Unpacks beneath `directory`; the number of files. Links are made last and never followed; names that lead out, devices
    and the like are refused."""
    os.makedirs(directory, exist_ok=True)
    root = os.path.realpath(directory)
    count, links = 0, []
    with tarfile.open(fileobj=file, mode="r:") as tar:
        for member in tar:
            path = _inside(root, member.name)
            if member.isdir():
                os.makedirs(path, mode=0o700 | (member.mode & 0o777), exist_ok=True)
            elif member.isreg():
                os.makedirs(os.path.dirname(path), exist_ok=True)
                _write(tar, member, path)
                count += 1
            elif member.issym() or member.islnk():
                links.append((member, path))
            else:
                raise SandboxError(f"the archive has something that is no file: {member.name!r}", "invalid")
        for member, path in links:  # when all files are there: none was written through one of them
            os.makedirs(os.path.dirname(_inside(root, member.name)), exist_ok=True)
            _clear(path)
            if member.issym():
                os.symlink(member.linkname, path)
            else:
                os.link(_inside(root, member.linkname), path, follow_symlinks=False)
            count += 1
    return count


def _inside(root: str, name: str) -> str:
    parts = [part for part in name.split("/") if part not in ("", ".")]
    if name.startswith("/") or ".." in parts or "\0" in name:
        raise SandboxError(f"the archive has a name that leads out: {name!r}", "invalid")
    path = root
    for part in parts[:-1]:
        path = os.path.join(path, part)
        if os.path.islink(path):  # it stood here before, or the archive made it
            raise SandboxError(f"the archive has a name that goes through a link: {name!r}", "invalid")
    return os.path.join(root, *parts)


def _clear(path: str) -> None:
    if os.path.islink(path) or (os.path.lexists(path) and not os.path.isdir(path)):
        os.unlink(path)


def _write(tar: tarfile.TarFile, member: tarfile.TarInfo, path: str) -> None:
    _clear(path)
    source = tar.extractfile(member)
    assert source is not None
    fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, (member.mode & 0o777) | 0o200)
    with os.fdopen(fd, "wb") as target:
        while True:
            piece = source.read(_PIECE)
            if not piece:
                return
            target.write(piece)
