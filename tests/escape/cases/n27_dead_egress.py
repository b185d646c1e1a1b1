# N27 egress is killed: the sandbox has no network from then on, not even what was allowed, and connections that lived end.
# layers: code
# process: none
# control: none
import os
import pathlib
import signal
import socket
import subprocess
import sys

WALL, ROOM, PADDOCK = sys.argv[1], sys.argv[2], sys.argv[3:]
# Keeps one connection, then waits for a line. Says what the kept one and a new one have to say.
PROGRAM = """
exec 3<>/dev/tcp/127.0.0.1/$1; read -r -N 5 -u 3 first; echo "first $first"
read -r go
read -r -t 5 -N 1 -u 3 more; echo "kept $more"
(exec 4<>/dev/tcp/127.0.0.1/$1 && read -r -t 5 -N 5 -u 4 second && echo "second $second") 2>/dev/null
(exec 4<>/dev/tcp/127.0.0.1/18128 && echo "proxy connected") 2>/dev/null
echo done
"""


def end(status, text):
    print(text)
    sys.exit(status)


def egress_of(pid):
    children = pathlib.Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    return next((int(child) for child in children if pathlib.Path(f"/proc/{child}/comm").read_text() == "paddock-egress\n"), None)


with socket.create_server(("127.0.0.1", 0)) as server:
    port = server.getsockname()[1]
    child = subprocess.Popen([*PADDOCK, "run", "--wall", WALL, "--allow-net", f"localhost:{port}", "--", "/bin/bash", "-c", PROGRAM, "bash", str(port)],
                             stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    server.settimeout(30)
    kept, _ = server.accept()
    kept.sendall(b"hello")
    if child.stdout.readline() != "first hello\n":
        end(1, "failed: what is allowed is not reached")
    egress = egress_of(child.pid)
    if egress is None:
        end(77, "cannot: there is no egress process beneath paddock")
    os.kill(egress, signal.SIGKILL)
    child.stdin.write("go\n")
    child.stdin.close()
    said = child.stdout.read()
    child.wait()
    if "done" not in said:
        end(1, f"failed: the program did not get to its end: {said!r}")
    server.settimeout(0)
    try:
        server.accept()
        end(42, "ESCAPED: a connection came after egress was killed")
    except OSError:
        pass
    if "second" in said or "proxy" in said:
        end(42, f"ESCAPED: after egress was killed: {said!r}")
    end(0, "held: no network without egress")
