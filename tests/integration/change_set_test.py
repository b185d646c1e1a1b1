"""What a program does to a copied workspace: nothing on the host, until `paddock apply`."""
import json
import os
import shutil
import stat
import unittest

from support import paddock


class ChangeSetTest(unittest.TestCase):
    def workspace(self, user, files):
        path = paddock.folder(user)
        self.addCleanup(shutil.rmtree, path, ignore_errors=True)
        for name, text in files.items():
            self.write(user, os.path.join(path, name), text)
        return path

    def write(self, user, path, text):
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w") as file:
            file.write(text)
        paddock.give(os.path.dirname(path), user)
        paddock.give(path, user)

    def read(self, *parts):
        with open(os.path.join(*parts)) as file:
            return file.read()

    def change(self, user, workspace, script, *flags):
        """Runs `script` in a copy of the workspace; the change set's id."""
        done = paddock.call("run", "--json", "--workspace", workspace + ":copy", *flags, "--", "bash", "-c", script, user=user)
        result = json.loads(done.stdout)
        self.assertIn("outcome", result, result)
        self.assertEqual(result["outcome"], {"kind": "exited", "code": 0}, result)
        self.addCleanup(paddock.call, "apply", result["change_set"], "--discard", user=user)
        return result["change_set"]

    def diff(self, user, change_set):
        found = json.loads(paddock.call("diff", change_set, "--json", user=user).stdout)
        self.assertIn("changes", found)
        return {change["path"]: change for change in found["changes"]}

    def apply(self, user, change_set, *arguments):
        """The exit status, and what became of each path."""
        done = paddock.call("apply", change_set, "--json", *arguments, user=user)
        result = json.loads(done.stdout)
        self.assertIn("items", result, result)
        return done.returncode, {item["path"]: item["result"] for item in result["items"]}

    def each_user(self):
        for user in paddock.USERS:
            with self.subTest(user=user):
                yield user

    def test_the_workspace_stays_until_apply(self):
        for user in self.each_user():
            workspace = self.workspace(user, {"kept": "k", "changed": "old\n", "gone": "g", "tree/file": "t"})
            change_set = self.change(user, workspace, """
                set -e
                cd /workspace
                echo new > changed; rm gone; rm -r tree; mkdir made; echo x > made/file; ln -s made/file link""")
            self.assertEqual(sorted(os.listdir(workspace)), ["changed", "gone", "kept", "tree"])
            self.assertEqual(self.read(workspace, "changed"), "old\n")
            kinds = {path: change["kind"] for path, change in self.diff(user, change_set).items()}
            self.assertEqual(kinds, {"changed": "changed", "gone": "removed", "tree": "removed", "tree/file": "removed",
                                     "made": "added", "made/file": "added", "link": "added"})
            text = paddock.call("diff", change_set, "--text", "changed", user=user).stdout
            self.assertIn("-old\n+new\n", text)

            status, results = self.apply(user, change_set)
            self.assertEqual((status, set(results.values())), (0, {"applied"}), results)
            self.assertEqual(sorted(os.listdir(workspace)), ["changed", "kept", "link", "made"])
            self.assertEqual(self.read(workspace, "link"), "x\n")
            owner = os.stat(workspace).st_uid
            self.assertEqual(os.stat(os.path.join(workspace, "changed")).st_uid, owner)
            self.assertEqual(os.stat(os.path.join(workspace, "made")).st_uid, owner)
            self.assertNotEqual(paddock.call("diff", change_set, user=user).returncode, 0, "a used set is removed")

    def test_prints_the_id_for_people(self):
        for user in self.each_user():
            workspace = self.workspace(user, {"f": "x"})
            done = paddock.call("run", "--workspace", workspace + ":copy", "--", "touch", "/workspace/new", user=user)
            line = next(line for line in done.stderr.splitlines() if line.startswith("change set: "))
            change_set = line.split()[2]
            listed = paddock.call("diff", user=user).stdout
            self.assertIn(change_set, listed)
            self.assertIn(workspace, listed)
            self.assertEqual(paddock.call("apply", change_set, "--discard", user=user).returncode, 0)
            self.assertNotIn(change_set, paddock.call("diff", user=user).stdout)

    def test_what_the_host_changed_is_kept(self):
        for user in self.each_user():
            workspace = self.workspace(user, {"both": "old", "removed": "old"})
            change_set = self.change(user, workspace, "cd /workspace; echo inside > both; rm removed; echo inside > new")
            for name in ("both", "removed", "new"):
                self.write(user, os.path.join(workspace, name), "host")
            status, results = self.apply(user, change_set, "--accept-flagged")
            self.assertEqual((status, results), (1, {"both": "refused", "removed": "refused", "new": "refused"}))
            for name in ("both", "removed", "new"):
                self.assertEqual(self.read(workspace, name), "host")

    def test_what_was_written_just_before_the_run_is_no_conflict(self):
        for user in self.each_user():
            workspace = self.workspace(user, {})
            self.write(user, os.path.join(workspace, "f"), "old")
            change_set = self.change(user, workspace, "echo new > /workspace/f")
            self.assertEqual(self.apply(user, change_set), (0, {"f": "applied"}))

    def test_what_the_host_would_execute_has_to_be_named(self):
        for user in self.each_user():
            workspace = self.workspace(user, {".git/HEAD": "ref: refs/heads/main\n", ".git/config": "[core]\n\tbare = false\n",
                                              ".git/objects/x": "", ".git/refs/x": ""})
            change_set = self.change(user, workspace, """
                cd /workspace
                mkdir -p .git/hooks .vscode sub/.git
                echo x > .git/hooks/pre-commit; echo '{}' > .vscode/tasks.json; echo x > .envrc; echo x > sub/.git/HEAD
                printf '[core]\\n\\tbare = false\\n\\tfsmonitor = ./x\\n' > .git/config
                echo 'print(1)' > main.py""")
            flagged = {path for path, change in self.diff(user, change_set).items() if change["flags"]}
            self.assertEqual(flagged, {".git/hooks/pre-commit", ".git/config", ".vscode/tasks.json", ".envrc", "sub/.git/HEAD"})
            status, results = self.apply(user, change_set)
            self.assertEqual(status, 1)
            self.assertEqual({path for path, result in results.items() if result == "flagged"}, flagged)
            self.assertEqual(results["main.py"], "applied")
            self.assertFalse(os.path.exists(os.path.join(workspace, ".git/hooks/pre-commit")))
            self.assertEqual(self.apply(user, change_set, ".envrc"), (0, {".envrc": "applied"}))

    def test_links_and_special_files_do_not_come_over(self):
        for user in self.each_user():
            workspace = self.workspace(user, {"f": "x"})
            change_set = self.change(user, workspace, """
                cd /workspace
                ln -s /etc/passwd out; ln -s ../../x up; mkfifo pipe; ln f second; chmod 4777 f; true""")
            status, results = self.apply(user, change_set)
            self.assertEqual(status, 1)
            self.assertEqual([results[name] for name in ("out", "up", "pipe")], ["refused"] * 3)
            self.assertEqual(sorted(os.listdir(workspace)), ["f", "second"])
            info = os.stat(os.path.join(workspace, "f"))
            self.assertFalse(info.st_mode & (stat.S_ISUID | stat.S_ISGID | stat.S_IWOTH))
            self.assertEqual(info.st_nlink, 1)

    def test_denied_paths_stay_denied(self):
        for user in self.each_user():
            workspace = self.workspace(user, {"f": "x"})
            change_set = self.change(user, workspace, "cd /workspace; mkdir d; echo x > d/.env 2>/dev/null; echo x > d/fine",
                                     "--deny", "**/.env")
            status, results = self.apply(user, change_set, "--accept-flagged")
            self.assertEqual(results["d/fine"], "applied")
            self.assertNotEqual(results.get("d/.env"), "applied")
            self.assertEqual(os.listdir(os.path.join(workspace, "d")), ["fine"])

    def test_discard_leaves_no_change_set(self):
        for user in self.each_user():
            workspace = self.workspace(user, {"f": "x"})
            before = paddock.call("diff", "--json", user=user).stdout
            done = paddock.call("run", "--workspace", workspace + ":copy", "--discard", "--", "touch", "/workspace/new", user=user)
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertEqual(paddock.call("diff", "--json", user=user).stdout, before)

    def test_an_unknown_id_is_refused(self):
        for user in self.each_user():
            for name in ("aaaaaaaaaa", "../../etc", ""):
                for command in (["diff", name], ["apply", name], ["apply", name, "--discard"]):
                    if command == ["diff", ""]:
                        continue  # lists
                    done = paddock.call(*command, user=user)
                    self.assertEqual(done.returncode, 125, command)


if __name__ == "__main__":
    paddock.main()
