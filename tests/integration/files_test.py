"""Which files a sandbox sees, which it may change, and what it leaves on the host."""
import ctypes
import os
import pathlib
import shutil
import stat
import socket
import threading
import time
import unittest

from support import paddock


on_container, on_process, on_both = paddock.on_container, paddock.on_process, paddock.on_both


class FilesTest(unittest.TestCase):
    def folder(self, user):
        """A new directory that belongs to `user`, at a place every user can reach."""
        path = paddock.folder(user)
        self.addCleanup(shutil.rmtree, path, ignore_errors=True)
        return path

    def write(self, user, path, text="", mode=0o644):
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w") as file:
            file.write(text)
        os.chmod(path, mode)
        while os.path.basename(path) and not os.path.basename(path).startswith("paddock-test-"):
            paddock.give(path, user)
            path = os.path.dirname(path)

    def run_shell(self, user, flags, script, wall="container"):
        return paddock.run_json("--wall", wall, *flags, "--", "bash", "-c", script, user=user)

    def assertDenied(self, result, hint=True):
        self.assertIn("error", result)
        self.assertIn(result["error"]["code"], ("denied", "unsupported", "invalid"))
        self.assertTrue(result["error"]["message"])
        if hint:
            self.assertTrue(result["error"]["hint"], result)

    # -- the default root

    @on_container
    def test_root_is_read_only(self, user, wall):
        script = """
for d in / /usr /usr/bin /etc /bin /lib /opt /var /run /home /root /srv /mnt /dev /proc /sys; do
  if touch $d/probe 2>/dev/null; then echo "wrote $d"; rm $d/probe; fi
done; echo done"""
        self.assertEqual(self.run_shell(user, [], script)["stdout"], "done\n")

    @on_container
    def test_nothing_of_the_host_is_there(self, user, wall):
        script = "ls -A /root /run /var/lib /var/log /srv /mnt /boot /media 2>/dev/null | grep -v ':$' | grep . ; ls -A /home; ls -A /tmp"
        self.assertEqual(self.run_shell(user, [], script)["stdout"], "agent\n")

    @on_container
    def test_private_places_are_private(self, user, wall):
        marker = f"paddock-marker-{os.getpid()}-{user}"
        script = f"for d in /tmp /var/tmp /dev/shm $HOME; do echo x > $d/{marker} && echo ok; done; sleep 1"
        seen = []
        places = ["/tmp", "/var/tmp", "/dev/shm", "/home/agent"]

        def look():
            for _ in range(10):
                seen.extend(place for place in places if os.path.exists(f"{place}/{marker}"))
                time.sleep(0.1)

        watcher = threading.Thread(target=look)
        watcher.start()
        result = self.run_shell(user, [], script)
        watcher.join()
        self.assertEqual(result["stdout"].split(), ["ok"] * 4, result)
        self.assertEqual(seen, [])
        self.assertEqual([place for place in places if os.path.exists(f"{place}/{marker}")], [])

    @on_container
    def test_one_run_does_not_see_the_files_of_another(self, user, wall):
        """L02: also with the same uid, nothing is left of the run before."""
        leave = "for d in /tmp /var/tmp /dev/shm $HOME; do echo x > $d/left; done"
        find = "ls -A /tmp /var/tmp /dev/shm $HOME | grep left; echo end"
        self.run_shell(user, [], leave)
        self.assertEqual(self.run_shell(user, [], find)["stdout"], "end\n")

    @on_container
    def test_tmp_is_not_executable(self, user, wall):
        script = "for d in /tmp /dev/shm /var/tmp; do cp /bin/true $d/t && chmod 755 $d/t && $d/t && echo ran $d; done 2>/dev/null; echo end"
        self.assertEqual(self.run_shell(user, [], script)["stdout"], "end\n")

    @on_container
    def test_device_nodes(self, user, wall):
        script = "ls /dev; for d in null zero full random urandom; do head -c 1 /dev/$d >/dev/null || echo bad $d; done; echo x > /dev/null && echo ok"
        names = set(self.run_shell(user, [], script)["stdout"].split())
        self.assertLessEqual(names, {"null", "zero", "full", "random", "urandom", "tty", "fd", "stdin", "stdout", "stderr", "shm", "pts", "ptmx",
                                     "mqueue", "console", "core", "ok"})
        self.assertIn("ok", names)

    # -- granted paths

    @on_both
    def test_read_grant_is_readable_and_not_writable(self, user, wall):
        folder = self.folder(user)
        self.write(user, f"{folder}/data", "hello")
        os.chmod(folder, 0o777)
        result = self.run_shell(user, ["--read", folder], f"cat {folder}/data; echo x > {folder}/new || echo refused; echo x >> {folder}/data || echo refused", wall)
        self.assertEqual(result["stdout"], "hellorefused\nrefused\n", result)
        self.assertEqual(os.listdir(folder), ["data"])

    @on_both
    def test_write_grant_keeps_the_owner(self, user, wall):
        folder = self.folder(user)
        self.write(user, f"{folder}/old", "1")
        result = self.run_shell(user, ["--write", folder], f"echo 2 >> {folder}/old && mkdir {folder}/sub && echo new > {folder}/sub/new && echo ok", wall)
        if wall == "process" and "error" in result:
            self.assertDenied(result)  # root's own directory cannot be given to another uid without a mount
            return
        self.assertEqual(result["stdout"], "ok\n", result)
        for name in ("old", "sub", "sub/new"):
            self.assertEqual(os.stat(f"{folder}/{name}").st_uid, os.stat(folder).st_uid, name)
            self.assertEqual(os.stat(f"{folder}/{name}").st_gid, os.stat(folder).st_gid, name)

    @on_both
    def test_what_is_not_granted_is_not_there(self, user, wall):
        folder = self.folder(user)
        self.write(user, f"{folder}/granted/a", "1")
        self.write(user, f"{folder}/other/b", "2")
        script = f"cat {folder}/other/b {folder}/granted/../other/b; ln -s {folder}/other/b $HOME/l 2>/dev/null && cat $HOME/l; ls {folder}/other; echo end"
        result = self.run_shell(user, ["--read", f"{folder}/granted"], script, wall)
        self.assertEqual(result["stdout"], "end\n", result)

    @on_both
    def test_symlink_in_a_grant_leads_nowhere_else(self, user, wall):
        folder = self.folder(user)
        self.write(user, f"{folder}/secret", "secret")
        self.write(user, f"{folder}/granted/a", "1")
        os.symlink("../secret", f"{folder}/granted/relative")
        os.symlink(f"{folder}/secret", f"{folder}/granted/absolute")
        result = self.run_shell(user, ["--read", f"{folder}/granted"], f"cat {folder}/granted/relative {folder}/granted/absolute; echo end", wall)
        self.assertEqual(result["stdout"], "end\n", result)

    # -- denied paths

    def deny_case(self, user, mode):
        folder = self.folder(user)
        self.write(user, f"{folder}/.env", "secret")
        self.write(user, f"{folder}/sub/.env", "secret")
        self.write(user, f"{folder}/sub/keys/id", "secret")
        self.write(user, f"{folder}/plain", "plain")
        return folder, ["--workspace", f"{folder}:{mode}"]

    READ_ALL = "cat .env sub/.env sub/keys/id /proc/self/cwd/.env /proc/self/root/workspace/sub/keys/id; cat plain; ls sub/keys"

    @on_container
    def test_denied_paths_in_ro_and_copy(self, user, wall):
        for mode in ("ro", "copy"):
            folder, flags = self.deny_case(user, mode)
            if mode == "copy":
                flags.append("--discard")
            denies = ["--deny", f"{folder}/.env", "--deny", f"{folder}/sub/.env", "--deny", f"{folder}/sub/keys"]
            result = self.run_shell(user, flags + denies, self.READ_ALL)
            self.assertEqual(result["stdout"], "plain", result)

    @on_container
    def test_denied_globs_in_ro_and_copy(self, user, wall):
        for mode in ("ro", "copy"):
            _, flags = self.deny_case(user, mode)
            if mode == "copy":
                flags.append("--discard")
            result = self.run_shell(user, flags + ["--deny", "**/.env", "--deny", "**/keys"], self.READ_ALL)
            self.assertEqual(result["stdout"], "plain", result)

    @on_container
    def test_denied_paths_cannot_be_moved_into_sight(self, user, wall):
        script = """
ln .env hard; cat hard; ln -s .env soft; cat soft
mv .env moved; cat moved; mv sub elsewhere; cat elsewhere/.env elsewhere/keys/id
cp -r sub copied; cat copied/.env; exec 7<sub; cat /proc/self/fd/7/.env /dev/fd/7/keys/id
rm -rf sub; mkdir -p sub; cat sub/.env; echo end"""
        folder, flags = self.deny_case(user, "copy")
        denies = ["--deny", f"{folder}/.env", "--deny", "**/sub/.env", "--deny", f"{folder}/sub/keys"]
        result = self.run_shell(user, flags + ["--discard"] + denies, script)
        self.assertNotIn("secret", result["stdout"])
        self.assertTrue(result["stdout"].endswith("end\n"), result)

    @on_container
    def test_deny_in_rw_is_refused_without_the_danger(self, user, wall):
        folder, flags = self.deny_case(user, "rw")
        self.assertDenied(self.run_shell(user, flags + ["--deny", "**/.env"], "true"))
        self.assertDenied(self.run_shell(user, flags + ["--deny", f"{folder}/.env"], "true"))

    @on_process
    def test_process_wall_refuses_a_deny_beneath_a_grant(self, user, wall):
        folder, _ = self.deny_case(user, "ro")
        self.assertDenied(self.run_shell(user, ["--read", folder, "--deny", f"{folder}/.env"], "true", "process"))

    # -- the workspace

    @on_container
    def test_workspace_modes(self, user, wall):
        script = "pwd; cat plain; echo more >> plain; echo new > new; rm plain; ls"
        expected = {"ro": (["plain", "sub"], "plain"), "rw": (["new", "sub"], None), "copy": (["plain", "sub"], "plain")}
        for mode, (left, text) in expected.items():
            folder = self.folder(user)
            self.write(user, f"{folder}/plain", "plain")
            self.write(user, f"{folder}/sub/a", "a")
            flags = ["--workspace", f"{folder}:{mode}"] + (["--discard"] if mode == "copy" else [])
            result = self.run_shell(user, flags, script)
            self.assertTrue(result["stdout"].startswith("/workspace\nplain"), result)
            self.assertEqual("new" in result["stdout"], mode != "ro", result)
            self.assertEqual(sorted(os.listdir(folder)), left)
            if text:
                self.assertEqual(pathlib.Path(f"{folder}/plain").read_text(), text)

    @on_container
    def test_files_of_a_read_write_run_belong_to_the_directory_owner(self, user, wall):
        script = ("echo x > file; mkdir -p a/b; ln -s file link; mkfifo fifo; ln file hard; touch -d 2001-01-01 old; "
                  "chmod 777 file; chmod 4755 old; chmod 2755 a")
        folder = self.folder(user)
        self.run_shell(user, ["--workspace", f"{folder}:rw"], script)
        owner = os.stat(folder)
        found = [os.path.join(where, name) for where, directories, files in os.walk(folder) for name in directories + files]
        self.assertEqual(len(found), 7)
        for path in found:
            now = os.lstat(path)
            self.assertEqual((now.st_uid, now.st_gid), (owner.st_uid, owner.st_gid), path)
            self.assertEqual(now.st_mode & (stat.S_ISUID | stat.S_ISGID), 0, path)

    @on_container
    def test_a_read_write_run_cannot_use_files_of_another_owner(self, user, wall):
        """Only the directory owner's files are shifted: what belongs to others inside the tree keeps its own permissions."""
        if "root" not in paddock.USERS:
            self.skipTest("needs root to make a foreign file")
        folder = self.folder(user)
        foreign = f"{folder}/foreign"
        with open(foreign, "w") as file:
            file.write("foreign")
        os.chown(foreign, 54321, 54321)
        os.chmod(foreign, 0o600)
        result = self.run_shell(user, ["--workspace", f"{folder}:rw"], "cat foreign; echo x >> foreign; chmod 777 foreign; chown $(id -u) foreign; echo end")
        self.assertEqual(result["stdout"], "end\n", result)
        now = os.stat(foreign)
        self.assertEqual((now.st_uid, now.st_mode & 0o777, pathlib.Path(foreign).read_text()), (54321, 0o600, "foreign"))

    @on_container
    def test_workspace_is_no_way_up(self, user, wall):
        folder = self.folder(user)
        self.write(user, f"{folder}/secret", "secret")
        self.write(user, f"{folder}/inner/a", "a")
        script = "cat ../secret ../../secret /workspace/../secret; ln -s ../secret s; cat s; ls -A .. | grep -x secret; mv a ../a; echo end"
        result = self.run_shell(user, ["--workspace", f"{folder}/inner:rw"], script)
        self.assertEqual(result["stdout"], "end\n", result)
        self.assertEqual(sorted(os.listdir(folder)), ["inner", "secret"])

    # -- what may not be granted

    @on_container
    def test_system_paths_are_refused(self, user, wall):
        home = paddock.environment(user)["HOME"]
        paths = ["/", "/proc", "/sys", "/dev", "/run", "/var/run", "/etc", "/root", "/proc/self", "/proc/1/root", home, "/home", "/usr/..", "//"]
        for path in paths:
            for flag in ("--read", "--write"):
                with self.subTest(user=user, flag=flag, path=path):
                    self.assertDenied(self.run_shell(user, [flag, path], "true"), hint=False)
            with self.subTest(user=user, workspace=path):
                self.assertDenied(self.run_shell(user, ["--workspace", f"{path}:rw"], "true"), hint=False)

    @on_container
    def test_key_directories_are_refused(self, user, wall):
        home = self.folder(user)
        for name in (".ssh", ".gnupg", ".aws", ".kube", ".docker"):
            self.write(user, f"{home}/{name}/key", "secret")
            for path in (f"{home}/{name}", f"{home}/{name}/key", home):
                with self.subTest(user=user, path=path):
                    result = paddock.run_json("--read", path, "--", "cat", f"{home}/{name}/key", user=user, env={"HOME": home})
                    self.assertDenied(result, hint=False)

    @on_container
    def test_a_link_to_a_system_path_is_no_way_around(self, user, wall):
        folder = self.folder(user)
        for number, target in enumerate(["/", "/etc", "/proc", "/root", "/run"]):
            link = f"{folder}/{number}"
            os.symlink(target, link)
            for flags in (["--read", link], ["--workspace", f"{link}:ro"], ["--read", f"{link}/."]):
                with self.subTest(user=user, flags=flags, target=target):
                    result = self.run_shell(user, flags, f"ls -A {link}/ /workspace/ 2>/dev/null | wc -l")
                    if "error" not in result:
                        self.assertEqual(result["stdout"].strip(), "0", result)

    @on_container
    def test_a_socket_cannot_be_granted(self, user, wall):
        folder = self.folder(user)
        with socket.socket(socket.AF_UNIX) as listener:
            listener.bind(f"{folder}/docker.sock")
            os.chmod(f"{folder}/docker.sock", 0o777)
            self.assertDenied(self.run_shell(user, ["--read", f"{folder}/docker.sock"], "true"), hint=False)

    # -- races and hostile preparations

    @on_container
    def test_a_source_that_is_swapped_while_starting(self, user, wall):
        """P11: the path flips between a directory and a link to /etc; no run may show anything of /etc."""
        folder = self.folder(user)
        os.makedirs(f"{folder}/real")
        self.write(user, f"{folder}/real/mine", "mine")
        os.symlink("/etc", f"{folder}/evil")
        path, other = f"{folder}/path", f"{folder}/evil"
        shutil.copytree(f"{folder}/real", path)
        done = threading.Event()

        def flip():
            renameat2 = ctypes.CDLL(None, use_errno=True).renameat2
            while not done.is_set():
                renameat2(-100, path.encode(), -100, other.encode(), 2)  # RENAME_EXCHANGE

        thread = threading.Thread(target=flip)
        thread.start()
        try:
            for _ in range(60):
                result = self.run_shell(user, ["--read", path, "--workspace", f"{path}:ro"], f"ls -A {path} /workspace; cat {path}/hostname /workspace/passwd")
                if "error" in result:
                    continue
                self.assertEqual(sorted(set(result["stdout"].split()) - {f"{path}:", "/workspace:", "mine"})[:3], [])
        finally:
            done.set()
            thread.join()

    @on_container
    def test_a_hostile_root_directory(self, user, wall):
        """L09, K04, P22: an image whose own directories are links to the host's; nothing is made, mounted or changed there."""
        folder = self.folder(user)
        outside, root = f"{folder}/outside", f"{folder}/root"
        os.makedirs(outside)
        os.makedirs(f"{root}/usr/bin")
        for name in ("bin", "lib", "lib64"):
            os.symlink(f"usr/{name}", f"{root}/{name}")
        for name in ("dev", "tmp", "proc", "home", "etc", "var", "workspace", "sys"):
            os.symlink(outside, f"{root}/{name}")
        shutil.copy("/bin/bash", f"{root}/usr/bin/bash")
        os.chmod(f"{root}/usr/bin/bash", 0o4755)
        for where, directories, files in os.walk(folder):
            for name in directories + files:
                paddock.give(os.path.join(where, name), user)
        result = paddock.run_json("--root", root, "--", "/usr/bin/bash", "-c", "echo x > /tmp/x; echo x > /dev/x; echo ran", user=user)
        if "error" not in result:
            self.assertEqual(result["outcome"]["kind"], "exited")
        self.assertEqual(os.listdir(outside), [])
        self.assertEqual(sorted(os.listdir(root)), sorted(["bin", "lib", "lib64", "usr", "dev", "tmp", "proc", "home", "etc", "var", "workspace", "sys"]))

    # -- the process wall

    @on_process
    def test_process_wall_refuses_what_it_cannot_hold(self, user, wall):
        folder = self.folder(user)
        self.assertDenied(self.run_shell(user, ["--workspace", f"{folder}:copy"], "true", "process"))
        self.assertDenied(self.run_shell(user, ["--root", folder], "true", "process"))
        self.assertDenied(self.run_shell(user, ["--allow-net", "example.com"], "true", "process"))

    @on_process
    def test_process_wall_shows_nothing_that_was_not_granted(self, user, wall):
        script = ("cat /var/lib/dpkg/status /var/log/dpkg.log; ls /root /home /var /run /srv /tmp /var/tmp; "
                  "for d in /tmp /var/tmp /dev/shm; do echo x > $d/probe; done; echo end")
        self.assertEqual(self.run_shell(user, [], script, "process")["stdout"], "end\n")

    @on_process
    def test_process_wall_has_a_private_directory_that_goes_away(self, user, wall):
        result = self.run_shell(user, [], "echo x > $TMPDIR/x && stat -c '%a %u' $TMPDIR && echo $TMPDIR $HOME && cat $HOME/none 2>/dev/null; true", "process")
        mode_and_owner, places = result["stdout"].splitlines()[:2]
        self.assertTrue(mode_and_owner.startswith("700 "), result)
        for place in places.split():
            self.assertFalse(os.path.exists(place), place)


if __name__ == "__main__":
    paddock.main()
