"""`paddock audit` and /v1/audit: what was recorded is found, shown safely, and proved; what was tampered with is named."""
import glob
import json
import os
import shutil
import signal
import subprocess
import threading
import unittest

from support import paddock
from support.server import Server, until

HOSTILE = ["line\n{\"seq\":999,\"kind\":\"forged\"}", "\x1b[2J\x1b]52;c;AAAA\x07", "\u202egnp.exe", "\",\"kind\":\"forged", "\r\x08\x7f\u009b31m", "\u2028\u2029\ufeff"]


def control_characters(text):
    return [c for c in text if (ord(c) < 32 and c != "\n") or 0x7f <= ord(c) < 0xa0 or c in "\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069\u2028\u2029\ufeff"]


class Audit:
    """Mixed into a TestCase once per user."""
    user = None

    def setUp(self):
        self.state = paddock.state_folder(self, self.user)
        self.log = os.path.join(self.state, "audit")

    def call(self, *arguments, **options):
        return paddock.call(*arguments, user=self.user, env={"PADDOCK_STATE": self.state}, **options)

    def run_one(self, *arguments):
        done = self.call("run", *arguments)
        self.assertEqual(done.returncode, 0, done.stderr)

    def audit(self, *arguments, status=0):
        done = self.call("audit", *arguments)
        self.assertEqual(done.returncode, status, done.stdout + done.stderr)
        return done

    def records(self, *arguments, status=0):
        return [json.loads(line) for line in self.audit("show", "--json", "--limit", "0", *arguments, status=status).stdout.splitlines()]

    def segments(self):
        return sorted(glob.glob(os.path.join(self.log, "*.jsonl")))

    def read_segment(self, number=0):
        with open(self.segments()[number], "rb") as file:
            return file.read()

    def write_segment(self, content, number=0):
        with open(self.segments()[number], "r+b") as file:
            file.truncate()
            file.write(content)

    def test_runs_are_found_by_what_is_asked(self):
        self.run_one("--agent", "ann", "--", "true")
        self.run_one("--agent", "bob", "--", "sh", "-c", "echo two words")
        all_of_them = self.records()
        self.assertEqual([one["seq"] for one in all_of_them], list(range(1, len(all_of_them) + 1)))
        starts = self.records("--kind", "run.start")
        self.assertEqual([one["agent"] for one in starts], ["ann", "bob"])
        bob = starts[1]
        self.assertEqual([one["kind"] for one in self.records("--agent", "bob", "--kind", "run")], ["run.start", "run.end"])
        self.assertEqual({one["sandbox"] for one in self.records("--sandbox", bob["sandbox"])}, {bob["sandbox"]})
        self.assertEqual({one["trace"] for one in self.records("--trace", bob["trace"])}, {bob["trace"]})
        self.assertEqual([one["agent"] for one in self.records("--text", "two words")], ["bob"])
        self.assertEqual([one["agent"] for one in self.records("--since", "1h", "--kind", "run.start", "--reverse")], ["bob", "ann"])
        self.assertEqual(self.records("--since", "2999-01-01"), [])
        self.assertEqual(self.records("--until", "1h"), [])
        self.assertEqual(self.records("--until", bob["time"], "--kind", "run.start"), [starts[0]])
        self.assertEqual(len(self.audit("show", "--limit", "1").stdout.splitlines()), 1)
        shown = self.audit("show", "--agent", "bob").stdout
        self.assertIn("sh -c 'echo two words'", shown)
        self.assertEqual(control_characters(shown), [])
        self.assertEqual(self.audit("path").stdout.strip(), self.log)

    def test_no_word_of_a_command_makes_a_line_or_moves_a_cursor(self):
        for word in HOSTILE:
            self.run_one("--agent", "a", "--env", f"X={word}", "--", "true", word)
        with open(self.segments()[0], "rb") as file:
            lines = file.read().split(b"\n")
        self.assertEqual(lines.pop(), b"")
        parsed = [json.loads(line) for line in lines]
        self.assertNotIn("forged", [one["kind"] for one in parsed])
        for line in lines:
            self.assertEqual(control_characters(line.decode()), [])
        words = [one["data"]["command"][-1] for one in parsed if one["kind"] == "run.start"]
        self.assertEqual(words, HOSTILE)
        shown = self.audit("show", "--limit", "0").stdout
        self.assertEqual((len(shown.splitlines()), control_characters(shown)), (len(lines), []))
        self.audit("verify")

    def test_verify_tells_what_was_done_and_show_hides_nothing(self):
        for number in range(3):
            self.run_one("--agent", f"agent{number}", "--", "true")
        whole = self.audit("verify")
        self.assertIn("whole", whole.stdout)
        told = json.loads(self.audit("verify", "--json").stdout)
        self.assertEqual(told["last"], self.records()[-1]["seq"])
        content = self.read_segment()
        self.write_segment(content.replace(b"agent1", b"agent7"))
        edited = self.audit("verify", status=1)
        first = next(json.loads(line)["seq"] for line in content.splitlines() if b"agent1" in line)
        self.assertIn(f"record {first} ", edited.stdout)
        self.assertIn("edited", edited.stdout)
        shown = self.audit("show", status=1)
        self.assertIn("DAMAGED", shown.stdout)
        damaged = [one for one in self.records(status=1) if "damaged" in one]
        self.assertEqual(damaged[0]["seq"], first)
        lines = content.splitlines(keepends=True)
        self.write_segment(b"".join(lines[:2] + lines[3:]))
        self.assertIn("record 3 ", self.audit("verify", status=1).stdout)
        self.write_segment(b"".join(lines[:-1]))
        self.assertIn("truncated", self.audit("verify", status=1).stdout)
        self.write_segment(content)
        self.audit("verify", "--expect", f"{told['last']}:{told['last_hash']}")
        self.audit("verify", "--expect", f"{told['last']}:{'0' * 64}", status=1)

    def test_segments_that_were_exchanged_removed_or_emptied_are_named(self):
        for _ in range(3):
            self.run_one("--", "true")
            self.audit("seal")
        self.run_one("--", "true")
        kept = os.path.join(self.state, "kept")
        shutil.copytree(self.log, kept)
        pem = os.path.join(self.state, "key.pem")
        with open(pem, "w") as file:
            file.write(self.audit("key").stdout)
        other = os.path.join(self.state, "other")
        self.assertEqual(self.call("run", "--audit", other, "--", "true").returncode, 0)

        def copy(log):
            shutil.rmtree(self.log, ignore_errors=True)
            shutil.copytree(log, self.log)
            for path in [self.log, *glob.glob(self.log + "/*")]:
                paddock.give(path, self.user)

        def exchange(a, b):
            names = self.segments()
            os.rename(names[a], names[a] + "x")
            os.rename(names[b], names[a])
            os.rename(names[a] + "x", names[b])

        attacks = {"exchanged": lambda: exchange(0, 1), "removed in the middle": lambda: os.unlink(self.segments()[1]), "removed at the end": lambda: os.unlink(self.segments()[-1]),
                   "removed at the beginning": lambda: os.unlink(self.segments()[0]), "emptied": lambda: self.write_segment(b"", 2), "replaced": lambda: copy(other),
                   "of another log": lambda: shutil.copy(os.path.join(other, "00000001.jsonl"), self.segments()[0]),
                   "reordered": lambda: self.write_segment(b"".join(reversed(self.read_segment(1).splitlines(keepends=True))), 1),
                   "with a line more": lambda: self.write_segment(self.read_segment(0) + self.read_segment(0).splitlines(keepends=True)[-1], 0),
                   "without its seal": lambda: self.write_segment(b"".join(self.read_segment(0).splitlines(keepends=True)[:-1]), 0)}
        for name, attack in attacks.items():
            with self.subTest(attack=name):
                attack()
                told = json.loads(self.audit("verify", "--key", pem, "--json", status=1).stdout)
                self.assertTrue(told["damage"]["what"] and told["damage"]["why"], told)
                self.assertIn(self.call("audit", "show").returncode, (0, 1))  # shows what there is
            copy(kept)
        self.audit("verify", "--key", pem)

    def test_what_cannot_be_looked_at_is_125(self):
        for arguments in (["verify", "--dir", "/none"], ["show", "--dir", "/none"], ["show", "--since", "soon"], ["show", "--limit", "x"], ["key", "--dir", "/none"], ["nothing"], []):
            self.assertEqual(self.call("audit", *arguments).returncode, 125, arguments)
        error = json.loads(self.call("audit", "show", "--dir", "/none", "--json").stdout)["error"]
        self.assertIn("/none", error["message"])

    def test_a_sealed_log_verifies_with_the_key_that_was_kept(self):
        self.run_one("--", "true")
        pem = os.path.join(self.state, "kept.pem")
        with open(pem, "w") as file:
            file.write(self.audit("key").stdout)
        os.chmod(pem, 0o644)
        self.assertEqual(self.audit("seal").stdout, "")
        self.run_one("--", "true")
        self.assertEqual(len(self.segments()), 2)
        told = json.loads(self.audit("verify", "--key", pem, "--json").stdout)
        self.assertEqual((told["segments"], told["sealed"]), (2, 1))
        other = os.path.join(self.state, "other")
        self.assertEqual(self.call("run", "--audit", other, "--", "true").returncode, 0)
        with open(pem, "w") as file:
            file.write(self.audit("key", "--dir", other).stdout)
        self.audit("verify", "--key", pem, status=1)
        self.audit("verify", "--dir", other)

    def test_the_index_can_be_lost_damaged_and_shared(self):
        self.run_one("--", "true")
        expected = self.records()
        path = os.path.join(self.log, "index.db")
        self.assertEqual(os.stat(path).st_mode & 0o777, 0o600)
        with open(path, "r+b") as file:
            file.write(os.urandom(4096))
        self.assertEqual(self.records(), expected)
        self.audit("rebuild")
        os.unlink(path)
        self.assertEqual(self.records(), expected)
        failures = []

        def read_often():
            for _ in range(5):
                done = self.call("audit", "show", "--json", "--limit", "0")
                if done.returncode != 0 or [json.loads(line) for line in done.stdout.splitlines()][:len(expected)] != expected:
                    failures.append(done.stderr or done.stdout)

        readers = [threading.Thread(target=read_often) for _ in range(4)]
        for reader in readers:
            reader.start()
        for _ in range(5):
            self.run_one("--", "true")
        for reader in readers:
            reader.join()
        self.assertEqual(failures, [])
        self.audit("verify")

    def test_tail_follows_over_a_rotation(self):
        self.run_one("--agent", "first", "--", "true")
        self.assertEqual(len(self.audit("tail", "-n", "2").stdout.splitlines()), 2)
        with paddock.popen("audit", "tail", "-f", "--kind", "run.start", "--json", user=self.user, env={"PADDOCK_STATE": self.state}, stdout=subprocess.PIPE, text=True) as tail:
            try:
                self.assertEqual(json.loads(tail.stdout.readline())["agent"], "first")
                self.run_one("--agent", "second", "--", "true")
                self.assertEqual(json.loads(tail.stdout.readline())["agent"], "second")
                self.audit("seal")
                self.run_one("--agent", "third", "--", "true")
                self.assertEqual(json.loads(tail.stdout.readline())["agent"], "third")
            finally:
                tail.send_signal(signal.SIGTERM)


class ApiAudit:
    user = None

    @classmethod
    def setUpClass(cls):
        cls.server = Server(user=cls.user).__enter__()
        cls.admin = cls.server.new_key("--scope", "admin")
        cls.other = cls.server.new_key("--tenant", "other")

    @classmethod
    def tearDownClass(cls):
        cls.server.__exit__()

    def ask(self, query="", key=None, status=200):
        answer = self.server.request("GET", f"/v1/audit{query}", key=key)
        self.assertEqual(answer.status, status, answer)
        return answer

    def records(self, query="", key=None):
        return self.ask(query, key).json()["records"]

    def test_a_tenant_sees_its_own_and_an_administrator_all(self):
        made = {key: self.server.request("POST", "/v1/sandboxes", {}, key=key).json()["id"] for key in (self.server.key, self.other)}
        for key, sandbox in made.items():
            self.addCleanup(self.server.request, "DELETE", f"/v1/sandboxes/{sandbox}", key=key)
            self.assertTrue(until(lambda: self.records(f"?sandbox={sandbox}&kind=sandbox.create", key)))
            self.assertTrue(until(lambda: self.records(f"?sandbox={sandbox}&kind=sandbox.create", self.admin)))
        self.assertEqual(self.records(f"?sandbox={made[self.other]}"), [])
        self.assertEqual({one["tenant"] for one in self.records("?limit=1000", self.other)}, {"other"})
        self.assertGreater(len({one.get("tenant") for one in self.records("?limit=1000", self.admin)}), 1)
        self.ask("?tenant=other", status=403)
        self.ask("?tenant=local")
        for bad in ("?limit=0", "?limit=1001", "?nothing=1", "?since=soon", "?order=up", "?format=xml", "?after=-1"):
            self.ask(bad, status=400)

    def test_pages_and_lines(self):
        everything = self.records("?limit=1000&order=asc", self.admin)
        found, after = [], 0
        while after is not None:
            page = self.ask(f"?limit=2&after={after}", self.admin).json()
            found += page["records"]
            after = page["next"]
        self.assertEqual(found[:len(everything)], everything)
        lines = self.ask("?limit=1000&order=asc&format=ndjson", self.admin).lines()
        self.assertEqual(lines[:len(everything)], everything)

    def test_the_log_is_proved_and_its_key_given(self):
        self.assertIn("BEGIN PUBLIC KEY", self.ask("/key").json()["public_key"])
        self.ask("/verify", status=403)
        told = self.ask("/verify", self.admin).json()
        self.assertIsNone(told.get("damage"))
        self.assertGreater(told["records"], 0)
        self.assertEqual(self.server.call("audit", "verify").returncode, 0)


for user in paddock.USERS:
    globals()[f"Audit_{user}"] = type(f"Audit_{user}", (Audit, unittest.TestCase), {"user": user})
    globals()[f"ApiAudit_{user}"] = type(f"ApiAudit_{user}", (ApiAudit, unittest.TestCase), {"user": user})

if __name__ == "__main__":
    paddock.main()
