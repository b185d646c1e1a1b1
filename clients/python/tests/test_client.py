"""Requests and answers of both clients, against a server that only plays one."""
import asyncio
import json
import unittest

from paddock import (AsyncSandbox, CommandFailed, Conflict, Denied, InvalidArgument, LimitExceeded, NotFound, Sandbox, SandboxManager, ServerUnavailable)
from tests.fake_server import FakeServer

RUN = [{"type": "start", "pid": 7}, {"type": "stdout", "data": "hé"}, {"type": "stdout", "base64": "/w=="}, {"type": "stderr", "data": "oh"},
       {"type": "end", "outcome": {"kind": "exited", "code": 3}}]
CODE = [{"type": "number_of_executions", "execution_count": 1}, {"type": "stdout", "text": "hi\n"},
        {"type": "result", "is_main_result": True, "text": "2", "png": "AAAA"}, {"type": "keepalive"}, {"type": "end_of_execution"}]


def routes(**more):
    known = {
        "POST /v1/sandboxes": lambda request: (201, {"id": "abc", "state": "running"}),
        "GET /v1/sandboxes/abc": lambda request: (200, {"id": "abc", "state": "running", "metadata": {"k": "v"}, "unknown": 1}),
        "DELETE /v1/sandboxes/abc": lambda request: (204, b""),
        "POST /v1/sandboxes/abc/exec": lambda request: (200, RUN),
        "POST /v1/sandboxes/abc/code": lambda request: (200, CODE),
        "PUT /v1/sandboxes/abc/files": lambda request: (200, {"entry": {"name": "x", "path": "/x", "type": "file", "size": len(request["body"])}}),
        "GET /v1/sandboxes/abc/files": lambda request: (200, b"\x00\xff"),
    }
    known.update(more)
    return known


class SyncTest(unittest.TestCase):
    def sandbox(self, server, **options):
        return Sandbox(url=server.url, api_key="k", **options)

    def test_creates_with_what_was_asked_for(self):
        with FakeServer(routes()) as server:
            self.sandbox(server, memory="256M", cpu=0.5, allow_net=["pypi.org"], timeout=1.5, volumes={"data": "/mnt:ro"}, policy="strict", env={"A": "b"}, template="base")
            sent = json.loads(server.requests[0]["body"])
        self.assertEqual(sent["limits"], {"memory": "256M", "cpu": 0.5})
        self.assertEqual(sent["allow_net"], ["pypi.org"])
        self.assertEqual(sent["timeout_ms"], 1500)
        self.assertEqual(sent["volumes"], [{"name": "data", "path": "/mnt", "read_only": True}])
        self.assertEqual((sent["policy"], sent["env"], sent["template"]), ("strict", {"A": "b"}, "base"))
        self.assertEqual(server.requests[0]["headers"]["X-API-Key"], "k")

    def test_runs_commands_with_bytes_and_callbacks(self):
        heard = []
        with FakeServer(routes()) as server:
            result = self.sandbox(server).run("ls", on_stdout=heard.append)
        self.assertEqual(result.stdout_bytes, b"h\xc3\xa9\xff")
        self.assertEqual("".join(heard), "hé\ufffd")
        self.assertEqual((result.stderr, result.exit_code, result.ok, result.pid), ("oh", 3, False, 7))
        with self.assertRaises(CommandFailed):
            result.check()

    def test_a_limit_is_an_outcome_and_an_exception_only_when_asked_for(self):
        ended = [{"type": "start", "pid": 1}, {"type": "end", "outcome": {"kind": "limit", "limit": "memory", "value": 10, "peak": 11}}]
        with FakeServer(routes(**{"POST /v1/sandboxes/abc/exec": lambda request: (200, ended)})) as server:
            result = self.sandbox(server).run(["a", "b"])
        self.assertEqual((result.outcome.kind, result.outcome.limit, result.outcome.value), ("limit", "memory", 10))
        self.assertEqual(json.loads(server.requests[-1]["body"])["argv"], ["a", "b"])
        with self.assertRaises(LimitExceeded):
            result.check()

    def test_runs_code(self):
        results, texts = [], []
        with FakeServer(routes()) as server:
            execution = self.sandbox(server).run_code("1+1", on_stdout=texts.append, on_result=results.append)
        self.assertEqual((execution.text, execution.stdout, execution.execution_count, execution.error), ("2", "hi\n", 1, None))
        self.assertEqual((texts, results[0].formats()), (["hi\n"], ["text", "png"]))

    def test_an_answer_that_breaks_off_is_no_result(self):
        with FakeServer(routes(**{"POST /v1/sandboxes/abc/exec": lambda request: (200, RUN[:-1]), "POST /v1/sandboxes/abc/code": lambda request: (200, CODE[:-1])})) as server:
            sandbox = self.sandbox(server)
            with self.assertRaises(ServerUnavailable):
                sandbox.run("ls")
            with self.assertRaises(ServerUnavailable):
                sandbox.run_code("1")

    def test_errors_have_types(self):
        def refuse(status, code):
            return lambda request: (status, {"code": status, "error": code, "message": "no", "hint": "because"})
        for status, code, expected in ((404, "not_found", NotFound), (403, "denied", Denied), (409, "conflict", Conflict), (429, "exhausted", LimitExceeded),
                                       (400, "invalid", InvalidArgument), (401, "", Denied)):
            with self.subTest(status=status), FakeServer({"POST /v1/sandboxes": refuse(status, code)}) as server:
                with self.assertRaises(expected) as caught:
                    self.sandbox(server)
                self.assertEqual(caught.exception.message, "no")

    def test_files_go_as_they_are_also_in_pieces(self):
        with FakeServer(routes()) as server:
            sandbox = self.sandbox(server)
            self.assertEqual(sandbox.files.write("a b/ü", "text").size, 4)
            self.assertEqual(server.requests[-1]["path"], "/v1/sandboxes/abc/files?path=a%20b%2F%C3%BC")
            self.assertEqual(sandbox.files.write("x", iter([b"12", b"", b"345"])).size, 5)
            self.assertEqual(sandbox.files.read_bytes("x"), b"\x00\xff")
            self.assertFalse(sandbox.files.exists("nothing"))

    def test_kill_says_whether_it_was_there(self):
        with FakeServer(routes()) as server:
            self.assertTrue(self.sandbox(server).kill())
        with FakeServer({"POST /v1/sandboxes": routes()["POST /v1/sandboxes"]}) as server:
            self.assertFalse(self.sandbox(server).kill())

    def test_connections_are_used_again(self):
        with FakeServer(routes()) as server:
            sandbox = self.sandbox(server)
            for _ in range(5):
                sandbox.info()
            self.assertEqual(len(sandbox._transport._idle), 1)

    def test_nobody_there(self):
        with self.assertRaises(ServerUnavailable):
            Sandbox(url="unix:/nonexistent/server.sock")


class AsyncTest(unittest.IsolatedAsyncioTestCase):
    async def test_the_same_awaited(self):
        heard = []

        async def hear(text):
            await asyncio.sleep(0)
            heard.append(text)
        with FakeServer(routes()) as server:
            async with AsyncSandbox(url=server.url, api_key="k") as sandbox:
                self.assertEqual((await sandbox.run("ls", on_stdout=hear)).exit_code, 3)
                self.assertEqual((await sandbox.run_code("1+1")).text, "2")
                self.assertEqual((await sandbox.files.write("x", iter([b"12", b"345"]))).size, 5)
                self.assertEqual(await sandbox.files.read_bytes("x"), b"\x00\xff")
                self.assertFalse(await sandbox.files.exists("nothing"))
                self.assertEqual((await sandbox.info()).metadata, {"k": "v"})
        self.assertEqual("".join(heard), "hé\ufffd")
        self.assertEqual(server.requests[-1]["method"], "DELETE")

    async def test_many_at_once(self):
        with FakeServer(routes()) as server:
            sandbox = await AsyncSandbox(url=server.url)
            results = await asyncio.gather(*(sandbox.run("ls") for _ in range(20)))
            self.assertEqual({result.exit_code for result in results}, {3})
            await sandbox.kill()

    async def test_nobody_there(self):
        with self.assertRaises(ServerUnavailable):
            await AsyncSandbox(url="unix:/nonexistent/server.sock")


class ManagerTest(unittest.TestCase):
    def test_each_agent_has_its_own_and_keeps_it(self):
        made = []

        def create(request):
            made.append(json.loads(request["body"]))
            return 201, {"id": f"s{len(made)}", "state": "running"}
        answers = {"POST /v1/sandboxes": create}
        for number in (1, 2):
            answers[f"GET /v1/sandboxes/s{number}"] = lambda request: (200, {"id": request["path"].split("/")[-1], "state": "running"})
            answers[f"DELETE /v1/sandboxes/s{number}"] = lambda request: (204, b"")
        with FakeServer(answers) as server, SandboxManager(most=2, url=server.url, memory="64M") as manager:
            alice, bob = manager.agent("alice", env={"ROLE": "a"}), manager.agent("bob", memory="128M")
            self.assertIs(manager.agent("alice"), alice)
            self.assertNotEqual(alice.id, bob.id)
            self.assertEqual([each["limits"]["memory"] for each in made], ["64M", "128M"])
            self.assertEqual(made[0]["metadata"], {"agent": "alice"})
            with self.assertRaises(LimitExceeded):
                manager.agent("carol")
            with self.assertRaises(Conflict):
                manager.agent("alice", memory="1G")
            self.assertTrue(manager.close("bob"))
            self.assertFalse(manager.close("bob"))
            self.assertEqual(manager.agents(), ["alice"])
            manager.close_all()
            with self.assertRaises(Conflict):
                manager.agent("alice")

    def test_one_that_ended_is_made_anew(self):
        count = [0]

        def create(request):
            count[0] += 1
            return 201, {"id": f"s{count[0]}", "state": "running"}
        with FakeServer({"POST /v1/sandboxes": create}) as server:
            manager = SandboxManager(url=server.url)
            self.assertEqual((manager.agent("a").id, manager.agent("a").id), ("s1", "s2"))


if __name__ == "__main__":
    unittest.main()
