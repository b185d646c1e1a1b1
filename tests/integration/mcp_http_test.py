"""Streamable HTTP of `paddock mcp`, and how it stands hostile clients."""
import http.client
import json
import os
import socket
import subprocess
import threading
import time
import unittest

from support import mcp, paddock, server

META = {mcp.META + "protocolVersion": mcp.MODERN, mcp.META + "clientCapabilities": {}}
MODERN = {"MCP-Protocol-Version": mcp.MODERN}
INITIALIZE = {"protocolVersion": mcp.LEGACY, "capabilities": {}, "clientInfo": mcp.INFO}


class Fixture:
    """`paddock mcp --fixture` over HTTP."""

    def __init__(self, test, *arguments, env=None):
        self.process = paddock.popen("mcp", "--fixture", "--listen", "127.0.0.1:0", "--json", *arguments, stdin=subprocess.DEVNULL,
                                     stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=env)
        test.addCleanup(self.end)
        line = self.process.stdout.readline()
        self.ready = json.loads(line or self.process.stderr.read())
        self.port = int(self.ready["url"].split(":")[2].split("/")[0])

    def end(self):
        self.process.terminate()
        status = self.process.wait(30)
        self.process.stdout.close()
        self.process.stderr.close()
        assert status == 0, status

    def send(self, body, method="POST", path="/mcp", **headers):
        """(status, headers, body) of one request; header names with _ for -, None leaves one out."""
        named = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}
        named.update({name.replace("_", "-"): value for name, value in headers.items()})
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=30)
        try:
            connection.putrequest(method, path, skip_host="Host" in named)
            data = body if isinstance(body, bytes) else json.dumps(body).encode() if body is not None else b""
            for name, value in named.items():
                for one in value if isinstance(value, list) else [value]:
                    if one is not None:
                        connection.putheader(name, one)
            connection.putheader("Content-Length", str(len(data)))
            connection.endheaders(data)
            answer = connection.getresponse()
            return answer.status, answer.headers, answer.read()
        finally:
            connection.close()

    def modern(self, method, params=None, id=1, **headers):
        params = {"_meta": META, **(params or {})}
        named = {"MCP_Protocol_Version": mcp.MODERN, "Mcp_Method": method, **headers}
        if "name" in params:
            named.setdefault("Mcp_Name", params["name"])
        return self.send({"jsonrpc": "2.0", "id": id, "method": method, "params": params}, **named)

    def session(self, **headers):
        status, answered, body = self.send({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": INITIALIZE}, **headers)
        assert status == 200, body
        return answered["Mcp-Session-Id"]


def code(answer):
    return json.loads(answer[2])["error"]["code"]


class Doors(unittest.TestCase):
    """Who is let in."""

    def test_a_token_is_needed_and_is_made_when_none_is_given(self):
        served = Fixture(self)
        token = served.ready["token"]
        self.assertGreaterEqual(len(token), 64)
        status, headers, _ = served.modern("server/discover")
        self.assertEqual((status, headers["WWW-Authenticate"]), (401, "Bearer"))
        self.assertEqual(served.modern("server/discover", Authorization="Bearer " + token[:-1] + "x")[0], 401)
        self.assertEqual(served.modern("server/discover", Authorization="Bearer " + token)[0], 200)
        self.assertEqual(served.modern("server/discover", X_API_Key=token)[0], 200)
        self.assertEqual(served.send(None, path="/other", Authorization="Bearer " + token)[0], 404)

    def test_a_given_token_is_not_printed(self):
        served = Fixture(self, env={"PADDOCK_MCP_TOKEN": "0123456789abcdef"})
        self.assertNotIn("token", served.ready)
        self.assertEqual(served.modern("server/discover", Authorization="Bearer 0123456789abcdef")[0], 200)

    def test_without_auth_only_on_loopback(self):
        done = paddock.call("mcp", "--fixture", "--listen", "0.0.0.0:0", "--no-auth", "--plaintext")
        self.assertEqual(done.returncode, 125)
        self.assertIn("loopback", done.stderr)
        done = paddock.call("mcp", "--fixture", "--listen", "0.0.0.0:0")
        self.assertEqual(done.returncode, 125, "without TLS")

    def test_pages_of_elsewhere_are_refused(self):
        served = Fixture(self, "--no-auth", "--allow-origin", "https://app.example")
        for origin, status in (("http://evil.example", 403), ("null", 403), ("http://localhost.evil.example", 403), ("http://localhost:3000", 403),
                               (f"http://127.0.0.1:{served.port}", 200), ("https://app.example", 200), (["http://localhost", "http://evil.example"], 403)):
            self.assertEqual(served.modern("server/discover", Origin=origin)[0], status, origin)
        for host, status in (("evil.example", 403), ("evil.example:%d" % served.port, 403), ("localhost", 200), ("127.0.0.1:1", 200), ("[::1]", 200)):
            self.assertEqual(served.modern("server/discover", Host=host)[0], status, host)

    def test_what_is_no_json_is_not_read(self):
        served = Fixture(self, "--no-auth")
        self.assertEqual(served.modern("server/discover", Content_Type="text/plain")[0], 415)
        self.assertEqual(served.modern("server/discover", Accept="application/json")[0], 406)
        self.assertEqual(served.modern("server/discover", Accept="text/html")[0], 406)
        self.assertEqual(served.modern("server/discover", Accept="*/*")[0], 200)
        for method in ("GET", "DELETE", "PUT"):
            status, headers, _ = served.send(None, method=method)
            self.assertEqual((status, headers["Allow"]), (405, "POST"), method)


class Messages(unittest.TestCase):
    """What is no message, or not the one that the headers speak of."""

    def setUp(self):
        self.served = Fixture(self, "--no-auth")

    def test_malformed_messages_are_refused_with_their_id(self):
        one = b'{"jsonrpc":"2.0","id":7,"method":"ping","params":{}}'
        for body, expected, id in ((b"", -32700, None), (b"{", -32700, None), (b"[" + one + b"]", -32600, None), (b"[]", -32600, None),
                                   (one.replace(b'"id":7', b'"id":7,"id":8'), -32700, None), (one.replace(b"{}", b'{"a":1,"a":2}'), -32700, None),
                                   (one.replace(b"{}", b'{"a":NaN}'), -32700, None), (one.replace(b"{}", b'{"a":"\xff"}'), -32700, None),
                                   (one.replace(b"{}", b"[" * 500 + b"]" * 500), -32700, None), (one.replace(b"{}", b"[]"), -32600, 7),
                                   (one.replace(b"7", b"7.5"), -32600, None), (one.replace(b"2.0", b"1.0"), -32600, 7)):
            status, _, answer = self.served.send(body)
            said = json.loads(answer)
            self.assertEqual((status, said["error"]["code"], said["id"]), (400, expected, id), body[:80])

    def test_a_huge_message_is_not_read_to_its_end(self):
        try:
            self.assertEqual(self.served.send(b'{"a":"' + b"x" * (5 << 20) + b'"}')[0], 413)
        except BrokenPipeError:
            pass  # it stopped reading before we had read its answer
        self.assertEqual(self.served.modern("server/discover")[0], 200)

    def test_headers_must_say_what_the_body_says(self):
        call = {"name": "test_simple_text", "arguments": {}}
        self.assertEqual(self.served.modern("tools/call", call)[0], 200)
        for headers in ({"Mcp_Method": "tools/list"}, {"Mcp_Method": None}, {"Mcp_Name": "other"}, {"Mcp_Name": None}, {"MCP_Protocol_Version": None},
                        {"MCP_Protocol_Version": "2025-11-25"}, {"Mcp_Method": ["tools/call", "tools/list"]}, {"Mcp_Name": "Test_simple_text"},
                        {"Mcp_Name": "=?base64?dGVzdF9zaW1wbGVfdGV4dA?="}):
            answer = self.served.modern("tools/call", call, **headers)
            self.assertEqual((answer[0], code(answer)), (400, -32020), headers)
        self.assertEqual(self.served.modern("tools/call", call, Mcp_Name="=?base64?dGVzdF9zaW1wbGVfdGV4dA==?=")[0], 200)

    def test_parameters_that_are_mirrored_into_headers(self):
        call = {"name": "test_custom_headers", "arguments": {"region": "eu", "priority": 3, "verbose": True}}
        good = {"Mcp_Param_Region": "eu", "Mcp_Param_Priority": "3.0", "Mcp_Param_Verbose": "true"}
        self.assertEqual(self.served.modern("tools/call", call, **good)[0], 200)
        for bad in ({"Mcp_Param_Region": "us"}, {"Mcp_Param_Region": None}, {"Mcp_Param_Priority": "4"}, {"Mcp_Param_Verbose": "TRUE"}, {"Mcp_Param_Region": ["eu", "us"]}):
            answer = self.served.modern("tools/call", call, **{**good, **bad})
            self.assertEqual((answer[0], code(answer)), (400, -32020), bad)

    def test_statuses_of_errors(self):
        answer = self.served.modern("no/such")
        self.assertEqual((answer[0], code(answer)), (404, -32601))
        answer = self.served.modern("server/discover", {"_meta": {**META, mcp.META + "protocolVersion": "1999-01-01"}}, MCP_Protocol_Version="1999-01-01")
        self.assertEqual((answer[0], code(answer)), (400, -32022))
        answer = self.served.modern("tools/call", {"name": "test_missing_capability"})
        self.assertEqual((answer[0], code(answer)), (400, -32021))
        answer = self.served.modern("tools/call", {"name": "test_nothing"})
        self.assertEqual((answer[0], code(answer)), (200, -32602))
        self.assertEqual(self.served.send({"jsonrpc": "2.0", "method": "notifications/x"}, **{"MCP-Protocol-Version": mcp.MODERN})[0], 202)
        self.assertEqual(self.served.send({"jsonrpc": "2.0", "id": 1, "result": {}}, **{"MCP-Protocol-Version": mcp.MODERN})[0], 400)


class Sessions(unittest.TestCase):
    def setUp(self):
        self.served = Fixture(self, "--no-auth")

    def ping(self, session, **headers):
        return self.served.send({"jsonrpc": "2.0", "id": 1, "method": "ping"}, Mcp_Session_Id=session, **headers)[0]

    def test_unknown_sessions_do_not_exist_and_ended_ones_neither(self):
        session = self.served.session()
        self.assertGreaterEqual(len(session), 64)
        self.assertEqual(self.ping(session), 200)
        self.assertEqual(self.ping(session, MCP_Protocol_Version=mcp.LEGACY), 200)
        self.assertEqual(self.ping(session, MCP_Protocol_Version="2024-11-05"), 400)
        self.assertEqual(self.ping("0" * 64), 404)
        self.assertEqual(self.ping(None), 400)
        self.assertEqual(self.served.send(None, method="DELETE", Mcp_Session_Id=session)[0], 204)
        self.assertEqual(self.ping(session), 404)

    def test_many_sessions_end_the_oldest_idle_one(self):
        sessions = [self.served.session() for _ in range(70)]
        self.assertEqual(self.ping(sessions[0]), 404)
        self.assertEqual(self.ping(sessions[-1]), 200)

    def test_an_id_that_is_in_use_is_refused_in_a_session_and_only_there(self):
        with mcp.Http(self.served.port, era="legacy") as client:
            client.open()
            first = client.begin("tools/call", {"name": "test_reconnection"}, progress=True)
            while not first.notifications:
                time.sleep(0.01)
            same = self.served.send({"jsonrpc": "2.0", "id": first.id, "method": "tools/list"}, Mcp_Session_Id=client.session)
            self.assertEqual(code(same), -32600)
            self.assertEqual(self.served.send({"jsonrpc": "2.0", "id": str(first.id), "method": "ping"}, Mcp_Session_Id=client.session)[0], 200)
            self.assertEqual(self.served.modern("server/discover", id=first.id)[0], 200)
            self.assertIn("Reconnection test completed", mcp.text_of(first.wait()))

    def test_a_stream_that_was_cut_goes_on_where_it_stopped(self):
        session = self.served.session()
        body = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "test_reconnection", "_meta": {"progressToken": "t"}}}
        connection = http.client.HTTPConnection("127.0.0.1", self.served.port, timeout=30)
        headers = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream", "Mcp-Session-Id": session}
        connection.request("POST", "/mcp", json.dumps(body), headers)
        answer = connection.getresponse()
        self.assertTrue(answer.headers["Content-Type"].startswith("text/event-stream"))
        self.assertEqual(answer.headers["X-Accel-Buffering"], "no")
        ids, seen = [], []
        while len(seen) < 3:
            line = answer.readline().decode().strip()
            if line.startswith("id: "):
                ids.append(line[4:])
            elif line.startswith("data: {"):
                seen.append(json.loads(line[6:])["params"]["progress"])
        connection.sock.shutdown(socket.SHUT_RDWR)
        connection.close()
        foreign = self.served.session()
        self.assertEqual(self.served.send(None, method="GET", Mcp_Session_Id=foreign, Last_Event_ID=ids[-1])[0], 400)
        self.assertEqual(self.served.send(None, method="GET", Mcp_Session_Id=session, Last_Event_ID="9_9")[0], 400)
        self.assertEqual(self.served.send(None, method="GET", Mcp_Session_Id=session, Last_Event_ID="x")[0], 400)
        status, _, rest = self.served.send(None, method="GET", Mcp_Session_Id=session, Last_Event_ID=ids[-1])
        self.assertEqual(status, 200)
        events = [json.loads(line[6:]) for line in rest.decode().splitlines() if line.startswith("data: {")]
        more = [event["params"]["progress"] for event in events if "method" in event]
        self.assertEqual(seen + more, list(range(30)))
        self.assertEqual(events[-1]["id"], 1)
        self.assertIn("completed", events[-1]["result"]["content"][0]["text"])

    def test_changes_come_over_the_stream_of_the_session(self):
        with mcp.Http(self.served.port, era="legacy") as client:
            client.open()
            self.assertEqual(client.listen(), 200)
            self.assertEqual(client.listen(), 409, "one at a time")
            client.request("resources/subscribe", {"uri": "test://watched-resource"})
            client.tool("test_trigger_resource_change")
            client.tool("test_trigger_tool_change")
            deadline = time.monotonic() + 30
            while len(client.notifications) < 2 and time.monotonic() < deadline:
                time.sleep(0.02)
            self.assertEqual({note["method"] for note in client.notifications}, {"notifications/resources/updated", "notifications/tools/list_changed"})


class Asking(unittest.TestCase):
    """Questions to the client, in both eras."""
    FORM = {"action": "accept", "content": {"response": "yes", "name": "Ann"}}
    ANSWERS = {"elicitation/create": FORM, "sampling/createMessage": {"role": "assistant", "content": {"type": "text", "text": "Hi"}, "model": "m"},
               "roots/list": {"roots": [{"uri": "file:///a"}]}}
    CAN = {"elicitation": {}, "sampling": {}, "roots": {}}

    def test_a_service_that_waits_and_one_that_is_called_anew_work_for_both_eras(self):
        served = Fixture(self, "--no-auth")
        for era in ("modern", "legacy"):
            with self.subTest(era=era), mcp.Http(served.port, era=era, capabilities=self.CAN, answers=self.ANSWERS) as client:
                client.open()
                self.assertIn("action=accept", mcp.text_of(client.tool("test_elicitation", message="?")))
                self.assertIn("LLM response: Hi", mcp.text_of(client.tool("test_sampling", prompt="?")))
                self.assertIn("Name: Ann; Greeting: Hi; Roots: 1", mcp.text_of(client.tool("test_input_required_result_multiple_inputs")))
                self.assertEqual(len(client.asked), 5)

    def test_a_state_is_good_once_and_for_its_request_alone(self):
        served = Fixture(self, "--no-auth")
        meta = {**META, mcp.META + "clientCapabilities": self.CAN}
        call = {"_meta": meta, "name": "test_elicitation", "arguments": {"message": "?"}}
        asked = json.loads(served.modern("tools/call", call)[2])["result"]
        self.assertEqual(asked["resultType"], "input_required")
        answers = {key: self.FORM for key in asked["inputRequests"]}
        retry = {**call, "inputResponses": answers, "requestState": asked["requestState"]}
        for wrong in ({**retry, "arguments": {"message": "!"}}, {**retry, "requestState": asked["requestState"][:-2]}, {**retry, "requestState": "x"},
                      {**retry, "name": "test_sampling"}, {**retry, "inputResponses": []}):
            self.assertEqual(code(served.modern("tools/call", wrong)), -32602)
        self.assertIn("result", json.loads(served.modern("tools/call", retry)[2]))
        self.assertEqual(code(served.modern("tools/call", retry)), -32602)

    def test_waiting_calls_are_bounded(self):
        served = Fixture(self, "--no-auth")
        meta = {**META, mcp.META + "clientCapabilities": self.CAN}
        call = {"_meta": meta, "name": "test_elicitation", "arguments": {"message": "?"}}
        kinds = [json.loads(served.modern("tools/call", call)[2])["result"].get("resultType") for _ in range(70)]
        self.assertEqual(kinds.count("input_required"), 64)
        self.assertEqual(kinds[-1], "complete", "it was told that nobody could be asked")


class Streams(unittest.TestCase):
    def test_closing_the_stream_cancels_and_a_listener_hears_only_what_it_asked_for(self):
        served = Fixture(self, "--no-auth")
        with mcp.Http(served.port) as client:
            listening = client.begin("subscriptions/listen", {"notifications": {"promptsListChanged": True}})
            deadline = time.monotonic() + 30
            while not listening.notifications and time.monotonic() < deadline:
                time.sleep(0.01)
            client.tool("test_trigger_tool_change")
            client.tool("test_trigger_prompt_change")
            while len(listening.notifications) < 2 and time.monotonic() < deadline:
                time.sleep(0.01)
            self.assertEqual([note["method"] for note in listening.notifications],
                             ["notifications/subscriptions/acknowledged", "notifications/prompts/list_changed"])
            self.assertEqual({note["params"]["_meta"][mcp.META + "subscriptionId"] for note in listening.notifications}, {listening.id})
            call = client.begin("tools/call", {"name": "test_reconnection"}, progress=True)
            while not call.notifications and time.monotonic() < deadline:
                time.sleep(0.01)
            call.cancel()
            with self.assertRaises(mcp.Gone):
                call.wait()
            listening.cancel()

    def test_many_requests_at_once_are_all_answered_or_refused(self):
        served = Fixture(self, "--no-auth")
        answers = []

        def ask():
            answers.append(served.modern("tools/call", {"name": "test_tool_with_progress"})[0])
        threads = [threading.Thread(target=ask) for _ in range(100)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(answers, [200] * 100)


class Stdio(unittest.TestCase):
    def start(self, **options):
        process = paddock.popen("mcp", "--fixture", stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        client = mcp.Stdio(process, **options)
        self.addCleanup(lambda: client.process.poll() is None and client.close())
        return client

    def test_both_eras_in_one_process(self):
        client = self.start()
        client.open()
        client.tool("test_simple_text")
        client.era, client.version = "legacy", mcp.LEGACY
        client.open()
        self.assertEqual(client.request("ping"), {})
        client.tool("test_simple_text")
        self.assertEqual((client.close(), client.garbage), (0, []))

    def test_lines_that_are_no_messages_are_answered_and_skipped(self):
        client = self.start()
        client.send_bytes(b"nonsense\n\n\r\n[]\n" + b"x" * (9 << 20) + b"\n")
        client.send_bytes(b'{"jsonrpc":"2.0","id":"a","met')
        time.sleep(0.05)
        client.send_bytes(b'hod":"ping"}\r\n')
        deadline = time.monotonic() + 30
        while len(client.received) < 4 and time.monotonic() < deadline:
            time.sleep(0.01)
        self.assertEqual([message.get("error", {}).get("code") for message in client.received], [-32700, -32600, -32600, None])
        self.assertEqual(client.received[-1]["id"], "a")
        self.assertEqual((client.close(), client.garbage), (0, []))

    def test_the_end_of_input_cancels_what_is_under_way(self):
        client = self.start()
        call = client.begin("tools/call", {"name": "test_reconnection"}, progress=True)
        while not call.notifications:
            time.sleep(0.01)
        self.assertEqual(client.close(), 0)
        with self.assertRaises(mcp.Gone):
            call.wait()

    def test_a_client_that_does_not_read_is_waited_for(self):
        process = paddock.popen("mcp", "--fixture", stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        one = json.dumps({"jsonrpc": "2.0", "id": 0, "method": "tools/list", "params": {"_meta": META}}).encode()
        os.set_blocking(process.stdin.fileno(), False)
        sent, stalled = 0, 0
        while stalled < 20 and sent < 200_000:
            try:
                sent += bool(os.write(process.stdin.fileno(), one.replace(b'"id": 0', b'"id": %d' % (sent + 1)) + b"\n"))
                stalled = 0
            except BlockingIOError:
                stalled += 1
                time.sleep(0.05)
        self.assertEqual(stalled, 20, "it went on taking requests that nobody took the answers of")
        with open(f"/proc/{process.pid}/status") as status:
            resident = next(int(line.split()[1]) for line in status if line.startswith("VmRSS"))
        self.assertLess(resident, paddock.resident(200_000))
        for stream in (process.stdin, process.stdout, process.stderr):
            stream.close()


class Serve(unittest.TestCase):
    """/mcp of `paddock serve`, with its keys."""

    def test_keys_open_it_and_what_is_one_tenants_does_not_exist_for_another(self):
        with server.Server(paddock.USERS[0]) as served:
            other = served.new_key("--tenant", "other")
            reader = served.new_key("--scope", "read")
            discover = {"jsonrpc": "2.0", "id": 1, "method": "server/discover", "params": {"_meta": META}}
            headers = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream", "MCP-Protocol-Version": mcp.MODERN, "Mcp-Method": "server/discover"}

            def post(key, **more):
                connection = served.connection()
                connection.request("POST", "/mcp", json.dumps(discover), {**headers, **({"Authorization": "Bearer " + key} if key else {}), **more})
                answer = connection.getresponse()
                answer.read()
                connection.close()
                return answer
            refused = post(None)
            self.assertEqual((refused.status, refused.headers["WWW-Authenticate"]), (401, "Bearer"))
            self.assertEqual(post("wrong").status, 401)
            self.assertEqual(post(reader).status, 403, "the scope 'sandboxes' is needed")
            self.assertEqual(post(served.key).status, 200)
            self.assertEqual(post(served.key, Origin="http://evil.example").status, 403)
            self.assertEqual(post(served.key, Host="evil.example").status, 403)
            with mcp.Http(served.port, era="legacy", headers={"Authorization": "Bearer " + served.key}) as old, \
                    mcp.Http(served.port, headers={"X-API-Key": other}) as young:
                old.open()
                young.open()
                self.assertEqual(set(old.tools()), set(young.tools()))
                foreign = served.request("POST", "/mcp", {"jsonrpc": "2.0", "id": 1, "method": "ping"}, key=other,
                                         headers={"Mcp-Session-Id": old.session, "Content-Type": "application/json", "Accept": "*/*"})
                self.assertEqual(foreign.status, 404, "another's session")
                self.assertIn("hello", mcp.text_of(old.tool("run_command", command="echo hello > mine; cat mine")))
                self.assertNotIn("hello", mcp.text_of(young.tool("run_command", command="cat mine 2>/dev/null || echo none")))
                seen = young.tool("list_sandboxes")["structuredContent"]["sandboxes"]
                self.assertEqual(len(seen), 1)
                theirs = old.tool("list_sandboxes")["structuredContent"]["sandboxes"][0]["sandbox"]
                self.assertTrue(young.tool("run_command", command="id", sandbox=theirs).get("isError"))
                for box in seen:  # the server's own helper ends those of its own tenant alone
                    young.tool("kill_sandbox", sandbox=box["sandbox"])
            served.kill_all()


    def test_a_key_that_is_revoked_ends_what_goes_on(self):
        with server.Server(paddock.USERS[0]) as served:
            made = json.loads(served.call("key", "create", "--json").stdout)
            listen = {"jsonrpc": "2.0", "id": 1, "method": "subscriptions/listen", "params": {"_meta": META, "notifications": {"toolsListChanged": True}}}
            connection = served.connection()
            connection.request("POST", "/mcp", json.dumps(listen), {
                "Content-Type": "application/json", "Accept": "application/json, text/event-stream", "MCP-Protocol-Version": mcp.MODERN,
                "Mcp-Method": "subscriptions/listen", "Authorization": "Bearer " + made["key"]})
            answer = connection.getresponse()
            while b"acknowledged" not in (line := answer.readline()):
                self.assertTrue(line, "the stream has ended")
            self.assertEqual(served.call("key", "revoke", made["id"]).returncode, 0)
            self.assertNotIn(b"result", answer.read(), "until its end")
            answer.close()
            connection.close()


class Tools(unittest.TestCase):
    """`paddock mcp` itself: what becomes of its sandboxes."""

    def start(self, state):
        process = paddock.popen("mcp", user=paddock.USERS[-1], env={"PADDOCK_STATE": state}, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        return mcp.Stdio(process).open()

    def left(self, state):
        """Names beside the spare directory, once nobody cleans up any more."""
        for _ in range(600):
            names = [name for name in os.listdir(os.path.join(state, "mcp")) if name != "spare"]
            if not names:
                break
            time.sleep(0.1)
        return names

    def test_sandboxes_end_with_it_however_it_ends(self):
        state = paddock.state_folder(self, paddock.USERS[-1])
        client = self.start(state)
        self.assertIn("42", mcp.text_of(client.tool("run_code", code="6 * 7")))
        self.assertEqual((client.close(), client.garbage), (0, []))
        self.assertEqual(self.left(state), [])
        client = self.start(state)
        self.assertIn("1", mcp.text_of(client.tool("run_code", code="1")))
        self.assertEqual(len(client.tool("list_sandboxes")["structuredContent"]["sandboxes"]), 1, "nothing of the one before")
        client.process.kill()
        client.close()
        self.assertEqual(self.left(state), [])
        log = paddock.call("audit", "show", "--json", user=paddock.USERS[-1], env={"PADDOCK_STATE": state}).stdout
        self.assertEqual(log.count('"sandbox.end"'), 2, log[-2000:])
        self.assertGreaterEqual(log.count('"tool.call"'), 3)


if __name__ == "__main__":
    paddock.main()
