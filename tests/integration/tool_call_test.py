"""`paddock tool`: calls are judged as the policy says, commands run in their sandbox and cannot leave it, and the C++ library does the same."""
import json
import os
import re
import signal
import socket
import subprocess
import unittest

from support import leftovers, mcp, paddock
from support.server import until
from support.tools import CONTRACT, Tools, text_of

EXAMPLE = os.path.join(paddock.SOURCE, "examples", "tools", "policy.toml")

# A command that does what its arguments say.
SERVANT = r"""
import json, os, socket, sys, time
call = json.loads(sys.stdin.readline())
rest = sys.stdin.read()
what = call.get("do")
if what == "echo": print(json.dumps({"arguments": call, "rest": rest, "env": dict(os.environ), "cwd": os.getcwd(), "uid": os.getuid()}))
elif what == "text": print("only words")
elif what == "fail": print("half a result"); sys.exit("it went wrong because of the moon")
elif what == "bytes": os.write(1, b"\xff\xfe")
elif what == "list": print("[1, 2]")
elif what == "wrong": print(json.dumps({"number": "seven"}))
elif what == "right": print(json.dumps({"number": 7}))
elif what == "memory": x = bytearray(1 << 30)
elif what == "flood": sys.stdout.write("x" * (call["bytes"]))
elif what == "sleep": time.sleep(600)
elif what == "die": os.kill(os.getpid(), 11)
elif what == "leave":
    said = {}
    for name, attempt in {
        "read": lambda: open(call["path"]).read(),
        "shadow": lambda: open("/etc/shadow").read(),
        "write": lambda: open(call["path"] + ".written", "w").write("x"),
        "connect": lambda: socket.create_connection(("127.0.0.1", call["port"]), 2),
        "resolve": lambda: socket.create_connection(("paddock.example", 80), 2),
        "kill": lambda: os.kill(call["pid"], 0),
    }.items():
        try:
            attempt()
            said[name] = "done"
        except Exception as error:
            said[name] = type(error).__name__
    print(json.dumps(said))
"""

SERVANT_POLICY = """
[[tools]]
name = "servant"
description = "does what it is told"
run = ["python3", "tools/servant.py"]
sandbox = { limits = { memory = "128M", output = "64K" } }
"""


class ToolCall(Tools):
    def servant(self, text=SERVANT_POLICY):
        return self.policy(text, servant=SERVANT)

    def serve(self, do, status=0, policy=None, **arguments):
        code, said = self.ask("call", policy or self.servant(), "servant", {"do": do, **arguments})
        self.assertEqual(code, status, said)
        return said

    # The contract.

    def test_send_email_goes_to_the_company_alone(self):
        policy = self.policy(CONTRACT)
        code, said = self.ask("check", policy, "send_email", {"to": "ann@company.com"})
        self.assertEqual((code, said["decision"]["verdict"]), (0, "allow"), said)
        for to in ("ann@elsewhere.example", "ann@company.com.evil.example", "ann@COMPANY.COM", "ann@company.com\n", "@company.com@x"):
            code, said = self.ask("check", policy, "send_email", {"to": to})
            self.assertEqual((code, said["decision"]["verdict"], said["decision"]["rule"]), (1, "deny", "tools.send_email.rules[0]"), said)
            self.assertIn("only inside the company", said["decision"]["why"])
        for wrong in ({}, {"to": 7}, {"to": None}, {"to": ["ann@company.com"]}, {"TO": "ann@company.com"}):
            code, said = self.ask("check", policy, "send_email", wrong)
            self.assertEqual((code, said["decision"]["rule"]), (1, "tools.send_email.schema"), said)

    def test_a_call_that_is_denied_says_why_in_one_sentence(self):
        done = self.tool("call", "send_email", "--params", '{"to": "ann@elsewhere.example"}', "--policy", self.policy(CONTRACT))
        self.assertEqual((done.returncode, done.stdout), (125, ""), done.stderr)
        self.assertRegex(done.stderr, r"^paddock: Denied by tools\.send_email\.rules\[0\]: to must end with .*@company\.com.*only inside the company.*\n$")

    def test_what_is_allowed_and_nobody_has_is_judged_and_counted(self):
        policy = self.policy(CONTRACT)
        for _ in range(10):
            code, said = self.ask("call", policy, "send_email", {"to": "ann@company.com"})
            self.assertEqual((code, said["decision"]["verdict"]), (1, "allow"), said)
            self.assertTrue(said["result"]["isError"])
            self.assertIn("nobody", text_of(said["result"]))
        code, said = self.ask("call", policy, "send_email", {"to": "ann@company.com"})
        self.assertEqual((code, said["decision"]["verdict"], said["decision"]["rule"]), (125, "deny", "tools.send_email.rate"), said)
        self.assertGreater(said["decision"]["retry_after_ms"], 0)

    def test_what_is_only_checked_is_not_counted(self):
        policy = self.policy(CONTRACT)
        for _ in range(12):
            self.assertEqual(self.ask("check", policy, "send_email", {"to": "ann@company.com"})[0], 0)
            self.assertEqual(self.ask("call", policy, "send_email", {"to": "ann@company.com"}, "--dry-run")[0], 0)

    def test_delete_file_leaves_the_system_alone(self):
        policy = self.policy(CONTRACT)
        for path in ("/home/ann/x", "/systematic", "/home/system/x"):
            self.assertEqual(self.ask("check", policy, "delete_file", {"path": path})[0], 0, path)
        code, said = self.ask("check", policy, "delete_file", {"path": "/system/passwd"})
        self.assertEqual((code, said["decision"]["rule"]), (1, "tools.delete_file.rules[0]"), said)
        self.assertIn("system files stay", said["decision"]["why"])
        for missing in ({}, {"Path": "/home/x"}):
            self.assertEqual(self.ask("check", policy, "delete_file", missing)[0], 1, missing)

    def test_what_is_not_listed_is_denied(self):
        policy = self.policy(CONTRACT)
        for name in ("read_file", "SEND_EMAIL", "send_email ", "send_emaiⅼ", "send_email\u200b", "sendemail", ""):
            code, said = self.ask("call", policy, name, {"to": "ann@company.com"})
            self.assertEqual((code, said["decision"]["verdict"], said["decision"]["rule"]), (125, "deny", "tools"), said)

    def test_the_contract_over_mcp(self):
        policy = self.policy(CONTRACT)
        for era in ("modern", "legacy"):
            process = paddock.popen("mcp", "--policy", policy, user=self.user, env=self.environment(), stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
            with self.subTest(era=era), mcp.Stdio(process, era=era) as client:
                client.open()
                for tool, arguments, rule, why in (("send_email", {"to": "ann@elsewhere.example"}, "tools.send_email.rules[0]", "only inside the company"),
                                                   ("send_email", {}, "tools.send_email.schema", "to"),
                                                   ("delete_file", {"path": "/system/x"}, "tools.delete_file.rules[0]", "system files stay")):
                    denied = client.tool(tool, **arguments)
                    self.assertTrue(denied["isError"], denied)
                    self.assertIn(f"Denied by {rule}: ", text_of(denied))
                    self.assertIn(why, text_of(denied))
                    self.assertEqual(denied["_meta"]["paddock/denial"]["rule"], rule)
                for tool, arguments in (("send_email", {"to": "ann@company.com"}), ("delete_file", {"path": "/home/x"})):
                    self.assertIn("nobody here has the tool", text_of(client.tool(tool, **arguments)))
                with self.assertRaises(mcp.Refused) as refused:
                    client.tool("read_file", path="/etc/passwd")
                self.assertEqual((refused.exception.code, refused.exception.message), (-32602, "Unknown tool: read_file"))
                self.assertEqual(client.tools(), {})  # nobody has one of them
        # The rate is one for all: two were counted over MCP.
        for _ in range(8):
            self.assertEqual(self.ask("call", policy, "send_email", {"to": "ann@company.com"})[0], 1)
        self.assertEqual(self.ask("call", policy, "send_email", {"to": "ann@company.com"})[1]["decision"]["rule"], "tools.send_email.rate")

    def test_the_example_over_mcp(self):
        process = paddock.popen("mcp", "--policy", EXAMPLE, user=self.user, env=self.environment(), stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        with mcp.Stdio(process) as client:
            tools = client.open().tools()
            self.assertEqual(set(tools), {"weather"})
            self.assertEqual(tools["weather"]["title"], "Climate of a city")
            self.assertEqual(tools["weather"]["outputSchema"]["required"], ["city", "month", "temperature", "rain_mm"])
            result = client.tool("weather", city="Cairo", month=2, unit="fahrenheit")
            self.assertEqual(result["structuredContent"], {"city": "Cairo", "month": 2, "temperature": 59, "rain_mm": 4})
            with self.assertRaises(mcp.Refused):
                client.request("tools/list", {"cursor": "more"})
            for wrong in ({"name": 7}, {"name": "weather", "arguments": []}, {}):
                with self.assertRaises(mcp.Refused) as refused:
                    client.request("tools/call", wrong)
                self.assertEqual(refused.exception.code, -32602)

    def test_everything_is_recorded(self):
        policy = self.policy(CONTRACT)
        self.ask("call", policy, "send_email", {"to": "ann@company.com"}, "--agent", "bob")
        self.ask("call", policy, "send_email", {"to": "ann@elsewhere.example"}, "--agent", "bob")
        self.ask("call", policy, "nothing", {})
        calls = self.records("--kind", "tool.call")
        self.assertEqual([(one["data"]["tool"], one["verdict"]) for one in calls], [("send_email", "allow"), ("send_email", "deny"), ("nothing", "deny")], calls)
        self.assertEqual(calls[0]["agent"], "bob")
        self.assertEqual(self.call("audit", "verify").returncode, 0)

    # Commands.

    def test_the_example_works(self):
        code, said = self.ask("call", EXAMPLE, "weather", {"city": "Oslo", "month": 7})
        self.assertEqual(code, 0, said)
        self.assertEqual(said["result"]["structuredContent"], {"city": "Oslo", "month": 7, "temperature": 16, "rain_mm": 81})
        self.assertEqual(json.loads(text_of(said["result"])), said["result"]["structuredContent"])
        done = self.tool("call", "weather", "--params", '{"city": "Atlantis"}', "--policy", EXAMPLE)
        self.assertEqual((done.returncode, done.stdout), (1, ""))
        self.assertIn("there is no city 'Atlantis'", done.stderr)
        code, said = self.ask("call", EXAMPLE, "weather", {"city": "Oslo", "month": 13})
        self.assertEqual((code, said["decision"]["rule"]), (125, "tools.weather.schema"), said)

    def test_a_command_gets_its_arguments_and_nothing_of_the_callers(self):
        policy = self.servant()
        arguments = {"do": "echo", "text": "ä\n\"\\\u2028", "big": 2**53, "list": [1, [2, {"a": None}]], "empty": {}}
        code, said = self.ask("call", policy, "servant", arguments, env={"SECRET_OF_MINE": "open-sesame", "PYTHONSTARTUP": "/x"})
        self.assertEqual(code, 0, said)
        got = said["result"]["structuredContent"]
        self.assertEqual(got["arguments"], arguments)
        self.assertEqual(got["rest"], "")
        self.assertEqual(got["env"]["PADDOCK_TOOL"], "servant")
        self.assertFalse({"SECRET_OF_MINE", "PYTHONSTARTUP", "PADDOCK_STATE"} & set(got["env"]), got["env"])

    def test_what_it_prints_is_the_result(self):
        self.assertEqual(text_of(self.serve("text")["result"]), "only words\n")
        self.assertNotIn("structuredContent", self.serve("list")["result"])

    def test_a_command_that_fails_says_why(self):
        said = text_of(self.serve("fail", status=1)["result"])
        self.assertIn("exited with status 1", said)
        self.assertIn("because of the moon", said)
        self.assertNotIn("half a result", said)
        self.assertIn("SIGSEGV", text_of(self.serve("die", status=1)["result"]))
        self.assertIn("UTF-8", text_of(self.serve("bytes", status=1)["result"]))

    def test_the_output_schema_holds(self):
        policy = self.servant(SERVANT_POLICY + 'output_schema = { type = "object", properties = { number = { type = "integer" } }, required = ["number"] }\n')
        self.assertEqual(self.serve("right", policy=policy)["result"]["structuredContent"], {"number": 7})
        for do in ("wrong", "text", "list"):
            self.assertIn("output_schema", text_of(self.serve(do, status=1, policy=policy)["result"]))

    def test_limits_are_named(self):
        self.assertIn("limit memory", text_of(self.serve("memory", status=1)["result"]))

    def test_its_time_is_limited_and_nothing_of_it_stays(self):
        marker = f"marker-{os.getpid()}-{self.user}"
        text = f'[[tools]]\nname = "servant"\ntimeout = "1s"\nrun = ["python3", "tools/servant.py", "{marker}"]\n'
        said = self.serve("sleep", status=1, policy=self.servant(text))
        self.assertRegex(json.dumps(said), r"1s|1 s|timeout")
        self.assertTrue(until(lambda: not leftovers.processes(marker)))

    def test_ctrl_c_ends_the_tool_and_is_recorded(self):
        marker = f"interrupt-{os.getpid()}-{self.user}"
        policy = self.servant(f'[[tools]]\nname = "servant"\nrun = ["python3", "tools/servant.py", "{marker}"]\n')
        process = paddock.popen("tool", "call", "servant", "--params", '{"do": "sleep"}', "--policy", policy, user=self.user, env=self.environment(),
                                stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.addCleanup(process.kill)
        self.assertTrue(until(lambda: leftovers.processes(marker)))
        process.send_signal(signal.SIGINT)
        self.assertNotEqual(process.wait(timeout=60), 0)
        self.assertTrue(until(lambda: not leftovers.processes(marker)))
        self.assertEqual([one["data"].get("tool") for one in self.records("--kind", "tool.end")], ["servant"])

    def test_kill_9_leaves_nothing_of_it(self):
        marker = f"killed-{os.getpid()}-{self.user}"
        policy = self.servant(f'[[tools]]\nname = "servant"\nrun = ["python3", "tools/servant.py", "{marker}"]\n')
        process = paddock.popen("tool", "call", "servant", "--params", '{"do": "sleep"}', "--policy", policy, user=self.user, env=self.environment(),
                                stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.addCleanup(process.kill)
        self.assertTrue(until(lambda: leftovers.processes(marker)))
        process.kill()
        process.wait()
        self.assertTrue(until(lambda: not leftovers.processes(marker)))

    def test_it_cannot_leave_its_sandbox(self):
        with socket.socket() as listener:
            listener.bind(("127.0.0.1", 0))
            listener.listen()
            path = self.write("private.txt", "private")
            said = self.serve("leave", path=path, port=listener.getsockname()[1], pid=os.getpid())
            reached = {name for name, result in said["result"]["structuredContent"].items() if result == "done"}
            self.assertLessEqual(reached, {"write"}, said)  # into a /tmp of its own
            listener.setblocking(False)
            self.assertRaises(BlockingIOError, listener.accept)
        self.assertFalse(os.path.exists(path + ".written"))

    def test_what_its_sandbox_grants_it_has(self):
        out = paddock.folder(self.user)
        self.addCleanup(lambda: subprocess.run(["rm", "-rf", out], check=False))
        policy = self.policy(f'[[tools]]\nname = "note"\nrun = ["python3", "tools/note.py"]\nsandbox = {{ files = {{ write = ["{out}"] }} }}\n',
                             note=f"import json, sys\nopen('{out}/note', 'a').write(json.load(sys.stdin)['text'])\n")
        self.assertEqual(self.ask("call", policy, "note", {"text": "kept"}, "--dry-run")[0], 0)
        self.assertFalse(os.path.exists(out + "/note"))
        code, said = self.ask("call", policy, "note", {"text": "kept"})
        self.assertEqual(code, 0, said)
        with open(out + "/note") as file:
            self.assertEqual(file.read(), "kept")

    # The command line.

    def test_arguments_from_a_file_and_from_stdin(self):
        policy = self.servant()
        file = self.write("call.json", '{"do": "text"}')
        for how, options in ((f"@{file}", {}), ("-", {"input": '{"do": "text"}'})):
            done = self.tool("call", "servant", "--params", how, "--policy", policy, **options)
            self.assertEqual((done.returncode, done.stdout), (0, "only words\n"), done.stderr)

    def test_what_is_no_object_of_json_is_refused(self):
        policy = self.servant()
        for wrong in ("", "[]", '"x"', "null", "{", '{"do": "text", "do": "fail"}', '{"do": NaN}', "{'do': 'text'}", '{"a": 1e999}', "[" * 100 + "]" * 100, "@/nonexistent"):
            done = self.tool("call", "servant", "--params", wrong, "--policy", policy)
            self.assertEqual((done.returncode, done.stdout), (125, ""), (wrong, done.stderr))
        self.assertFalse(os.path.exists(os.path.join(self.state, "audit")))  # there was no call to speak of

    def test_the_list_says_who_has_what(self):
        done = self.tool("list", "--policy", EXAMPLE, "--json")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual({tool["name"]: tool["provider"] for tool in json.loads(done.stdout)["tools"]}, {"weather": "command", "send_email": "nobody", "delete_file": "nobody"})
        self.assertIn("weather", self.tool("list", "--policy", EXAMPLE).stdout)
        own = json.loads(self.tool("list", "--json").stdout)["tools"]
        self.assertLess({"run_code", "read_file", "explain_denial"}, {tool["name"] for tool in own if tool["provider"] == "paddock"})

    def test_tools_that_need_a_sandbox_that_lives_say_so(self):
        done = self.tool("call", "run_code", "--params", '{"code": "1"}')
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertIn("paddock mcp", done.stderr)
        self.assertEqual(self.tool("check", "run_code", "--params", '{"code": "1"}').returncode, 0)
        self.assertEqual(self.tool("check", "run_code", "--params", '{"code": 1}').returncode, 1)

    def test_a_policy_that_is_wrong_is_refused(self):
        for wrong in ('[[tools]]\nname = "x"\nrun = []\n', '[[tools]]\nname = "x"\nrate = "often"\n', '[[tools]]\nname = "x"\nrules = [ { param = "a", ends = "b" } ]\n'):
            done = self.tool("call", "x", "--policy", self.policy(wrong))
            self.assertEqual(done.returncode, 125, done.stderr)
            self.assertIn("policy.toml", done.stderr)

    # Elsewhere.

    def test_the_library_does_the_same(self):
        program = os.path.join(paddock.BUILD, "examples", "paddock-tools-example")
        done = paddock.call(EXAMPLE, program=program, user=self.user, env=self.environment())
        self.assertEqual(done.returncode, 0, done.stderr)
        for said in ('weather: {"city":"Oslo"', "nowhere: failed: The tool exited with status 1", "letter outside: denied by tools.send_email.rules[0]:",
                     "letter inside: allowed", "no JSON: could not be called: arguments:"):
            self.assertIn(said, done.stdout)
        self.assertEqual(done.stdout.count('at once: {"city":"Lima"'), 3, done.stdout)

    def test_the_page_is_right(self):
        with open(os.path.join(paddock.SOURCE, "docs", "tools.md")) as file:
            page = file.read()
        policy = self.policy(re.search(r"^```toml\n(.*?)^```", page, re.M | re.S)[1], greet="import json, sys\nprint('Hello, ' + json.load(sys.stdin)['name'] + '!')\n")
        blocks = re.findall(r"^\$ (paddock tool .*)\n((?:(?!\$ |```).*\n)*)", page, re.M)
        self.assertGreater(len(blocks), 3)
        for command, shown in blocks:
            with self.subTest(command=command):
                env = {**paddock.environment(self.user), **self.environment(), "PATH": paddock.BUILD + ":" + os.environ["PATH"]}
                done = subprocess.run(paddock.as_user(["sh", "-c", command], self.user), cwd=os.path.dirname(policy), env=env, capture_output=True, text=True, timeout=120)
                self.assertEqual((done.stdout + done.stderr).strip(), shown.strip())


for one in paddock.USERS:
    name = f"ToolCallAs{one.title()}"
    globals()[name] = type(name, (ToolCall, unittest.TestCase), {"user": one})

if __name__ == "__main__":
    paddock.main()
