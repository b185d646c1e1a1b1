"""The rules of [monitor]: warned about, paused or ended by what is used, in a run and in living sandboxes, with the history told."""
import json
import os
import subprocess
import sys
import unittest

from support import internet, paddock
from support.internet import as_each_user
from support.server import Served, Server, until

SPIN = "while True: pass"
# Grows and stays: a rule is about what is there when somebody looks.
GROW = "x = []\nfor _ in range(8): x.append(bytearray(16 << 20))\nimport time; time.sleep(600)"
FORK = "import os, time\nfor _ in range(9):\n    if os.fork() == 0: time.sleep(600)\ntime.sleep(600)"
DOWNLOAD = "while :; do curl -s -o /dev/null 'http://good.example/big?size=1000000'; done"


def samples_are_whole(test, history):
    test.assertTrue(history)
    times = [sample["time_ms"] for sample in history]
    test.assertEqual(times, sorted(times))
    for name in ("cpu_percent", "memory", "memory_peak", "pids", "disk", "net_up", "net_down", "connections", "oom_kills"):
        test.assertIn(name, history[-1])


class RunTest(unittest.TestCase):
    def ended(self, result, limit, rule):
        self.assertEqual({key: result["outcome"][key] for key in ("kind", "limit", "rule")}, {"kind": "limit", "limit": limit, "rule": rule}, result)
        self.assertEqual(result["limits_hit"][-1]["limit"], limit)
        samples_are_whole(self, result["history"])
        return result["outcome"]

    @paddock.on_both
    def test_cpu(self, user, wall):
        done = paddock.call("run", "--wall", wall, "--json", "--kill-if", "cpu=>5% for 1s", "--code", SPIN, user=user)
        self.assertEqual(done.returncode, 137, done.stderr)
        outcome = self.ended(json.loads(done.stdout), "monitor.kill_if.cpu", ">5% for 1s")
        self.assertEqual(outcome["value"], 5)
        self.assertGreater(outcome["peak"], 5)

    @paddock.on_both
    def test_memory(self, user, wall):
        result = paddock.run_json("--wall", wall, "--memory", "512M", "--kill-if", "memory=>64M", "--code", GROW, user=user)
        outcome = self.ended(result, "monitor.kill_if.memory", ">64M")
        self.assertEqual(outcome["value"], 64 << 20)
        self.assertGreater(outcome["peak"], 64 << 20)
        self.assertGreater(result["history"][-1]["memory"], 64 << 20)

    @paddock.on_both
    def test_memory_as_part_of_the_limit(self, user, wall):
        result = paddock.run_json("--wall", wall, "--memory", "512M", "--kill-if", "memory=>12.5%", "--code", GROW, user=user)
        self.assertEqual(self.ended(result, "monitor.kill_if.memory", ">12.5%")["value"], 64 << 20)

    @paddock.on_both
    def test_processes(self, user, wall):
        result = paddock.run_json("--wall", wall, "--kill-if", "pids=>5", "--code", FORK, user=user)
        self.assertEqual(self.ended(result, "monitor.kill_if.pids", ">5")["peak"], 10)

    @paddock.on_both
    def test_disk(self, user, wall):
        script = 'head -c 8000000 /dev/zero > "$HOME/file"; sleep 600'
        result = paddock.run_json("--wall", wall, "--kill-if", "disk=>4M", "--", "sh", "-c", script, user=user)
        self.ended(result, "monitor.kill_if.disk", ">4M")

    @paddock.on_both
    def test_one_line_for_people(self, user, wall):
        done = paddock.call("run", "--wall", wall, "--kill-if", "pids=>5", "--code", FORK, user=user)
        self.assertEqual(done.returncode, 137)
        self.assertIn('paddock: stopped by a limit: limit=monitor.kill_if.pids rule=">5" peak=10\n', done.stderr)

    @paddock.on_both
    def test_a_warning_lets_it_go_on(self, user, wall):
        result = paddock.run_json("--wall", wall, "--warn-if", "pids=>2", "--code", "import os, time\nif os.fork() and os.fork(): os.fork()\ntime.sleep(3)", user=user)
        self.assertEqual(result["outcome"], {"kind": "exited", "code": 0})
        self.assertTrue([note for note in result["notes"] if note.startswith("monitor.warn_if.pids >2: ")], result["notes"])
        self.assertEqual(result["limits_hit"], [])
        samples_are_whole(self, result["history"])

    @paddock.on_both
    def test_what_stays_below_is_left_alone(self, user, wall):
        result = paddock.run_json("--wall", wall, "--kill-if", "memory=>400M", "--kill-if", "pids=>50", "--code", "import time; time.sleep(2.5); print('done')", user=user)
        self.assertEqual((result["outcome"], result["stdout"]), ({"kind": "exited", "code": 0}, "done\n"))

    @paddock.on_both
    def test_without_rules_nothing_is_sampled(self, user, wall):
        result = paddock.run_json("--wall", wall, "--code", "import time; time.sleep(1.5)", user=user)
        self.assertNotIn("history", result)

    @paddock.on_both
    def test_what_nobody_can_measure_is_refused(self, user, wall):
        for rule in ("disk_write=>1M", "oom=>1", "throttled=>50%", "pressure_io=>50%"):
            done = paddock.call("run", "--wall", wall, "--kill-if", rule, "--", "true", user=user)
            if done.returncode == 0:
                continue  # there are control groups for it
            self.assertEqual(done.returncode, 125, done.stderr)
            self.assertIn(f"monitor.kill_if.{rule.split('=')[0]}", done.stderr)
            self.assertIn("cannot be watched here", done.stderr)
            self.assertIn("here can be watched: cpu, memory, pids, disk", done.stderr)

    @paddock.on_both
    def test_nobody_could_resume_a_run(self, user, wall):
        done = paddock.call("run", "--wall", wall, "--pause-if", "cpu=>5%", "--", "true", user=user)
        self.assertEqual(done.returncode, 125, done.stderr)


class RunNetworkTest(internet.Case):
    @as_each_user
    def test_bytes_so_far(self, user):
        result = self.net.run_json("--allow-net", "good.example", "--kill-if", "net_total=>3M", "--", "sh", "-c", DOWNLOAD, user=user)
        outcome = result["outcome"]
        self.assertEqual((outcome["kind"], outcome["limit"], outcome["rule"]), ("limit", "monitor.kill_if.net_total", ">3M"), internet.describe(result))
        self.assertGreater(outcome["peak"], 3 << 20)
        self.assertNotIn("live", json.dumps(result["network"]["requests"][:5]))

    @as_each_user
    def test_a_rate(self, user):
        result = self.net.run_json("--allow-net", "good.example", "--kill-if", "net_down=>10K", "--", "sh", "-c", DOWNLOAD, user=user)
        self.assertEqual((result["outcome"]["kind"], result["outcome"]["limit"]), ("limit", "monitor.kill_if.net_down"), internet.describe(result))
        self.assertGreater(result["history"][-1]["net_down_rate"], 10 << 10)


class Living(Served):
    def make(self, monitor, **more):
        answer = self.server.request("POST", "/v1/sandboxes", {"policy": {"monitor": monitor}, **more})
        self.assertEqual(answer.status, 201, answer)
        return answer.json()["id"]

    def exec(self, sandbox, *argv, **more):
        return self.server.request("POST", f"/v1/sandboxes/{sandbox}/exec?wait=1", {"argv": list(argv), **more})

    def start(self, sandbox, *argv):
        answer = self.server.request("POST", f"/v1/sandboxes/{sandbox}/exec", {"argv": list(argv), "background": True})
        self.assertEqual(answer.status, 200, answer)

    def look(self, sandbox):
        return self.server.request("GET", f"/v1/sandboxes/{sandbox}")

    def log_of(self, sandbox):
        return self.server.request("GET", f"/v1/sandboxes/{sandbox}/logs").lines()

    def ended(self, answer, limit, rule):
        self.assertEqual(answer.status, 200, answer)
        result = answer.json()
        self.assertEqual({key: result["outcome"].get(key) for key in ("kind", "limit", "rule")}, {"kind": "limit", "limit": limit, "rule": rule}, result)
        samples_are_whole(self, result["history"])
        return result

    def test_cpu_ends_it_and_the_command_says_why(self):
        sandbox = self.make({"kill_if": {"cpu": ">5% for 2s"}})
        result = self.ended(self.exec(sandbox, "python3", "-c", SPIN), "monitor.kill_if.cpu", ">5% for 2s")
        self.assertEqual(result["outcome"]["value"], 5)
        self.assertGreater(result["outcome"]["peak"], 5)
        self.assertTrue(until(lambda: self.look(sandbox).status == 404))

    def test_memory(self):
        sandbox = self.make({"kill_if": {"memory": ">100M"}, "every": "200ms"}, limits={"memory": "512M"})
        result = self.ended(self.exec(sandbox, "python3", "-c", GROW), "monitor.kill_if.memory", ">100M")
        self.assertGreater(result["history"][-1]["memory"], 100 << 20)

    def test_processes_as_part_of_the_limit(self):
        sandbox = self.make({"kill_if": {"pids": ">25%"}}, limits={"pids": 24})
        self.assertEqual(self.ended(self.exec(sandbox, "python3", "-c", FORK), "monitor.kill_if.pids", ">25%")["outcome"]["value"], 6)

    def test_disk(self):
        sandbox = self.make({"kill_if": {"disk": ">4M"}})
        script = "head -c 8000000 /dev/zero > /tmp/file; while :; do :; done"
        self.ended(self.exec(sandbox, "sh", "-c", script), "monitor.kill_if.disk", ">4M")

    def test_the_stream_of_a_command_ends_with_it_too(self):
        sandbox = self.make({"kill_if": {"pids": ">5"}})
        answer = self.server.request("POST", f"/v1/sandboxes/{sandbox}/exec", {"argv": ["python3", "-c", FORK]})
        last = answer.lines()[-1]
        self.assertEqual((last["type"], last["outcome"]["limit"]), ("end", "monitor.kill_if.pids"))
        samples_are_whole(self, last["history"])

    def test_the_command_line_says_it_in_one_line(self):
        done = self.server.call("create", "--kill-if", "pids=>5")
        self.assertEqual(done.returncode, 0, done.stderr)
        done = self.server.call("exec", done.stdout.strip(), "--", "python3", "-c", FORK)
        self.assertEqual(done.returncode, 137, done.stderr)
        self.assertIn('stopped by a limit: limit=monitor.kill_if.pids rule=">5" peak=', done.stderr)

    def test_a_warning_stands_in_its_log_once(self):
        sandbox = self.make({"warn_if": {"pids": ">3"}})
        self.start(sandbox, "python3", "-c", FORK)
        warnings = lambda: [line for line in self.log_of(sandbox) if line["kind"] == "monitor.warn"]
        self.assertTrue(until(warnings))
        self.assertEqual((warnings()[0]["limit"], warnings()[0]["rule"], warnings()[0]["value"]), ("monitor.warn_if.pids", ">3", 3))
        recent = lambda: len(self.server.request("GET", f"/v1/sandboxes/{sandbox}/metrics?recent=1").json()["metrics"])
        seen = recent()
        self.assertTrue(until(lambda: recent() >= seen + 3))
        self.assertEqual(len(warnings()), 1)
        self.assertEqual(self.look(sandbox).json()["state"], "running")

    def test_a_pause_keeps_its_memory_and_who_resumes_it_takes_that_on(self):
        sandbox = self.make({"pause_if": {"pids": ">5"}})
        self.start(sandbox, "python3", "-c", FORK)
        self.assertTrue(until(lambda: self.look(sandbox).json()["state"] == "paused"))
        self.assertTrue(self.look(sandbox).json()["has_memory"])
        answer = self.server.request("POST", f"/v1/sandboxes/{sandbox}/resume", {})
        self.assertEqual(answer.status, 200, answer)
        kinds = [line["kind"] for line in self.log_of(sandbox)]
        self.assertEqual(kinds.count("monitor.pause"), 1)
        found = self.exec(sandbox, "pgrep", "-c", "python3").json()
        self.assertGreater(int(found["stdout"]), 5)
        seen = self.look(sandbox).json()["usage"]["time_ms"]
        self.assertTrue(until(lambda: self.look(sandbox).json()["usage"]["time_ms"] > seen + 2000))
        self.assertEqual(self.look(sandbox).json()["state"], "running")

    def test_the_last_minutes_and_the_hour(self):
        sandbox = self.make({})
        every = lambda query: self.server.request("GET", f"/v1/sandboxes/{sandbox}/metrics{query}").json()
        self.exec(sandbox, "sh", "-c", "i=0; while [ $i -lt 300000 ]; do i=$((i+1)); done")
        self.assertTrue(until(lambda: len(every("?recent=1")["metrics"]) >= 3))
        samples_are_whole(self, every("?recent=1")["metrics"])
        self.assertEqual(every("?recent=1")["every_ms"], 1000)
        self.assertEqual(every("")["every_ms"], 5000)
        self.assertTrue(every("")["metrics"])
        self.assertGreater(self.look(sandbox).json()["usage"]["memory"], 0)

    def test_top_once_and_as_json(self):
        sandbox = self.make({}, name="top-box")
        self.assertTrue(until(lambda: "usage" in self.look(sandbox).json()))
        done = self.server.call("top", "--once", "--sort", "memory")
        self.assertEqual(done.returncode, 0, done.stderr)
        lines = done.stdout.splitlines()
        self.assertRegex(lines[0], r"^\d+ sandboxes, \d+ running   cpu [0-9.]+%   memory ")
        self.assertTrue([line for line in lines if sandbox in line and "top-box" in line], done.stdout)
        self.assertNotIn("\x1b", done.stdout)
        shown = json.loads(self.server.call("top", "--json", "--history", "--sort", "id").stdout)
        ids = [each["id"] for each in shown["sandboxes"]]
        self.assertEqual(ids, sorted(ids))
        self.assertEqual(shown["totals"]["sandboxes"], len(ids))
        samples_are_whole(self, next(each for each in shown["sandboxes"] if each["id"] == sandbox)["history"])
        self.assertEqual(self.server.call("top", "--sort", "colour").returncode, 125)

    def test_a_restarted_server_goes_on_watching(self):
        sandbox = self.make({"kill_if": {"pids": ">5"}}, timeout_ms=600_000)
        self.server.kill9()
        self.server.start()
        self.ended(self.exec(sandbox, "python3", "-c", FORK), "monitor.kill_if.pids", ">5")


class AsRootTest(Living, unittest.TestCase):
    user = "root" if "root" in paddock.USERS else "user"


@unittest.skipUnless("user" in paddock.USERS and "root" in paddock.USERS, "there is one kind of user only")
class AsUserTest(Living, unittest.TestCase):
    user = "user"


def inside():
    """In the machine of the tests' Internet: a living sandbox that downloads too much."""
    with Server("root") as server:
        body = {"policy": {"network": {"allow": ["good.example"]}, "monitor": {"kill_if": {"net_total": ">3M"}}}}
        sandbox = server.request("POST", "/v1/sandboxes", body).json()["id"]
        print(server.request("POST", f"/v1/sandboxes/{sandbox}/exec?wait=1", {"argv": ["sh", "-c", DOWNLOAD]}).body.decode())


class LivingNetworkTest(unittest.TestCase):
    def test_bytes_so_far(self):
        with internet.Internet() as net:
            done = subprocess.run([*net.machine.enter(), sys.executable, os.path.abspath(__file__), "inside"], capture_output=True, text=True, timeout=180)
        self.assertEqual(done.returncode, 0, done.stderr[-3000:])
        result = json.loads(done.stdout)
        self.assertEqual(result["outcome"]["limit"], "monitor.kill_if.net_total", result)
        self.assertGreater(result["history"][-1]["net_down"], 3 << 20)


if __name__ == "__main__":
    inside() if sys.argv[1:] == ["inside"] else paddock.main()
