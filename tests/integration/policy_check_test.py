"""`paddock policy check` says what `paddock run` would say here, and all of it."""
import json
import os
import shutil
import unittest

from support import paddock


class PolicyCheck(unittest.TestCase):
    def check(self, text, user="root"):
        policy = paddock.policy_file(self, text)
        done = paddock.call("policy", "check", "--json", policy, user=user)
        found = json.loads(done.stdout)["files"][0]
        self.assertEqual(done.returncode, 0 if found["ok"] else 1)
        return policy, [error["message"].replace(policy, "FILE") for error in found["errors"]]

    def refusal(self, policy, user):
        done = paddock.run("--policy", policy, "--json", "--", "true", user=user)
        self.assertEqual(done.returncode, 125, done.stdout)
        return json.loads(done.stdout)["error"]["message"]

    def test_all_mistakes_of_a_file_are_listed_with_line_and_path(self):
        _, errors = self.check("""version = 1
[limits]
memroy = "1G"
pids = "many"
[files]
read = ["/usr/share", "/opt/*", "/srv", "a*b"]
workspace = { path = 7, mode = "copy" }
[network]
allow = ["*"]
[monitor]
warn_if = { cpu = "lots" }
""")
        places = [error.split(": ")[0] + " " + error.split(": ")[1] for error in errors]
        self.assertEqual(sorted(places), sorted(["FILE:3 limits.memroy", "FILE:4 limits.pids", "FILE:6 files.read[1]", "FILE:6 files.read[3]", "FILE:7 files.workspace.path",
                                                 "FILE:9 network.allow[0]", "FILE:11 monitor.warn_if.cpu"]), errors)

    def test_what_run_refuses_here_is_refused_by_check(self):
        cases = {
            "a wall that does not exist": '[isolation]\nwall = "docker"',
            "/etc": '[files]\nread = ["/etc"]',
            "~": '[files]\nread = ["~"]',
            "a path that is missing": '[files]\nread = ["/nowhere/at/all"]',
            "a denial in a read-write tree": '[files]\nworkspace = { path = "PLACE", mode = "rw" }\ndeny = ["**/.env"]',
            "localhost without a port": '[network]\nallow = ["localhost"]',
            "an image that nobody imported": '[files]\nroot = "no-such-image"',
        }
        for user in paddock.USERS:
            place = paddock.folder(user)
            self.addCleanup(shutil.rmtree, place, ignore_errors=True)
            for name, text in cases.items():
                with self.subTest(user=user, case=name):
                    policy, errors = self.check("version = 1\n" + text.replace("PLACE", place), user)
                    self.assertEqual(len(errors), 1, errors)
                    self.assertIn(self.refusal(policy, user), errors[0])
                    self.assertRegex(errors[0], r"^FILE:[0-9]+: ")

    def test_several_at_once(self):
        _, errors = self.check('version = 1\n[isolation]\nwall = "vm"\n[files]\nread = [\n  "/etc",\n  "/usr/share",\n  "/nowhere",\n]\nwrite = ["/usr/bin"]\n')
        self.assertEqual([error.split(": ")[:2] for error in errors],
                         [["FILE:3", "isolation.wall"], ["FILE:6", "files.read[0]"], ["FILE:8", "files.read[2]"], ["FILE:10", "files.write[0]"]], errors)

    def test_what_runs_is_ok_and_nothing_is_left(self):
        for user in paddock.USERS:
            with self.subTest(user=user):
                place, state = paddock.folder(user), paddock.state_folder(self, user)
                self.addCleanup(shutil.rmtree, place, ignore_errors=True)
                policy = paddock.policy_file(self, f'version = 1\n[files]\nworkspace = {{ path = "{place}", mode = "copy" }}\n[network]\nallow = ["example.com"]\n[commands]\nallow = ["git"]\n')
                done = paddock.call("policy", "check", policy, user=user, env={"PADDOCK_STATE": state})
                self.assertEqual((done.returncode, done.stdout), (0, f"{policy}: ok\n"), done.stderr)
                self.assertEqual(json.loads(paddock.call("diff", "--json", user=user, env={"PADDOCK_STATE": state}).stdout)["change_sets"], [])
                self.assertEqual(os.listdir(place), [])

    def test_presets_are_ok(self):
        for user in paddock.USERS:
            done = paddock.call("policy", "check", "default", "strict", "python", user=user)
            self.assertEqual(done.returncode, 0, done.stdout + done.stderr)


if __name__ == "__main__":
    paddock.main()
