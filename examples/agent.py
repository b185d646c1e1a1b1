"""What an agent does with a sandbox. Nothing else has to run: python3 examples/agent.py"""
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "clients", "python"))
from paddock import Sandbox, SandboxError, SandboxManager  # noqa: E402

with Sandbox(memory="256M", allow_net=["pypi.org"], timeout=120) as sandbox:
    print("a sandbox:", sandbox.id)

    # Code runs in an interpreter that remembers.
    sandbox.run_code("import math\nradius = 2")
    execution = sandbox.run_code("print('thinking')\nround(math.pi * radius ** 2, 3)", on_stdout=lambda text: print("  said:", text.strip()))
    print("code:", execution.text)

    # An exception in it is a value here.
    failed = sandbox.run_code("radius / 0")
    print("error:", failed.error.name, "-", failed.error.value)

    # Files, and commands that use them.
    sandbox.files.write("numbers.txt", "3\n1\n2\n")
    print("sorted:", sandbox.run("sort numbers.txt").stdout.split())
    print("files:", [entry.name for entry in sandbox.files.list(".") if not entry.name.startswith(".")])

    # What is not on the list cannot be reached, and the log says why.
    sandbox.run(["python3", "-c", "import socket; socket.create_connection(('evil.example', 443), 5)"])
    for denial in sandbox.denials()[:1]:
        print(f"denied: {denial.action} ({denial.rule}: {denial.why})")

# A limit names itself. With a cgroup it ends the command; an ordinary user without one loses the sandbox.
with Sandbox("base", memory="64M") as small:
    try:
        print("limit:", small.run(["python3", "-c", "x = bytearray(1 << 30)"]).outcome)
    except SandboxError as error:
        print("limit:", error)

# Many agents: each has its own.
with SandboxManager(memory="128M", most=5) as manager:
    manager.agent("alice").run_code("secret = 'of alice'")
    print("bob sees:", manager.agent("bob").run_code("secret").error.name)
