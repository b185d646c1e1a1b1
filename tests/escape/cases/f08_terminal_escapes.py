# F08 terminal escapes: ANSI, OSC 52, bidi and newlines in names, arguments and output reach no log line and no JSON raw.
# layers: code
# process: code
# control: none
"""Usage: f08_terminal_escapes.py WALL ROOM PADDOCK…"""
import json
import re
import subprocess
import sys

wall, room, paddock = sys.argv[1], sys.argv[2], sys.argv[3:]
EVIL = "\x1b]52;c;aGFja2Vk\x07\x1b[2Jx\u202egnp.exe\r\npaddock: all is well \x9b31m"
# Any control character but the newline that ends a line, and everything that reorders text.
FORBIDDEN = re.compile("[\x00-\x09\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")


def fail(what, text):
    sys.exit(print(f"ESCAPED: {what}: {text!r}") or 42)


ATTEMPTS = {
    "a program's name": ["--wall", wall, "--", EVIL],
    "a path of a program": ["--wall", wall, "--", "/nowhere/" + EVIL],
    "a path to read": ["--wall", wall, "--read", "/nowhere/" + EVIL, "--", "true"],
    "a workspace": ["--wall", wall, "--workspace", "/nowhere/" + EVIL, "--", "true"],
    "a wall": ["--wall", EVIL, "--", "true"],
    "a limit": ["--wall", wall, "--memory", EVIL, "--", "true"],
    "a policy": ["--wall", wall, "--policy", EVIL, "--", "true"],
    "a host": ["--wall", wall, "--allow-net", EVIL, "--", "true"],
    "a variable": ["--wall", wall, "--env", EVIL, "--", "true"],
    "an unknown flag": ["--" + EVIL],
    "a root": ["--wall", wall, "--root", "/nowhere/" + EVIL, "--", "true"],
}
for what, arguments in ATTEMPTS.items():
    done = subprocess.run([*paddock, "run", *arguments], capture_output=True, text=True)
    if FORBIDDEN.search(done.stderr):
        fail(f"{what} on stderr", done.stderr)
    if "\npaddock: all is well" in done.stderr:
        fail(f"{what} made a line of its own", done.stderr)

for what, arguments in ATTEMPTS.items():
    done = subprocess.run([*paddock, "run", "--json", *arguments], capture_output=True, text=True)
    if re.search("[\x00-\x09\x0b-\x1f]", done.stdout):
        fail(f"{what} in JSON", done.stdout)
    if done.stdout:
        json.loads(done.stdout)

done = subprocess.run([*paddock, "run", "--json", "--wall", wall, "--", "/usr/bin/printf", "%s", EVIL], capture_output=True, text=True)
if re.search("[\x00-\x09\x0b-\x1f]", done.stdout):
    fail("output in JSON", done.stdout)
if json.loads(done.stdout)["stdout"] != EVIL:
    sys.exit(f"the output was changed: {done.stdout}")
print("held: no control character came through")
