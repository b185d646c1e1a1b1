"""Starts the python kernel of one context; see docs/code.md for what it speaks."""
import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[0] = HERE

from paddock_kernel import kernel, wire  # noqa: E402

channel = wire.Wire()

# From here on imports are the user's: nothing of ours stands in their way, and what they have beside them is found.
sys.path[0] = ""
sys.argv = [""]
sys.dont_write_bytecode = bool(os.environ.get("PYTHONDONTWRITEBYTECODE"))

kernel.serve(channel)
