"""Every `paddock run` leaves its record before it does anything; where none can be kept, nothing runs unless that was agreed to."""
import json
import os
import shutil
import subprocess
import tempfile
import unittest

from support import internet, paddock
from support.paddock import on_both

TRACE, PARENT = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"


def records(directory):
    found = []
    for name in sorted(os.listdir(directory)):
        if name.endswith(".jsonl"):
            with open(os.path.join(directory, name)) as file:
                found += [json.loads(line) for line in file]
    return found


class Case(unittest.TestCase):
    def verify(self, directory, user):
        done = paddock.call("audit", "verify", "--dir", directory, user=user)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

    def of_kind(self, directory, kind):
        return [record for record in records(directory) if record["kind"] == kind]


class RecordTest(Case):
    @on_both
    def test_beginning_and_end_tell_what_ran_and_how(self, user, wall):
        state, granted = paddock.state_folder(self, user), paddock.state_folder(self, user)
        env = {"PADDOCK_STATE": state, "WANTED": "value-of-wanted", "TRACEPARENT": f"00-{TRACE}-{PARENT}-01"}
        result = paddock.run_json("--wall", wall, "--agent", "planner", "--pass-env", "WANTED", "--secret", "KEY=hunter2-hunter2", "--read", granted, "--memory", "300M",
                                  "--", "sh", "-c", "echo $KEY hunter2-hunter2; env; exit 3", user=user, env=env)
        self.assertNotIn("TRACEPARENT", result["stdout"])
        log = f"{state}/audit"
        start, = self.of_kind(log, "run.start")
        end, = self.of_kind(log, "run.end")
        redaction, = self.of_kind(log, "redaction")
        self.assertEqual(result["audit"], {"recorded": True, "path": log, "trace": TRACE, "seq": [start["seq"], end["seq"]]})
        for record in (start, end, redaction):
            self.assertEqual((record["trace"], record["sandbox"], record["agent"]), (TRACE, result["id"], "planner"))
        self.assertEqual((start["parent"], end["span"], redaction["parent"]), (PARENT, start["span"], start["span"]))
        data = start["data"]
        self.assertEqual(data["command"], ["sh", "-c", "echo $KEY [redacted:KEY]; env; exit 3"])
        self.assertEqual((data["wall"], data["cwd"], data["env"], data["secrets"], start["verdict"]), (wall, "/", ["WANTED"], ["KEY"], "allow"))
        self.assertEqual((data["limits"]["memory"], data["files"]["read"], data["user"]), (300 << 20, [granted], 0 if user == "root" else paddock.USER_ID))
        self.assertEqual((data["policy"]["name"], len(data["policy"]["sha256"])), ("default", 64))
        self.assertEqual((end["data"]["outcome"], end["data"]["exit_status"]), ({"kind": "exited", "code": 3}, 3))
        self.assertGreater(end["duration_us"], 0)
        text = json.dumps(records(log))
        self.assertNotIn("hunter2", text)
        self.assertNotIn("value-of-wanted", text)
        self.verify(log, user)

    @on_both
    def test_arguments_that_are_secret_by_where_they_stand_are_not_recorded(self, user, wall):
        state = paddock.state_folder(self, user)
        for command in (["true", "--password", "correct-horse", "--api-key=correct-horse", "-H", "Authorization: Bearer correct-horse"], ["sh", "-c", ": --token correct-horse"]):
            self.assertEqual(paddock.run("--wall", wall, "--", *command, user=user, env={"PADDOCK_STATE": state}).returncode, 0)
        plain, script = [record["data"]["command"] for record in self.of_kind(f"{state}/audit", "run.start")]
        hidden = "[redacted:argument]"
        self.assertEqual(plain, ["true", "--password", hidden, f"--api-key={hidden}", "-H", f"Authorization: Bearer {hidden}"])
        self.assertEqual(script, ["sh", "-c", f": --token {hidden}"])
        self.assertNotIn("correct-horse", json.dumps(records(f"{state}/audit")))

    @on_both
    def test_what_the_policy_denies_is_recorded(self, user, wall):
        state = paddock.state_folder(self, user)
        policy = paddock.policy_file(self, '[commands]\nallow = ["ls"]\n')
        done = paddock.run("--wall", wall, "--policy", policy, "--", "rm", "x", user=user, env={"PADDOCK_STATE": state})
        self.assertEqual(done.returncode, 125)
        start, = self.of_kind(f"{state}/audit", "run.start")
        self.assertEqual((start["verdict"], start["data"]["command"], start["data"]["error"]["code"]), ("deny", ["rm", "x"], "denied"))

    @on_both
    def test_limits_and_weakenings_are_recorded(self, user, wall):
        state = paddock.state_folder(self, user)
        policy = paddock.policy_file(self, '[redact]\nskip = ["jwt"]\n[danger]\nallow = ["redact.less"]\n')
        paddock.run("--wall", wall, "--policy", policy, "--timeout", "200ms", "--", "sleep", "9", user=user, env={"PADDOCK_STATE": state})
        log = f"{state}/audit"
        self.assertEqual([r["data"]["danger"] for r in self.of_kind(log, "weakening")], ["redact.less"])
        self.assertEqual([r["data"]["limit"] for r in self.of_kind(log, "limit")], ["wall_time"])
        self.assertEqual(self.of_kind(log, "run.end")[0]["data"]["limits_hit"], ["wall_time"])

    def test_hostile_names_stay_on_their_line(self):
        for user in paddock.USERS:
            state = paddock.state_folder(self, user)
            paddock.run("--", "echo", "a\n{\"seq\":7}\u2028\x1b[2J\udcff", user=user, env={"PADDOCK_STATE": state})
            self.assertEqual([r["kind"] for r in records(f"{state}/audit")], ["log.open", "run.start", "run.end"])
            self.verify(f"{state}/audit", user)

    def test_many_at_once_make_one_whole_log(self):
        for user in paddock.USERS:
            state = paddock.state_folder(self, user)
            children = [paddock.popen("run", "--", "sh", "-c", f"exit {i}", user=user, env={"PADDOCK_STATE": state}, stdin=subprocess.DEVNULL) for i in range(12)]
            self.assertEqual([child.wait(120) for child in children], list(range(12)))
            self.verify(f"{state}/audit", user)
            self.assertEqual(len(self.of_kind(f"{state}/audit", "run.end")), 12)

    def test_taking_changes_over_is_recorded(self):
        for user in paddock.USERS:
            state, work = paddock.state_folder(self, user), paddock.state_folder(self, user)
            env = {"PADDOCK_STATE": state}
            result = paddock.run_json("--workspace", f"{work}:copy", "--", "touch", "new", user=user, env=env)
            self.assertEqual(paddock.call("apply", result["change_set"], user=user, env=env).returncode, 0)
            act, = self.of_kind(f"{state}/audit", "admin")
            self.assertEqual((act["data"]["act"], act["data"]["change_set"]), ("apply", result["change_set"]))

    def test_a_full_segment_is_sealed_and_old_ones_go(self):
        for user in paddock.USERS:
            state = paddock.state_folder(self, user)
            policy = paddock.policy_file(self, f'[audit]\npath = "{state}/log"\nrotate = "64K"\nmax_size = "256K"\ndurable = true\n')
            for _ in range(30):
                done = paddock.run("--policy", policy, "--", "sh", "-c", ":" + "x" * 15_000, user=user)
                self.assertNotIn("paddock:", done.stderr)
            self.assertGreater(len(self.of_kind(f"{state}/log", "log.seal")), 1)
            self.assertGreater(len(self.of_kind(f"{state}/log", "log.retired")), 0)
            self.assertLess(sum(entry.stat().st_size for entry in os.scandir(f"{state}/log")), 400 << 10)
            self.verify(f"{state}/log", user)

    def test_many_at_once_seal_a_full_segment_once(self):
        for user in paddock.USERS:
            state = paddock.state_folder(self, user)
            policy = paddock.policy_file(self, f'[audit]\npath = "{state}/log"\nrotate = "64K"\n')
            children = [paddock.popen("run", "--quiet", "--policy", policy, "--", "true", "x" * 15_000, user=user, stdin=subprocess.DEVNULL) for _ in range(6)]
            self.assertEqual([child.wait(120) for child in children], [0] * 6)
            self.assertEqual(len(self.of_kind(f"{state}/log", "log.seal")), 1)
            self.verify(f"{state}/log", user)


class NoRoomTest(Case):
    """Where the log cannot be written."""

    def small_disk(self, size):
        folder = tempfile.mkdtemp(prefix="paddock-test-")
        self.addCleanup(os.rmdir, folder)
        subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={size},mode=700", "none", folder], check=True)
        self.addCleanup(subprocess.run, ["umount", folder], check=True)
        return folder

    def fill(self, folder):
        with open(f"{folder}/filler", "wb", buffering=0) as file:
            try:
                while file.write(b"x" * 4096):
                    pass
            except OSError:
                pass

    @unittest.skipUnless(os.geteuid() == 0, "mounting a small disk needs root")
    def test_a_full_disk_refuses_or_leaves_a_gap_as_the_policy_says(self):
        disk = self.small_disk("64k")
        env = {"PADDOCK_STATE": disk}
        self.assertEqual(paddock.run("--", "true", env=env).returncode, 0)
        self.fill(disk)
        room = len(records(f"{disk}/audit"))
        for _ in range(20):  # until the last page of the segment is full
            done = paddock.run("--", "echo", "ran", env=env)
            if done.returncode:
                break
            room = len(records(f"{disk}/audit"))
        self.assertEqual((done.returncode, done.stdout), (125, ""))
        self.assertIn("could not be recorded", done.stderr)
        self.assertIn("on_full", done.stderr)
        error = paddock.run_json("--", "true", env=env)["error"]
        self.assertEqual(error["code"], "exhausted")

        policy = paddock.policy_file(self, '[audit]\non_full = "gap"\n')
        result = paddock.run_json("--policy", policy, "--", "echo", "ran", env=env)
        self.assertEqual((result["stdout"], result["audit"]["recorded"]), ("ran\n", False))
        self.assertTrue(any(note.startswith("not recorded: ") for note in result["notes"]), result["notes"])
        os.unlink(f"{disk}/filler")
        self.assertTrue(paddock.run_json("--", "true", env=env)["audit"]["recorded"])
        gap, = self.of_kind(f"{disk}/audit", "log.gap")
        self.assertGreater(gap["data"]["missing"], 0)
        self.verify(f"{disk}/audit", "root")

    @on_both
    def test_a_log_that_a_policy_names_must_be_there(self, user, wall):
        policy = paddock.policy_file(self, '[audit]\npath = "/proc/no/such/place"\n')
        done = paddock.run("--wall", wall, "--policy", policy, "--", "echo", "ran", user=user)
        self.assertEqual((done.returncode, done.stdout), (125, ""))
        self.assertIn("could not be recorded", done.stderr)

    @on_both
    def test_a_log_that_is_there_must_be_fit_to_be_written(self, user, wall):
        state = paddock.state_folder(self, user)
        env = {"PADDOCK_STATE": state}
        self.assertEqual(paddock.run("--wall", wall, "--", "true", user=user, env=env).returncode, 0)
        os.chmod(f"{state}/audit", 0o777)
        done = paddock.run("--wall", wall, "--", "echo", "ran", user=user, env=env)
        self.assertEqual((done.returncode, done.stdout), (125, ""), done.stderr)
        # Accepted by name, it runs all the same, and that is told.
        policy = paddock.policy_file(self, '[danger]\nallow = ["audit.off"]\n')
        result = paddock.run_json("--wall", wall, "--policy", policy, "--", "echo", "ran", user=user, env=env)
        self.assertEqual((result["stdout"], result["audit"]["recorded"], result["weakened"]), ("ran\n", False, ["audit.off"]))

    @on_both
    def test_a_place_that_cannot_be_used_is_told_and_refused_where_the_policy_names_it(self, user, wall):
        for place in ("/proc/no", "relative", "/tmp"):
            done = paddock.run("--wall", wall, "--quiet", "--", "echo", "ran", user=user, env={"PADDOCK_STATE": place})
            self.assertEqual((done.returncode, done.stdout), (0, "ran\n"), place)
            self.assertIn("paddock: not recorded: ", done.stderr)
            self.assertIn(place, done.stderr)
        done = paddock.run("--wall", wall, "--audit", "/proc/no", "--", "echo", "ran", user=user)
        self.assertEqual((done.returncode, done.stdout), (125, ""), done.stderr)
        self.assertIn("could not be recorded", done.stderr)

    @unittest.skipIf("user" not in paddock.USERS, "an ordinary user is needed: root's usual place can always be made")
    def test_without_a_place_it_runs_and_says_so_even_when_quiet(self):
        for more in ([], ["--quiet"]):
            # Behind setpriv, so that nobody else puts it back.
            command = ["env", "-u", "PADDOCK_STATE", "-u", "XDG_STATE_HOME", "HOME=/proc/no/such/place", paddock.PADDOCK, "run", *more, "--", "echo", "ran"]
            done = subprocess.run(paddock.as_user(command, "user"), env=paddock.environment("user"), cwd="/", stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60)
            self.assertEqual((done.returncode, done.stdout), (0, "ran\n"), done.stderr)
            self.assertIn("paddock: not recorded: ", done.stderr)


class NetworkTest(internet.Case):
    @internet.as_each_user
    def test_connections_and_denials_are_recorded(self, user):
        state = paddock.state_folder(self, user)
        self.net.run_json("--allow-net", "good.example:80", "--secret", "KEY=correct-horse", "--", "sh", "-c",
                          "curl -sS http://good.example/correct-horse -o /dev/null; curl -sS http://evil.example/", user=user, env={"PADDOCK_STATE": state})
        found = records(f"{state}/audit")
        start = next(record for record in found if record["kind"] == "run.start")
        self.assertEqual(start["data"]["network"], ["good.example:80"])
        request = next(record for record in found if record["kind"] == "connection" and record["data"].get("status"))
        self.assertEqual((request["verdict"], request["parent"], request["data"]["path"]), ("allow", start["span"], "/[redacted:KEY]"))
        denial = next(record for record in found if record["kind"] == "denial")
        self.assertEqual((denial["verdict"], denial["data"]["rule"]), ("deny", "network.allow"))
        self.assertNotIn("correct-horse", json.dumps(found))

    @internet.as_each_user
    def test_many_connections_do_not_hide_where_it_went(self, user):
        state = paddock.state_folder(self, user)
        script = """import socket
for n in range(1100):
    for name in ('good.example', f'made-up-{n}.example'):
        try: socket.getaddrinfo(name, 80, socket.AF_INET)
        except OSError: pass
import urllib.request
urllib.request.urlopen('http://four.example/EXFIL').read()
"""
        self.net.run_json("--allow-net", "good.example:80", "--allow-net", "four.example:80", "--", "python3", "-c", script, user=user, env={"PADDOCK_STATE": state})
        found = records(f"{state}/audit")
        connections = [record for record in found if record["kind"] == "connection"]
        self.assertEqual({verdict: sum(record["verdict"] == verdict for record in connections) for verdict in ("allow", "deny")}, {"allow": 1000, "deny": 1000})
        dropped = [record["data"] for record in found if record["kind"] == "events.dropped"]
        hosts = [host for data in dropped for host in data["hosts"]]
        self.assertTrue([host for host in hosts if (host["name"], host["verdict"]) == ("four.example", "allow")], hosts)
        self.assertEqual(sum(data["count"] for data in dropped), sum(host["count"] for host in hosts))


if __name__ == "__main__":
    paddock.main()
