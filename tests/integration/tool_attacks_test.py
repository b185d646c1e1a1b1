"""No call that the policy forbids reaches a tool, whatever the bytes and whichever the way; limits hold across processes and restarts; an
approval is for the call that was approved and for nothing else. The tool here writes down each call that reaches it."""
import contextlib
import http.client
import json
import os
import shutil
import signal
import subprocess
import threading
import unittest

from support import mcp, paddock
from support.server import Server
from support.tools import Tools

MARK = """import json, sys
call = sys.stdin.read()
with open(PLACE + "/calls", "a") as file:
    file.write(json.dumps(call) + "\\n")
print("reached")
"""

POLICY = """version = 1
[calls]
rate = "100000/minute"
at_once = 64

[[tools]]
name = "guarded"
run = ["python3", "./mark.py"]
sandbox = { files = { write = ["PLACE"] } }
schema = { type = "object", required = ["to"], properties = { to = { type = "string" }, amount = { type = "number" } } }
rules = [ { param = "to", ends_with = "@company.com", why = "only inside the company" }, { param = "amount", max = 100, optional = true, why = "pocket money" } ]

[[tools]]
name = "scarce"
run = ["python3", "./mark.py"]
sandbox = { files = { write = ["PLACE"] } }
rate = "6/hour"

[[tools]]
name = "careful"
run = ["python3", "./mark.py"]
sandbox = { files = { write = ["PLACE"] } }
ask = { timeout = "2m" }
"""

GOOD = b'{"to":"a@company.com"}'

# Arguments as bytes: none of them is a call that the policy allows.
BAD_ARGUMENTS = {
    "another host": b'{"to":"a@evil.example"}',
    "duplicate key, good last": b'{"to":"a@evil.example","to":"a@company.com"}',
    "duplicate key, good first": b'{"to":"a@company.com","to":"a@evil.example"}',
    "duplicate key, escaped": b'{"to":"a@evil.example","t\\u006f":"a@company.com"}',
    "duplicate key deeper": b'{"to":"a@company.com","more":{"x":1,"x":2}}',
    "NaN": b'{"to":"a@company.com","amount":NaN}',
    "Infinity": b'{"to":"a@company.com","amount":-Infinity}',
    "beyond double": b'{"to":"a@company.com","amount":1e999}',
    "beyond 64 bits": b'{"to":"a@company.com","amount":18446744073709551717}',
    "minus beyond double": b'{"to":"a@company.com","amount":-1e999}',
    "a little more": b'{"to":"a@company.com","amount":100.00000000001}',
    "exponent": b'{"to":"a@company.com","amount":1.01E+2}',
    "octal": b'{"to":"a@company.com","amount":0100}',
    "hexadecimal": b'{"to":"a@company.com","amount":0x10}',
    "number as text": b'{"to":"a@company.com","amount":"1"}',
    "deep": b'{"to":"a@company.com","x":' + b"[" * 5000 + b"]" * 5000 + b"}",
    "deep objects": b'{"to":"a@company.com","x":' + b'{"a":' * 5000 + b"1" + b"}" * 5000 + b"}",
    "not UTF-8": b'{"to":"\xff@company.com"}',
    "overlong": b'{"to":"\xc0\xae@company.com"}',
    "surrogate as UTF-8": b'{"to":"\xed\xa0\x80@company.com"}',
    "lone surrogate": b'{"to":"\\ud800@company.com"}',
    "cut off UTF-8": b'{"to":"a@company.com\xe2\x82"}',
    "bare NUL": b'{"to":"a\x00@company.com"}',
    "an array": b'["a@company.com"]',
    "a text": b'"{\\"to\\":\\"a@company.com\\"}"',
    "a number": b"7",
    "null": b"null",
    "true": b"true",
    "nothing in it": b"{}",
    "prototype": b'{"__proto__":{"to":"a@company.com"}}',
    "constructor": b'{"constructor":{"prototype":{"to":"a@company.com"}}}',
    "text in a list": b'{"to":["a@company.com"]}',
    "text in an object": b'{"to":{"toString":"a@company.com"}}',
    "a blank behind": b'{"to":"a@company.com "}',
    "a newline behind": b'{"to":"a@company.com\\n"}',
    "upper case": b'{"to":"a@COMPANY.COM"}',
    "full width": '{"to":"a＠company.com"}'.encode(),
    "zero width": '{"to":"a@company.com\u200b"}'.encode(),
    "combining": '{"to":"a@company.com\u0301"}'.encode(),
    "key in upper case": b'{"TO":"a@company.com"}',
    "key with NUL": b'{"to\\u0000":"a@company.com"}',
    "key with zero width": '{"to\u200b":"a@company.com"}'.encode(),
    "two values": b'{"to":"a@company.com"}{"to":"a@company.com"}',
    "a comment": b'{"to":"a@company.com"/**/}',
    "trailing comma": b'{"to":"a@company.com",}',
    "single quotes": b"{'to':'a@company.com'}",
    "byte order mark": b'\xef\xbb\xbf{"to":"a@company.com"}',
    "too long": b'{"to":"' + b"a" * (5 << 20) + b'@company.com"}',
    "unterminated": b'{"to":"a@company.com"',
    "empty": b"",
}

# Names as JSON: none of them is the tool's.
BAD_NAMES = {
    "upper case": b'"GUARDED"', "one letter": b'"Guarded"', "blank behind": b'"guarded "', "blank before": b'" guarded"', "tab": b'"guarded\\t"', "NUL": b'"guarded\\u0000"',
    "NUL and more": b'"guarded\\u0000x"', "zero width": b'"guarded\\u200b"', "byte order mark": b'"\\ufeffguarded"', "other alphabet": '"ɡuarded"'.encode(), "full width": '"ｇuarded"'.encode(),
    "combining": b'"guarded\\u0301"', "soft hyphen": b'"gu\\u00adarded"', "path": b'"./guarded"', "path up": b'"x/../guarded"', "prefix": b'"paddock__guarded"', "suffix": b'"guarded_"', "list": b'["guarded"]',
    "object": b'{"name":"guarded"}', "null": b"null", "number": b"0", "true": b"true", "empty": b'""', "prototype": b'"__proto__"', "constructor": b'"constructor"', "pattern": b'"*"', "pattern 2": b'"guard?d"',
    "percent": b'"%67uarded"', "newline": b'"guarded\\n"', "right to left": b'"\\u202eguarded"', "long": b'"' + b"guarded" * 20000 + b'"', "not UTF-8": b'"guarded\xff"', "lone surrogate": b'"guarded\\udfff"',
}

META = json.dumps({mcp.META + "protocolVersion": mcp.MODERN, mcp.META + "clientInfo": mcp.INFO, mcp.META + "clientCapabilities": {}}).encode()


def message(number, name=b'"guarded"', arguments=GOOD, more=b"", meta=META):
    return b'{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":%s,"arguments":%s,"_meta":%s%s}}' % (number, name, arguments, meta, more)


# Whole messages. Each would be a good call if somebody took a part of it for the whole, or overlooked something.
def envelopes():
    good = message(1)
    params = b'{"name":"guarded","arguments":' + GOOD + b',"_meta":' + META + b"}"
    evil = b'{"name":"guarded","arguments":{"to":"a@evil.example"},"_meta":' + META + b"}"
    head = b'{"jsonrpc":"2.0","id":1,"method":"tools/call",'
    return {
        "a batch": b"[" + good + b"]",
        "a batch of two": b"[" + good + b"," + good + b"]",
        "an empty batch": b"[]",
        "a notification": b'{"jsonrpc":"2.0","method":"tools/call","params":' + params + b"}",
        "id null": b'{"jsonrpc":"2.0","id":null,"method":"tools/call","params":' + params + b"}",
        "id an object": b'{"jsonrpc":"2.0","id":{},"method":"tools/call","params":' + params + b"}",
        "id a fraction": b'{"jsonrpc":"2.0","id":1.5,"method":"tools/call","params":' + params + b"}",
        "params twice": head + b'"params":' + evil + b',"params":' + params + b"}",
        "params twice, turned": head + b'"params":' + params + b',"params":' + evil + b"}",
        "method twice": b'{"jsonrpc":"2.0","id":1,"method":"tools/list","method":"tools/call","params":' + params + b"}",
        "id twice": b'{"jsonrpc":"2.0","id":1,"id":2,"method":"tools/call","params":' + params + b"}",
        "params a list": head + b'"params":["guarded",' + GOOD + b"]}",
        "no version": b'{"id":1,"method":"tools/call","params":' + params + b"}",
        "another version": b'{"jsonrpc":"1.0","id":1,"method":"tools/call","params":' + params + b"}",
        "method in upper case": good.replace(b"tools/call", b"Tools/Call"),
        "method with a blank": good.replace(b"tools/call", b"tools/call "),
        "result too": head + b'"result":{},"params":' + params + b"}",
        "name in _meta": head + b'"params":{"_meta":{"name":"guarded","arguments":' + GOOD + b"}}}",
        "arguments twice": head + b'"params":{"name":"guarded","arguments":{"to":"a@evil.example"},"arguments":' + GOOD + b"}}",
        "name twice": head + b'"params":{"name":"other","name":"guarded","arguments":' + GOOD + b"}}",
        "arguments missing": head + b'"params":{"name":"guarded","_meta":' + META + b"}}",
        "arguments in _meta": head + b'"params":{"name":"guarded","_meta":{"arguments":' + GOOD + b"}}}",
        "approved by itself": message(1, arguments=b'{"to":"a@evil.example"}', meta=META[:-1] + b',"paddock/approved":true,"sandbox":false}'),
        "policy in the call": message(1, arguments=b'{"to":"a@evil.example"}', more=b',"policy":{"tools":[{"name":"guarded"}]},"sandbox":false'),
        "answers nobody asked for": message(1, arguments=b'{"to":"a@evil.example"}', more=b',"requestState":"x","inputResponses":{"approve":{"action":"accept","content":{"approve":true}}}'),
        "cut off": good[:-1],
        "two on a line": good + good.replace(b'"id":1', b'"id":2'),
        "not UTF-8 behind": good + b"\xff",
        "a NUL behind": good + b"\x00",
    }


class Attacks(Tools):
    def setUp(self):
        super().setUp()
        self.place = paddock.folder(self.user)
        self.addCleanup(shutil.rmtree, self.place, ignore_errors=True)
        self.write("mark.py", MARK.replace("PLACE", repr(self.place)))
        self.path = self.write("policy.toml", POLICY.replace("PLACE", self.place))

    def reached(self):
        with contextlib.suppress(FileNotFoundError):
            with open(os.path.join(self.place, "calls")) as file:
                return [json.loads(json.loads(line)) for line in file]
        return []

    def serve(self, **options):
        server = self.enterContext(Server(user=self.user, arguments=["--policy", self.path], **options))
        return server

    def stdio(self, state=None, era="modern"):
        process = paddock.popen("mcp", "--policy", self.path, user=self.user, env={"PADDOCK_STATE": state or self.state},
                                stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        client = mcp.Stdio(process, era=era)
        self.addCleanup(lambda: process.poll() is None and client.close())
        return client.open()

    def enterContext(self, manager):  # Python 3.11 has it
        value = manager.__enter__()
        self.addCleanup(manager.__exit__, None, None, None)
        return value

    # Bytes.

    def attack_stdio(self, attacks):
        """Each line, then an honest call that shows that the server still serves: nothing else has reached the tool by then."""
        client = self.stdio()
        for name, line in attacks.items():
            with self.subTest(attack=name):
                before = len(self.reached())
                client.send_bytes(line.replace(b"\n", b" ") + b"\n")
                if client.process.poll() is not None or not self.honest(client):
                    client = self.stdio()  # it may hang up on who sends such things
                    self.assertTrue(self.honest(client))
                now = self.reached()
                self.assertEqual([call for call in now[before:] if call != {"to": "honest@company.com"}], [], name)

    def honest(self, client):
        try:
            result = client.tool("guarded", to="honest@company.com")
            return not result.get("isError")
        except (mcp.Gone, OSError):
            return False

    def test_arguments_over_stdio(self):
        self.attack_stdio({name: message(1_000_000 + i, arguments=arguments) for i, (name, arguments) in enumerate(BAD_ARGUMENTS.items())})

    def test_names_over_stdio(self):
        self.attack_stdio({name: message(1_000_000 + i, name=spelt) for i, (name, spelt) in enumerate(BAD_NAMES.items())})

    def test_messages_over_stdio(self):
        self.attack_stdio(envelopes())

    def test_one_id_for_two_calls(self):
        client = self.stdio()
        client.send_bytes(message(77, arguments=b'{"to":"first@company.com"}') + b"\n" + message(77, arguments=b'{"to":"second@evil.example"}') + b"\n" +
                          message(77, arguments=b'{"to":"third@evil.example"}') + b"\n")
        self.assertTrue(self.honest(client))
        self.assertLessEqual({call["to"] for call in self.reached()}, {"first@company.com", "honest@company.com"})

    def post(self, server, path, body, headers=None):
        connection = server.connection()
        try:
            connection.request("POST", path, body=body, headers={"X-API-Key": server.key, "Content-Type": "application/json", **(headers or {})})
            answer = connection.getresponse()
            return answer.status, answer.read()
        except (OSError, http.client.HTTPException):
            return 0, b""
        finally:
            connection.close()

    def test_bytes_over_http(self):
        server = self.serve()
        headers = {"Accept": "application/json, text/event-stream", "MCP-Protocol-Version": mcp.MODERN, "Mcp-Method": "tools/call", "Mcp-Name": "guarded"}
        attacks = {**{f"arguments: {name}": message(1, arguments=arguments) for name, arguments in BAD_ARGUMENTS.items()},
                   **{f"name: {name}": message(1, name=spelt) for name, spelt in BAD_NAMES.items()}, **envelopes()}
        for name, body in attacks.items():
            with self.subTest(attack=name):
                self.post(server, "/mcp", body, headers)
                self.assertEqual(self.reached(), [], name)
        # What the headers say must be what the body says.
        for wrong in ({"Mcp-Name": "other"}, {"Mcp-Method": "tools/list"}, {"Mcp-Name": "Guarded"}):
            self.assertEqual(self.post(server, "/mcp", message(1), {**headers, **wrong})[0], 400)
        for wrong in ({"Origin": "http://evil.example"}, {"Host": "evil.example"}):
            self.assertIn(self.post(server, "/mcp", message(1), {**headers, **wrong})[0], (400, 403, 421))
        self.assertEqual(self.post(server, "/mcp", message(1), {**headers, "X-API-Key": "e2b_" + "0" * 40})[0], 401)
        self.assertEqual(self.reached(), [])
        status, body = self.post(server, "/mcp", message(1, name=b'"gu\\u0061rded"'), headers)
        self.assertEqual((status, self.reached()), (200, [json.loads(GOOD)]), body)

    def test_bytes_over_rest(self):
        server = self.serve()
        for name, arguments in BAD_ARGUMENTS.items():
            with self.subTest(attack=name):
                status, body = self.post(server, "/v1/tools/guarded/call", b'{"arguments":' + arguments + b"}")
                self.assertNotEqual(status, 200, body)
                self.assertEqual(self.reached(), [], name)
        for name in ("GUARDED", "guarded%00", "guarded%20", "guarded%0a", "%e2%80%8bguarded", "guarded%2f", "guarded/..", "x/../guarded", "guarded%", "%2e%2e/guarded", "guarded;x", "guarded%ff"):
            with self.subTest(name=name):
                status, body = self.post(server, f"/v1/tools/{name}/call", b'{"arguments":' + GOOD + b"}")
                self.assertIn(status, (400, 404), body)
                self.assertEqual(self.reached(), [], name)
        self.assertEqual(self.post(server, "/v1/tools/guarded/call", b'{"arguments":' + GOOD + b',"dry_run":true}')[0], 200)
        self.assertEqual(self.reached(), [])
        self.assertEqual(self.post(server, "/v1/tools/guarded/call", b'{"arguments":' + GOOD + b"}")[0], 200)
        self.assertEqual(self.reached(), [json.loads(GOOD)])

    def test_bytes_over_the_command_line(self):
        for name, arguments in BAD_ARGUMENTS.items():
            with self.subTest(attack=name):
                done = paddock.call("tool", "call", "guarded", "--params", "-", "--policy", self.path, user=self.user, env=self.environment(), input=arguments, text=False)
                self.assertEqual(done.returncode, 125, done.stderr)
        self.assertEqual(self.reached(), [])

    # Limits.

    def test_a_rate_holds_over_processes_ways_and_restarts(self):
        server = self.serve()
        clients = [self.stdio(state=server.state), self.stdio(state=server.state, era="legacy")]
        for client in clients:
            self.assertNotIn("isError", {key for key, value in client.tool("scarce").items() if value is True})
        self.assertEqual(self.post(server, "/v1/tools/scarce/call", b"{}")[0], 200)
        self.assertEqual(len(self.reached()), 3)

        for client in clients:  # nobody has the time to write anything down
            client.process.send_signal(signal.SIGKILL)
            client.process.wait()
        server.kill9()
        server.start()
        clients = [self.stdio(state=server.state), self.stdio(state=server.state, era="legacy"), self.stdio(state=server.state)]

        def by_mcp(client):
            for _ in range(4):
                client.tool("scarce")

        def by_rest():
            for _ in range(4):
                self.post(server, "/v1/tools/scarce/call", b"{}")

        def by_command_line():
            for _ in range(2):
                server.call("tool", "call", "scarce", "--policy", self.path)

        ways = [threading.Thread(target=by_mcp, args=(client,)) for client in clients] + [threading.Thread(target=way) for way in (by_rest, by_rest, by_command_line)]
        for way in ways:
            way.start()
        for way in ways:
            way.join()
        self.assertEqual(len(self.reached()), 6)
        status, body = self.post(server, "/v1/tools/scarce/call", b"{}")
        self.assertEqual((status, json.loads(body)["decision"]["rule"]), (429, "tools.scarce.rate"), body)

    # Approvals.

    def begin(self, arguments, policy=None):
        return paddock.popen("tool", "call", "careful", "--params", json.dumps(arguments), "--policy", policy or self.path, user=self.user, env=self.environment(),
                             stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

    def waiting(self, process):
        """The id that it says it waits for."""
        self.addCleanup(process.stdout.close)
        self.addCleanup(process.stderr.close)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        line = process.stderr.readline()
        self.assertIn("paddock approve ", line)
        return line.split("paddock approve ")[1].split()[0]

    def approve(self, number, *arguments):
        done = self.call("approve", number, *arguments)
        self.assertEqual(done.returncode, 0, done.stderr)

    def test_an_approval_is_for_these_arguments_alone(self):
        first = self.begin({"amount": 1})
        self.approve(self.waiting(first))
        self.assertEqual(first.wait(timeout=120), 0)
        self.assertEqual(self.reached(), [{"amount": 1}])
        # The same again, and then others: each is asked about.
        for arguments in ({"amount": 1}, {"amount": 2}, {"amount": 1, "more": True}, {"amount": "1"}):
            with self.subTest(arguments=arguments):
                other = self.begin(arguments)
                number = self.waiting(other)
                self.assertEqual(len(self.reached()), 1)
                self.approve(number, "--deny")
                self.assertEqual(other.wait(timeout=120), 125)
        self.assertEqual(len(self.reached()), 1)

    def test_an_approval_without_its_call_is_for_that_call_alone(self):
        gone = self.begin({"amount": 1})
        number = self.waiting(gone)
        gone.send_signal(signal.SIGKILL)
        gone.wait()
        self.call("approve", number)  # whether it is still there to be approved is all the same here
        other = self.begin({"amount": 1000})
        denied = self.waiting(other)
        self.assertNotEqual(denied, number)
        self.assertEqual(self.reached(), [])
        self.approve(denied, "--deny")
        self.assertEqual(other.wait(timeout=120), 125)

    def test_an_approval_does_not_outlive_a_change_of_the_policy(self):
        with open(self.path) as file:
            changed = file.read().replace('name = "careful"', 'name = "careful"\nrate = "99/minute"')
        gone = self.begin({"amount": 1})
        number = self.waiting(gone)
        gone.send_signal(signal.SIGKILL)
        gone.wait()
        self.call("approve", number)
        other = self.begin({"amount": 1}, policy=self.write("changed.toml", changed))
        denied = self.waiting(other)
        self.assertEqual(self.reached(), [])
        self.approve(denied, "--deny")
        self.assertEqual(other.wait(timeout=120), 125)


for one in paddock.USERS:
    name = f"AttacksAs{one.title()}"
    globals()[name] = type(name, (Attacks, unittest.TestCase), {"user": one})

if __name__ == "__main__":
    paddock.main()
