# K06 swapped path: a granted directory is exchanged for a link to /etc, over and over, while sandboxes start (CVE-2021-30465).
# layers: code
# process: code
# control: none
"""What was checked must be what is mounted: /etc as a whole is refused, so it may never appear inside.
Usage: k06_swapped_source.py WALL ROOM PADDOCK…"""
import ctypes
import pathlib
import subprocess
import sys
import threading
import time

wall, room, paddock = sys.argv[1], pathlib.Path(sys.argv[2]), sys.argv[3:]
good, bad = room / "granted", room / "swap"
good.mkdir()
(good / "harmless").write_text("")
bad.symlink_to("/etc")
libc = ctypes.CDLL(None)
stop = threading.Event()


def swap():
    while not stop.is_set():
        libc.renameat2(-100, bytes(good), -100, bytes(bad), 2)  # RENAME_EXCHANGE


threading.Thread(target=swap, daemon=True).start()
end = time.monotonic() + 5
seen, refused = 0, 0
while time.monotonic() < end:
    done = subprocess.run([*paddock, "run", "--wall", wall, "--read", str(good), "--", "/usr/bin/ls", f"{good}/"], capture_output=True, text=True)
    if "passwd" in done.stdout:
        stop.set()
        sys.exit(print(f"ESCAPED: /etc was mounted after {seen + refused} rounds") or 42)
    seen, refused = seen + ("harmless" in done.stdout), refused + ("harmless" not in done.stdout)
stop.set()
if seen == 0:
    sys.exit(print(f"cannot: never saw the harmless directory: {done.stderr.strip()}") or 77)
print(f"held: {seen} saw the harmless directory, {refused} were refused")
