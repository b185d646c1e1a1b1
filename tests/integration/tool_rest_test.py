"""Tools over REST: the same decisions as everywhere, told by status and body; approvals by who may give them, and nobody else."""
import json
import os
import shutil
import threading
import unittest

from support import leftovers, paddock
from support.server import Server, until
from support.tools import CONTRACT, text_of

TOOL = r"""
import json, sys, time
call = json.load(sys.stdin)
if call.get("do") == "sleep": time.sleep(600)
if call.get("do") == "fail": sys.exit("it went wrong")
print(json.dumps({"got": call}))
"""

POLICY = """version = 1
""" + CONTRACT + """
[[tools]]
name = "servant"
title = "Does what it is told"
run = ["python3", "./tool.py", "MARKER"]

[[tools]]
name = "careful"
run = ["python3", "./tool.py"]
ask = { timeout = "1m" }

[[tools]]
name = "run_code"
"""


class ToolRest:
    user = None

    @classmethod
    def setUpClass(cls):
        cls.marker = f"rest-{os.getpid()}-{cls.user}"
        cls.folder = paddock.folder(cls.user)
        for name, text in (("tool.py", TOOL), ("policy.toml", POLICY.replace("MARKER", cls.marker))):
            with open(os.path.join(cls.folder, name), "w") as file:
                file.write(text)
            os.chmod(os.path.join(cls.folder, name), 0o644)
        try:
            cls.server = Server(user=cls.user, arguments=["--policy", os.path.join(cls.folder, "policy.toml")]).__enter__()
            cls.admin = cls.server.new_key("--scope", "admin")
        except BaseException:
            shutil.rmtree(cls.folder, ignore_errors=True)
            raise

    @classmethod
    def tearDownClass(cls):
        cls.server.__exit__()
        shutil.rmtree(cls.folder, ignore_errors=True)

    def call(self, tool, arguments=None, status=200, key=None, **more):
        answer = self.server.request("POST", f"/v1/tools/{tool}/call", {"arguments": arguments or {}, **more}, key=key)
        self.assertEqual(answer.status, status, answer)
        return answer.json()

    def approvals(self, state="waiting"):
        answer = self.server.request("GET", "/v1/approvals", key=self.admin)
        self.assertEqual(answer.status, 200, answer)
        return [one for one in answer.json()["approvals"] if one["state"] == state]

    def begin(self, tool, arguments, key=None):
        """A call that goes on meanwhile: its thread, and where its answer comes to stand."""
        answers = []
        thread = threading.Thread(target=lambda: answers.append(self.server.request("POST", f"/v1/tools/{tool}/call", {"arguments": arguments}, key=key)))
        thread.start()
        self.addCleanup(thread.join)
        return thread, answers

    def waiting(self, arguments):
        """The one approval that waits for a call with these arguments."""
        found = []
        self.assertTrue(until(lambda: found.extend(one for one in self.approvals() if one["arguments"] == arguments) or found))
        return found[0]

    def decide(self, approval, approve, key=None):
        return self.server.request("POST", f"/v1/approvals/{approval['id']}", {"approve": approve, "why": "a test"}, key=key or self.admin)

    def test_the_list(self):
        answer = self.server.request("GET", "/v1/tools", key=self.server.new_key("--scope", "read"))
        self.assertEqual(answer.status, 200, answer)
        tools = {tool["name"]: tool for tool in answer.json()["tools"]}
        self.assertEqual({name: tool["provider"] for name, tool in tools.items()},
                         {"send_email": "nobody", "delete_file": "nobody", "servant": "command", "careful": "command", "run_code": "paddock"})
        self.assertEqual(tools["servant"]["title"], "Does what it is told")
        self.assertEqual(tools["servant"]["inputSchema"], {"type": "object"})
        self.assertNotIn("servers", answer.json())
        self.assertIn("servers", self.server.request("GET", "/v1/tools", key=self.admin).json())

    def test_a_result_and_a_failure_are_both_200(self):
        done = self.call("servant", {"a": [1, "ä"]})
        self.assertEqual(done["decision"]["verdict"], "allow")
        self.assertEqual(done["result"].get("structuredContent"), {"got": {"a": [1, "ä"]}}, done)
        failed = self.call("servant", {"do": "fail"})
        self.assertTrue(failed["result"]["isError"])
        self.assertIn("it went wrong", text_of(failed["result"]))

    def test_the_contract(self):
        denied = self.call("send_email", {"to": "ann@elsewhere.example"}, status=403)
        self.assertEqual((denied["error"], denied["decision"]["verdict"], denied["decision"]["rule"]), ("denied", "deny", "tools.send_email.rules[0]"))
        self.assertIn("only inside the company", denied["message"])
        self.assertEqual(self.call("send_email", {}, status=403)["decision"]["rule"], "tools.send_email.schema")
        self.assertEqual(self.call("delete_file", {"path": "/system/x"}, status=403)["decision"]["rule"], "tools.delete_file.rules[0]")
        self.assertTrue(self.call("delete_file", {"path": "/home/x"})["result"]["isError"])  # allowed, and nobody has it

    def test_a_rate_is_429_and_says_when(self):
        for _ in range(10):
            self.call("send_email", {"to": "ann@company.com"})
        answer = self.server.request("POST", "/v1/tools/send_email/call", {"arguments": {"to": "ann@company.com"}})
        self.assertEqual(answer.status, 429, answer)
        self.assertTrue(1 <= int(answer.headers["Retry-After"]) <= 60)
        self.assertEqual(answer.json()["decision"]["rule"], "tools.send_email.rate")
        # The command line shares it.
        done = self.server.call("tool", "call", "send_email", "--params", '{"to": "ann@company.com"}', "--policy", os.path.join(self.folder, "policy.toml"))
        self.assertEqual(done.returncode, 125)
        self.assertIn("tools.send_email.rate", done.stderr)

    def test_what_is_only_judged_is_200(self):
        for tool, arguments, verdict in (("delete_file", {"path": "/home/x"}, "allow"), ("delete_file", {"path": "/system/x"}, "deny"), ("careful", {}, "ask"), ("nothing", {}, "deny")):
            self.assertEqual(self.call(tool, arguments, dry_run=True)["decision"]["verdict"], verdict, tool)

    def test_what_is_not_listed_is_404(self):
        for name in ("nothing", "SERVANT", "servant%20", "servant%E2%80%8B", "%73ervant%2F..", "create_sandbox", "servant.", "x" * 1000):
            self.assertEqual(self.call(name, status=404)["decision"]["rule"], "tools", name)
        self.assertEqual(self.call("%73ervant")["decision"]["verdict"], "allow")  # the same name, written otherwise

    def test_bodies_that_are_wrong_are_400(self):
        for body in (b"[]", b'"x"', b"{", b'{"arguments": []}', b'{"arguments": "{}"}', b'{"arguments": {}, "arguments": {"do": "fail"}}', b'{"argument": {}}',
                     b'{"arguments": {"a": NaN}}', b'{"arguments": {"a": "\xff"}}', b'{"arguments": {"a": 1e999}}', b'{"dry_run": 1}', b'{"arguments": ' + b'{"a":' * 100 + b"1" + b"}" * 100 + b"}"):
            answer = self.server.request("POST", "/v1/tools/servant/call", body)
            self.assertEqual(answer.status, 400, (body, answer))

    def test_only_who_may_calls(self):
        reader = self.server.new_key("--scope", "read")
        self.assertEqual(self.server.request("POST", "/v1/tools/servant/call", {}, key=reader).status, 403)
        self.assertEqual(self.server.request("POST", "/v1/tools/servant/call", {}, key="e2b_" + "0" * 40).status, 401)

    def test_an_approval_is_the_admins_to_give(self):
        arguments = {"for": "approval"}
        thread, answers = self.begin("careful", arguments)
        approval = self.waiting(arguments)
        self.assertEqual(approval["tool"], "careful")
        self.assertEqual(self.server.request("GET", "/v1/approvals").status, 403)
        self.assertEqual(self.decide(approval, True, key=self.server.key).status, 403)
        self.assertEqual(answers, [])
        self.assertEqual(self.decide(approval, True).status, 204)
        thread.join()
        self.assertEqual((answers[0].status, answers[0].json()["result"]["structuredContent"]), (200, {"got": arguments}), answers)

    def test_no_is_no(self):
        arguments = {"for": "denial"}
        thread, answers = self.begin("careful", arguments)
        approval = self.waiting(arguments)
        self.assertEqual(self.decide(approval, False).status, 204)
        thread.join()
        self.assertEqual((answers[0].status, answers[0].json()["decision"]["rule"]), (403, "tools.careful.ask"), answers)

    def test_who_made_the_call_cannot_approve_it(self):
        arguments = {"for": "myself"}
        thread, answers = self.begin("careful", arguments, key=self.admin)
        approval = self.waiting(arguments)
        self.assertEqual(self.decide(approval, True, key=self.admin).status, 403)
        self.assertEqual(answers, [])
        self.assertEqual(self.decide(approval, False, key=self.server.new_key("--scope", "admin")).status, 204)
        thread.join()
        self.assertEqual(answers[0].status, 403)

    def test_an_approval_that_is_not_there(self):
        self.assertEqual(self.decide({"id": "nothing"}, True).status, 404)
        for body in ({}, {"approve": "yes"}, {"approve": True, "more": 1}):
            self.assertEqual(self.server.request("POST", "/v1/approvals/nothing", body, key=self.admin).status, 400)

    def test_a_client_that_goes_cancels_its_call(self):
        connection = self.server.connection()
        connection.request("POST", "/v1/tools/servant/call", json.dumps({"arguments": {"do": "sleep"}}), {"X-API-Key": self.server.key, "Content-Type": "application/json"})
        self.assertTrue(until(lambda: leftovers.processes(self.marker)))
        connection.close()
        self.assertTrue(until(lambda: not leftovers.processes(self.marker)))

    def test_our_own_tools_work_too(self):
        done = self.call("run_code", {"code": "print(6 * 7)"})
        self.assertNotIn("isError", {key for key, value in done["result"].items() if value is True}, done)
        self.assertIn("42", json.dumps(done["result"]))

    def test_calls_are_recorded_with_who_made_them(self):
        self.call("delete_file", {"path": "/system/recorded"}, status=403)
        answer = self.server.request("GET", "/v1/audit?kind=tool.call&verdict=deny&text=recorded", key=self.admin)
        self.assertEqual(answer.status, 200, answer)
        [record] = answer.json()["records"]
        self.assertEqual((record["tenant"], record["data"]["tool"]), ("local", "delete_file"), record)

    def test_a_tenants_policy_cannot_name_tools(self):
        path = os.path.join(self.folder, "tenant.toml")
        with open(path, "w") as file:
            file.write('version = 1\n[[tools]]\nname = "mine"\n')
        os.chmod(path, 0o644)
        answer = self.server.request("PUT", "/v1/tenants/other", {"policy": path}, key=self.admin)
        if answer.status == 200:
            key = self.server.new_key("--tenant", "other")
            answer = self.server.request("POST", "/v1/sandboxes", {}, key=key)
        self.assertEqual(answer.status, 400, answer)
        self.assertIn("tools", answer.json()["message"])
        answer = self.server.request("POST", "/v1/sandboxes", {"policy": {"version": 1, "tools": [{"name": "mine"}]}})
        self.assertEqual(answer.status, 403, answer)


for one in paddock.USERS:
    name = f"ToolRestAs{one.title()}"
    globals()[name] = type(name, (ToolRest, unittest.TestCase), {"user": one})

if __name__ == "__main__":
    paddock.main()
