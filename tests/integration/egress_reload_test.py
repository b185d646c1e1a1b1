"""New rules for a running sandbox, through the library: revoked connections end, wrong rules change nothing."""
import json
import os
import subprocess

from support import internet, paddock

RELOAD = os.path.join(paddock.BUILD, "tests", "paddock-reload")
# Talks to an echo server over one kept connection until that ends, then over new ones until they work again.
PROGRAM = """
import socket, sys, time
def connect():
    s = socket.create_connection(("good.example", 7), 20); s.settimeout(20); return s
def talk(s):
    try:
        s.sendall(b"x"); return s.recv(1) == b"x"
    except OSError: return False
def fresh():
    try: s = connect()
    except OSError: return False
    return talk(s)
kept = connect()
print("start", talk(kept), flush=True)
while talk(kept): time.sleep(0.05)
print("kept ended; new:", fresh(), flush=True)
while not fresh(): time.sleep(0.05)
print("new works again", flush=True)
"""


class ReloadTest(internet.Case):
    def start(self, user):
        command = self.net.command([RELOAD, "good.example", "--", "python3", "-u", "-c", PROGRAM], user)
        child = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd="/",
                                 env=paddock.environment(user))
        self.addCleanup(child.stdin.close)
        self.addCleanup(child.stdout.close)
        self.addCleanup(child.stderr.close)
        self.addCleanup(child.wait)
        return child

    def tell(self, child, line):
        child.stdin.write(line + "\n")
        child.stdin.flush()
        return child.stdout.readline().strip()

    def wait_for_connection(self):
        while not any(entry["port"] == 7 and entry["received"] for entry in self.net.world.log()["tcp"]):
            pass

    @internet.as_each_user
    def test_a_revoked_host_is_torn_down_and_wrong_rules_change_nothing(self, user):
        child = self.start(user)
        self.wait_for_connection()
        self.assertIn("refused", self.tell(child, "good.example not/a/host"))
        self.assertIn("refused", self.tell(child, "!not/a/host"))
        self.assertEqual(self.tell(child, "other.example"), "taken")
        self.assertEqual(self.tell(child, "good.example other.example"), "taken")
        result = json.loads(child.stdout.readline())
        self.assert_exited(result)
        self.assertIn("start True\nkept ended; new:", result["stdout"])
        self.assertIn("new works again", result["stdout"])


if __name__ == "__main__":
    paddock.main()
