"""What people type first, and what they hear when it cannot work yet: one line that says why and what to add."""
import json
import os
import shutil
import time
import unittest

from support import paddock


class Case(unittest.TestCase):
    def folder(self, user):
        path = paddock.folder(user)
        self.addCleanup(shutil.rmtree, path, ignore_errors=True)
        return path

    def file(self, user, path, text=""):
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w") as file:
            file.write(text)
        os.chmod(path, 0o755)
        paddock.give(os.path.dirname(path), user)
        paddock.give(path, user)

    def each_user(self):
        for user in paddock.USERS:
            with self.subTest(user=user):
                yield user


class FirstCommands(Case):
    def test_a_script_that_is_not_seen_gets_a_hint(self):
        for user in self.each_user():
            folder = self.folder(user)
            self.file(user, os.path.join(folder, "script.py"), "print('ran')\n")
            done = paddock.run("--", "python3", "script.py", user=user, cwd=folder)
            self.assertNotEqual(done.returncode, 0)
            self.assertIn("paddock: 'script.py' is on this machine, and the sandbox does not see it (add --workspace .)", done.stderr)
            again = paddock.run("--workspace", ".", "--", "python3", "script.py", user=user, cwd=folder)
            self.assertEqual((again.returncode, again.stdout, again.stderr), (0, "ran\n", ""))

    def test_a_client_of_the_network_hears_that_it_is_off(self):
        for user in self.each_user():
            done = paddock.run("--", "curl", "-sS", "http://example.com/", user=user)
            self.assertIn("paddock: the network is off in this run (open it with --allow-net example.com)", done.stderr)
            result = paddock.run_json("--code", "import urllib.request as u; u.urlopen('http://example.com')", user=user)
            self.assertIn("the network is off in this run (open it with --allow-net HOST)", result["notes"])
            self.assertEqual(paddock.run("--", "false", user=user).stderr, "")

    def test_an_interpreter_that_lies_elsewhere_is_named(self):
        for user in self.each_user():
            folder, elsewhere = self.folder(user), self.folder(user)
            python = os.path.join(elsewhere, "bin", "python3")
            os.makedirs(os.path.dirname(python))
            shutil.copy(os.path.realpath("/usr/bin/python3"), python)
            os.makedirs(os.path.join(folder, ".venv", "bin"))
            os.symlink(python, os.path.join(folder, ".venv", "bin", "python"))
            done = paddock.run("--workspace", ".", "--", ".venv/bin/python", "-c", "print(1)", user=user, cwd=folder)
            self.assertEqual(done.returncode, 127)
            self.assertIn(f"it is a link to {python}, which the sandbox does not see (add --read {elsewhere})", done.stderr)
            again = paddock.run("--workspace", ".", "--read", elsewhere, "--", ".venv/bin/python", "-c", "print(1)", user=user, cwd=folder)
            self.assertEqual((again.returncode, again.stdout), (0, "1\n"), again.stderr)

    def test_a_program_comes_from_stdin(self):
        for user in self.each_user():
            done = paddock.run("--file", "-", user=user, input="print('from', 'stdin')\n")
            self.assertEqual((done.returncode, done.stdout), (0, "from stdin\n"), done.stderr)
            done = paddock.run("--file", "-", "--language", "bash", user=user, input="echo $((6*7))\n")
            self.assertEqual((done.returncode, done.stdout), (0, "42\n"), done.stderr)

    def test_a_granted_file_of_etc_is_the_hosts(self):
        for user in self.each_user():
            for path in ("/etc/hosts", "/etc/hostname", "/etc/nsswitch.conf"):
                with open(path) as file:
                    expected = file.read()
                done = paddock.run("--read", path, "--", "cat", path, user=user)
                self.assertEqual((done.returncode, done.stdout), (0, expected), done.stderr)
            self.assertEqual(paddock.run("--read", "/etc/localtime", "--", "true", user=user).returncode, 0)


class ChangeSets(Case):
    def sets(self, user, state):
        return json.loads(paddock.call("diff", "--json", user=user, env={"PADDOCK_STATE": state}).stdout)["change_sets"]

    def test_a_run_that_changes_nothing_leaves_no_change_set(self):
        for user in self.each_user():
            folder, state = self.folder(user), paddock.state_folder(self, user)
            self.file(user, os.path.join(folder, "a"), "a\n")
            done = paddock.run("--workspace", ".", "--", "cat", "a", user=user, cwd=folder, env={"PADDOCK_STATE": state})
            self.assertEqual((done.returncode, done.stdout, done.stderr), (0, "a\n", ""))
            self.assertEqual(self.sets(user, state), [])
            done = paddock.run("--workspace", ".", "--", "sh", "-c", "echo b > b", user=user, cwd=folder, env={"PADDOCK_STATE": state})
            self.assertIn("change set: ", done.stderr)
            self.assertEqual(len(self.sets(user, state)), 1)

    def test_old_change_sets_are_pruned_when_that_is_asked_for(self):
        for user in self.each_user():
            folder, state = self.folder(user), paddock.state_folder(self, user)
            env = {"PADDOCK_STATE": state}
            for name in ("b", "c"):
                paddock.run("--workspace", ".", "--quiet", "--", "touch", name, user=user, cwd=folder, env=env)
            kept = json.loads(paddock.call("diff", "--prune", "1h", "--json", user=user, env=env).stdout)
            self.assertEqual((kept["removed"], kept["left"]), ([], 2))
            wrong = paddock.call("diff", "--prune", "soon", user=user, env=env)
            self.assertEqual(wrong.returncode, 125, wrong.stdout)
            self.assertEqual(len(self.sets(user, state)), 2)
            time.sleep(1.1)
            gone = json.loads(paddock.call("diff", "--prune", "1s", "--json", user=user, env=env).stdout)
            self.assertEqual((len(gone["removed"]), gone["left"]), (2, 0))
            self.assertEqual(self.sets(user, state), [])


if __name__ == "__main__":
    paddock.main()
