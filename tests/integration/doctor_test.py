"""paddock doctor: what works is shown by having run it, what does not comes with a reason and a fix."""
import json
import os
import pty
import shutil
import subprocess
import unittest

from support import paddock

LADDER = ["process", "container", "runc", "crun", "gvisor", "docker", "vm"]
BIN = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"  # where runtimes are looked for, whatever PATH says
RUNTIMES = [name for name in ("runc", "crun") if shutil.which(name, path=BIN)]
WALLS = ["process", "container", *RUNTIMES]  # that must work here
NETWORK = ("net_up_rate", "net_down_rate", "net_total", "connections")
LIMITS = ("memory", "cpu", "cpu_time", "wall_time", "idle_time", "pids", "open_files", "file_size", "disk", "inodes", "disk_read_rate",
          "disk_write_rate", "output", *NETWORK)


def doctor(user, *arguments, **options):
    done = paddock.call("doctor", "--json", *arguments, user=user, **options)
    try:
        return done.returncode, json.loads(done.stdout)
    except json.JSONDecodeError:
        raise AssertionError(f"no JSON: exit {done.returncode}\n{done.stdout[-2000:]}\n{done.stderr[-2000:]}")


def on_a_terminal(user, env):
    """What doctor prints when its stdout is a terminal."""
    controller, terminal = pty.openpty()
    full = paddock.environment(user)
    full.update(env)
    child = subprocess.Popen(paddock.as_user([paddock.PADDOCK, "doctor"], user), stdin=subprocess.DEVNULL, stdout=terminal, env=full, cwd="/")
    os.close(terminal)
    text = b""
    try:
        while chunk := os.read(controller, 65536):
            text += chunk
    except OSError:  # the last user of the terminal is gone
        pass
    os.close(controller)
    child.wait(timeout=60)
    return text.decode()


class DoctorTest(unittest.TestCase):
    def wall(self, found, name):
        return next(wall for wall in found["walls"] if wall["wall"] == name)

    def test_the_ladder_is_complete_and_in_order(self):
        for user in paddock.USERS:
            with self.subTest(user=user):
                status, found = doctor(user)
                self.assertEqual([wall["wall"] for wall in found["walls"]], LADDER)
                self.assertEqual((status, found["ok"]), (0, True))

    def test_what_works_names_every_limit_with_mechanism_or_reason(self):
        for user in paddock.USERS:
            _, found = doctor(user)
            for name in WALLS:
                with self.subTest(user=user, wall=name):
                    wall = self.wall(found, name)
                    self.assertEqual(wall["status"], "works", wall)
                    self.assertEqual(set(wall["limits"]), set(LIMITS))
                    for limit, support in wall["limits"].items():
                        if support["works"]:
                            self.assertIn(support["strength"], ("kernel", "sampled"))
                            self.assertTrue(support["by"])
                        else:
                            self.assertTrue(support["why"], limit)
                            self.assertTrue(support["fix"], limit)
                    for limit in NETWORK:
                        self.assertEqual(wall["limits"][limit]["works"], wall["wall"] != "process")
                    self.assertIn("files", wall["enforced"])

    def test_it_says_the_same_as_a_run(self):
        for user in paddock.USERS:
            _, found = doctor(user)
            for name in WALLS:
                with self.subTest(user=user, wall=name):
                    limits = self.wall(found, name)["limits"]
                    run = paddock.run_json("--wall", name, "--cpu", "0.5", "--memory", "64M", "--", "true", user=user)
                    if "error" in run:
                        self.assertFalse(limits["cpu"]["works"])
                        self.assertIn(limits["cpu"]["why"], run["error"]["message"])
                    else:
                        for limit in ("cpu", "memory"):
                            self.assertEqual(limits[limit]["by"], run["enforced"][limit]["by"])

    def test_walls_of_later_versions_say_so_and_what_they_would_need(self):
        _, found = doctor(paddock.USERS[0], env={"PATH": "/nonexistent", "DOCKER_HOST": "unix:///nonexistent/docker.sock"})
        for name in ("docker", "vm"):  # nothing that could be installed would give these walls
            wall = self.wall(found, name)
            self.assertEqual((wall["status"], wall["fix"]), ("not in this version", ""), name)
            self.assertTrue(wall["why"])

    @unittest.skipUnless(os.geteuid() == 0 and RUNTIMES, "needs root, to hide a runtime that is installed")
    def test_a_runtime_that_is_not_installed_comes_with_the_command(self):
        # A device cannot be executed.
        hide = "; ".join(f"mount --bind /dev/null {os.path.realpath(shutil.which(name, path=BIN))}" for name in RUNTIMES)
        done = subprocess.run(["unshare", "-m", "sh", "-c", f'{hide}; exec "$0" doctor --json', paddock.PADDOCK], stdin=subprocess.DEVNULL, capture_output=True,
                              text=True, env=paddock.environment("root"), cwd="/", timeout=120)
        found = json.loads(done.stdout)
        for name in RUNTIMES:
            wall = self.wall(found, name)
            self.assertEqual((wall["status"], wall["fix"]), ("does not work", f"apt-get install {name}"), wall)
            self.assertIn("not installed", wall["why"])
        self.assertEqual(self.wall(found, "container")["status"], "works")

    def test_the_facts_are_there(self):
        for user in paddock.USERS:
            with self.subTest(user=user):
                _, found = doctor(user)
                facts = {fact["name"]: fact for fact in found["facts"]}
                for name in ("kernel", "uid", "user namespaces", "Landlock", "seccomp", "cgroup memory", "CAP_SYS_RESOURCE", "workspace mode copy"):
                    self.assertIn(name, facts)
                self.assertTrue(any(name.startswith("idmapped mounts") for name in facts))
                for fact in facts.values():
                    self.assertTrue(fact["good"] or fact["fix"], fact)

    def test_what_previews_and_ids_need_comes_with_the_package(self):
        resolves = subprocess.run(["getent", "ahosts", "any.localhost"], capture_output=True).returncode == 0
        for user in paddock.USERS:
            facts = {fact["name"]: fact for fact in doctor(user)[1]["facts"]}
            self.assertEqual(facts["names under localhost"]["good"], resolves)
            self.assertEqual(facts["names under localhost"]["fix"], "" if resolves else "apt-get install libnss-myhostname")
            ids = facts["subordinate ids"]
            if user == "root":
                self.assertTrue(ids["good"], ids)
            elif not ids["good"]:
                self.assertIn("usermod --add-subuids" if shutil.which("newuidmap") else "apt-get install uidmap", ids["fix"])

    @unittest.skipIf(paddock.SANITIZED, "a sanitized program changes its limit of core files, which sandboxes refuse")
    def test_where_user_namespaces_are_forbidden_it_says_why_and_the_fix(self):
        # Such a place is the inside of a sandbox.
        for user in paddock.USERS:
            with self.subTest(user=user):
                done = paddock.run("--read", paddock.BUILD, "--timeout", "60s", "--", paddock.PADDOCK, "doctor", "--json", user=user)
                found = json.loads(done.stdout)
                container = self.wall(found, "container")
                self.assertEqual(container["status"], "does not work")
                self.assertTrue(container["why"] and container["fix"], container)
                fact = next(fact for fact in found["facts"] if fact["name"] == "user namespaces")
                self.assertFalse(fact["good"])
                self.assertTrue(fact["fix"])
                self.assertEqual(done.returncode, 0 if self.wall(found, "process")["status"] == "works" else 1)

    def test_colours_only_on_a_terminal(self):
        user = paddock.USERS[0]
        self.assertNotIn("\x1b", paddock.call("doctor", user=user).stdout)
        self.assertIn("\x1b[32m", on_a_terminal(user, {}))
        self.assertNotIn("\x1b", on_a_terminal(user, {"NO_COLOR": "1"}))

    def test_nothing_stays_behind(self):
        for user in paddock.USERS:
            doctor(user)
        self.assertEqual([name for name in os.listdir("/tmp") if name.startswith("paddock-doctor-")], [])


if __name__ == "__main__":
    paddock.main()
