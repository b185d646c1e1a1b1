"""The life of real sandboxes: random operations against a model with the server killed now and then, times, snapshots and
forks, volumes, quotas; nothing is left."""
import os
import random
import time
import unittest

from support import paddock
from support.server import Served, until


class Lives(Served):
    def tearDown(self):
        self.server.kill_all()

    def ask(self, method, path, body=None, **options):
        return self.server.request(method, "/v1" + path, body, **options)

    def make(self, **body):
        answer = self.ask("POST", "/sandboxes", body)
        self.assertEqual(answer.status, 201, answer)
        return answer.json()["id"]

    def run_in(self, sandbox, command):
        answer = self.ask("POST", f"/sandboxes/{sandbox}/exec?wait=1", {"command": command})
        self.assertEqual(answer.status, 200, answer)
        return answer.json()["stdout"].strip()

    def state(self, sandbox):
        answer = self.ask("GET", f"/sandboxes/{sandbox}")
        return answer.json()["state"] if answer.status == 200 else None

    def restart(self):
        self.server.kill9()
        self.server.start()

    # ---- the model

    def test_random_operations_do_what_a_model_says(self):
        chosen = random.Random(20240915)
        model = {}  # id → state ("running", "frozen", "files"), the number in its file, whether its sleeper lives

        def check(sandbox):
            state, number, sleeper = model[sandbox]
            self.assertEqual(self.state(sandbox), "running" if state == "running" else "paused")
            if state == "running":
                self.assertEqual(self.run_in(sandbox, "cat ~/number"), str(number))
                alive = self.run_in(sandbox, "kill -0 $(cat ~/pid) 2>/dev/null && echo yes || echo no")
                if sleeper:
                    self.assertEqual(alive, "yes")

        for step in range(45):
            choice = chosen.random()
            if not model or (choice < 0.15 and len(model) < 4):
                sandbox = self.make(timeout_ms=600_000)
                self.run_in(sandbox, f"echo {step} > ~/number; (setsid sleep 1000 >/dev/null 2>&1 & echo $! > ~/pid)")
                model[sandbox] = ["running", step, True]
                continue
            sandbox = chosen.choice(sorted(model))
            one = model[sandbox]
            if choice < 0.40:
                memory = chosen.random() < 0.6
                answer = self.ask("POST", f"/sandboxes/{sandbox}/pause", {"memory": memory})
                self.assertLess(answer.status, 300, answer)  # paused already: as it is
                if one[0] == "running":
                    one[0] = "frozen" if memory else "files"
                    one[2] = one[2] and memory
            elif choice < 0.65:
                answer = self.ask("POST", f"/sandboxes/{sandbox}/resume", {})
                self.assertLess(answer.status, 300, answer)
                one[0] = "running"
            elif choice < 0.75:
                if one[0] == "running":
                    one[1] = step
                    self.run_in(sandbox, f"echo {step} > ~/number")
            elif choice < 0.82:
                self.assertLess(self.ask("DELETE", f"/sandboxes/{sandbox}").status, 300)
                del model[sandbox]
                self.assertIsNone(self.state(sandbox))
                continue
            elif choice < 0.90:
                self.restart()
            check(sandbox)
        for sandbox in model:
            check(sandbox)

    # ---- times

    def test_a_timeout_ends_it_and_a_later_one_does_not(self):
        short = self.make(timeout_ms=1500)
        moved = self.make(timeout_ms=2500)
        idle = self.make(timeout_ms=600_000, idle_timeout_ms=1500)
        paused = self.make(timeout_ms=1500, on_timeout="pause")
        self.assertLess(self.ask("POST", f"/sandboxes/{moved}/timeout", {"timeout_ms": 600_000}).status, 300)
        self.assertTrue(until(lambda: self.state(short) is None))
        self.assertTrue(until(lambda: self.state(idle) is None))
        self.assertTrue(until(lambda: self.state(paused) == "paused"))
        time.sleep(1.5)
        self.assertEqual(self.state(moved), "running")

    def test_an_end_that_passed_while_no_server_ran_is_kept(self):
        sandbox = self.make(timeout_ms=4000)
        self.server.kill9()
        time.sleep(4)
        self.server.start()
        self.assertTrue(until(lambda: self.state(sandbox) is None))
        self.assertTrue(until(lambda: not os.listdir(os.path.join(self.server.state, "server", "sandboxes"))))

    # ---- snapshots and forks

    def test_a_snapshot_and_forks_have_the_files_and_go_their_own_ways(self):
        sandbox = self.make()
        self.run_in(sandbox, "mkdir -p ~/d; echo one > ~/d/f; ln ~/d/f ~/d/g; chmod 640 ~/d/f; rm -rf ~/.bashrc; echo x > /tmp/t")
        answer = self.ask("POST", f"/sandboxes/{sandbox}/snapshots", {"name": "kept"})
        self.assertEqual(answer.status, 201, answer)
        forks = self.ask("POST", f"/sandboxes/{sandbox}/fork", {"count": 2})
        self.assertEqual(forks.status, 201, forks)
        first, second = [entry["sandbox"]["id"] for entry in forks.json()["sandboxes"]]
        self.run_in(first, "echo two > ~/d/f")
        self.assertEqual(self.run_in(second, "cat ~/d/f ~/d/g; stat -c %a ~/d/f; ls ~/.bashrc 2>/dev/null | wc -l"), "one\none\n640\n0")
        self.assertEqual(self.run_in(sandbox, "cat ~/d/f"), "one")
        self.ask("DELETE", f"/sandboxes/{sandbox}")
        self.restart()
        self.assertEqual(self.run_in(first, "cat ~/d/f"), "two")
        again = self.make(template="kept")
        self.assertEqual(self.run_in(again, "cat ~/d/g; stat -c %h ~/d/f"), "one\n2")

    # ---- volumes

    def test_a_volume_is_shared_and_outlives_its_sandboxes(self):
        name = f"shared-{os.getpid()}"
        self.assertEqual(self.ask("POST", "/volumes", {"name": name, "quota_bytes": 1 << 20}).status, 201)
        writer = self.make(volumes=[{"name": name, "path": "/mnt/data"}])
        reader = self.make(volumes=[{"name": name, "path": "/mnt/data", "read_only": True}])
        self.run_in(writer, "echo hello > /mnt/data/f")
        self.assertEqual(self.run_in(reader, "cat /mnt/data/f; touch /mnt/data/g 2>/dev/null || echo refused"), "hello\nrefused")
        self.assertEqual(self.ask("DELETE", f"/volumes/{name}").status, 409)
        self.ask("DELETE", f"/sandboxes/{writer}")
        self.ask("DELETE", f"/sandboxes/{reader}")
        later = self.make(volumes=[{"name": name, "path": "/mnt/data"}])
        self.assertEqual(self.run_in(later, "cat /mnt/data/f"), "hello")
        self.run_in(later, "head -c 3000000 /dev/urandom > /mnt/data/big")
        self.assertTrue(until(lambda: self.state(later) is None), "a sandbox that fills its volume is ended")
        answer = self.ask("POST", "/sandboxes", {"volumes": [{"name": name, "path": "/mnt/data"}]})
        self.assertEqual(answer.status, 429, answer)
        self.assertTrue(until(lambda: self.ask("DELETE", f"/volumes/{name}").status < 300))


class AsRootTest(Lives, unittest.TestCase):
    user = "root" if "root" in paddock.USERS else "user"


@unittest.skipUnless("user" in paddock.USERS and "root" in paddock.USERS, "there is one kind of user only")
class AsUserTest(Lives, unittest.TestCase):
    user = "user"


if __name__ == "__main__":
    paddock.main()
