"""A small MCP client for tests: stdio and Streamable HTTP, both eras of the protocol. Only what tests need, and nothing hidden:
everything that came stands in `received`.

    with mcp.Stdio(["paddock", "mcp"], era="modern") as client:
        client.open()                                   # server/discover, or initialize
        client.tool("run_code", code="1 + 1")           # the CallToolResult; mcp.Refused for a JSON-RPC error
        call = client.begin("tools/call", {...}, progress=True)
        call.cancel(); call.wait()
"""
import base64
import http.client
import itertools
import json
import queue
import subprocess
import threading
import time

MODERN = "2026-07-28"
LEGACY = "2025-11-25"
META = "io.modelcontextprotocol/"
INFO = {"name": "paddock-test", "version": "1"}
PATIENCE = 60


class Refused(Exception):
    """A JSON-RPC error."""

    def __init__(self, error):
        super().__init__(f"{error.get('code')}: {error.get('message')}")
        self.code, self.message, self.data = error.get("code"), error.get("message"), error.get("data")


class Gone(Exception):
    """The server said no more."""


class Call:
    """A request on its way: what came for it, and its end."""

    def __init__(self, client, number, method, params):
        self.client, self.id, self.method, self.params = client, number, method, params
        self.notifications = []
        self.answer = None
        self.done = threading.Event()
        self.connection = None  # HTTP

    def wait(self, timeout=PATIENCE):
        """Its result, whatever it is."""
        if not self.done.wait(timeout):
            raise TimeoutError(f"no answer to {self.method}: {self.client.trouble()}")
        if self.answer is None:
            raise Gone(f"{self.method}: {self.client.trouble()}")
        if "error" in self.answer:
            raise Refused(self.answer["error"])
        return self.answer["result"]

    def progress(self):
        return [note["params"] for note in self.notifications if note["method"] == "notifications/progress"]

    def cancel(self):
        self.client.cancel(self)

    def finish(self, answer):
        self.answer = answer
        self.done.set()


class Client:
    """What both transports share. `answers`: by method, what to say when the server asks: a result, or a function of the params."""

    def __init__(self, era="modern", capabilities=None, answers=None, version=None):
        self.era, self.capabilities, self.answers = era, capabilities or {}, answers or {}
        self.version = version or (MODERN if era == "modern" else LEGACY)
        self.numbers = itertools.count(1)
        self.received = []         # every message, in the order it came
        self.notifications = []    # those that belong to no request
        self.asked = []            # what the server asked for, as (method, params)
        self.calls = {}
        self.progress_tokens = {}
        self.server = None         # what open() was told

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def open(self):
        if self.era == "modern":
            self.server = self.request("server/discover")
        else:
            self.server = self.request("initialize", {"protocolVersion": self.version, "capabilities": self.capabilities, "clientInfo": INFO})
            self.version = self.server["protocolVersion"]
            self.notify("notifications/initialized")
        return self

    def params_of(self, params, progress, number):
        params = dict(params or {})
        meta = dict(params.get("_meta", {}))
        if self.era == "modern":
            meta.setdefault(META + "protocolVersion", self.version)
            meta.setdefault(META + "clientInfo", INFO)
            meta.setdefault(META + "clientCapabilities", self.capabilities)
        if progress:
            meta["progressToken"] = f"progress-{number}"
        if meta:
            params["_meta"] = meta
        return params

    def begin(self, method, params=None, progress=False):
        number = next(self.numbers)
        call = Call(self, number, method, params or {})
        self.calls[number] = call
        if progress:
            self.progress_tokens[f"progress-{number}"] = call
        message = {"jsonrpc": "2.0", "id": number, "method": method}
        sent = self.params_of(params, progress, number)
        if sent:
            message["params"] = sent
        self.send(message, call)
        return call

    def request(self, method, params=None, timeout=PATIENCE, progress=False):
        """The result; what a modern server asks for on the way is answered."""
        params = dict(params or {})
        for _ in range(10):
            result = self.begin(method, params, progress).wait(timeout)
            if result.get("resultType") != "input_required":
                return result
            wanted = result.get("inputRequests") or {}
            params["inputResponses"] = {key: self.say(ask["method"], ask.get("params", {})) for key, ask in wanted.items()}
            params.pop("requestState", None)
            if "requestState" in result:
                params["requestState"] = result["requestState"]
            if not wanted:
                time.sleep(0.05)
        raise AssertionError(f"{method}: asked ten times for input")

    def tool(self, tool_name, /, **arguments):
        return self.request("tools/call", {"name": tool_name, "arguments": arguments})

    def tools(self):
        """All pages of tools/list, by name."""
        found, cursor = {}, None
        while True:
            page = self.request("tools/list", {"cursor": cursor} if cursor else {})
            found.update({tool["name"]: tool for tool in page["tools"]})
            cursor = page.get("nextCursor")
            if not cursor:
                return found

    def notify(self, method, params=None):
        message = {"jsonrpc": "2.0", "method": method}
        if params is not None:
            message["params"] = params
        self.send(message, None)

    def say(self, method, params):
        self.asked.append((method, params))
        answer = self.answers.get(method)
        if answer is None:
            raise AssertionError(f"the server asked for {method}: {params}")
        return answer(params) if callable(answer) else answer

    def take(self, message, call=None):
        """A message of the server's."""
        self.received.append(message)
        if "method" in message and "id" in message:  # it asks, as legacy servers do
            reply = {"jsonrpc": "2.0", "id": message["id"]}
            if message["method"] == "ping":
                reply["result"] = {}
            elif message["method"] in self.answers:
                reply["result"] = self.say(message["method"], message.get("params", {}))
            else:
                reply["error"] = {"code": -32601, "message": "Method not found"}
            threading.Thread(target=self.send, args=(reply, None), daemon=True).start()
        elif "method" in message:
            owner = call
            if message["method"] == "notifications/progress":
                owner = self.progress_tokens.get(message["params"].get("progressToken"), call)
            (owner.notifications if owner else self.notifications).append(message)
        else:
            found = self.calls.pop(message.get("id"), None) or call
            if found:
                found.finish(message)


class Stdio(Client):
    """A server that is a child of ours. `command` may be a list, or a Popen with pipes."""

    def __init__(self, command, **options):
        popen = {key: options.pop(key) for key in ("env", "cwd") if key in options}
        super().__init__(**options)
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
        self.process = command if isinstance(command, subprocess.Popen) else subprocess.Popen(command, **pipes, **popen)
        self.stderr = b""
        self.garbage = []          # lines of its stdout that are no JSON
        self.writing = threading.Lock()
        self.readers = [threading.Thread(target=self.read, daemon=True)]
        if self.process.stderr:
            self.readers.append(threading.Thread(target=self.read_stderr, daemon=True))
        for reader in self.readers:
            reader.start()

    def read(self):
        for line in self.process.stdout:
            try:
                message = json.loads(line)
            except ValueError:
                self.garbage.append(line)
                continue
            self.take(message)
        for call in list(self.calls.values()):
            call.finish(None)

    def read_stderr(self):
        for line in self.process.stderr:
            self.stderr += line

    def send(self, message, call):
        self.send_bytes(json.dumps(message).encode() + b"\n")

    def send_bytes(self, data):
        """As it is: for what is no message at all."""
        with self.writing:
            self.process.stdin.write(data)
            self.process.stdin.flush()

    def cancel(self, call):
        self.notify("notifications/cancelled", {"requestId": call.id, "reason": "the test says so"})

    def trouble(self):
        return f"exit {self.process.poll()}, stderr {self.stderr.decode(errors='replace')[-2000:]!r}, stdout {self.garbage[-3:]}"

    def close(self, timeout=PATIENCE):
        """Closes its stdin, as clients do; gives its exit status."""
        try:
            self.process.stdin.close()
        except OSError:
            pass
        try:
            self.process.wait(timeout)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
            raise AssertionError(f"the server did not end with its stdin: {self.trouble()}")
        for reader in self.readers:
            reader.join(timeout)
        for stream in (self.process.stdout, self.process.stderr):
            if stream:
                stream.close()
        return self.process.returncode


class Http(Client):
    """A server at http://HOST:PORT/PATH. `headers` go with every request."""

    def __init__(self, port, path="/mcp", host="127.0.0.1", headers=None, **options):
        super().__init__(**options)
        self.host, self.port, self.path, self.headers = host, port, path, headers or {}
        self.session = None
        self.statuses = queue.SimpleQueue()  # of every POST
        self.streams = []

    def headers_for(self, message):
        headers = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}
        if self.era == "modern":
            headers["MCP-Protocol-Version"] = self.version
            headers["Mcp-Method"] = message.get("method", "")
            params = message.get("params", {})
            name = params.get("name") if message.get("method") in ("tools/call", "prompts/get") else params.get("uri") if message.get("method") == "resources/read" else None
            if name is not None:
                plain = name and all(" " <= letter <= "~" for letter in name) and name.strip() == name and not name.startswith("=?")
                headers["Mcp-Name"] = name if plain else f"=?base64?{base64.b64encode(name.encode()).decode()}?="
        else:
            if self.session:
                headers["Mcp-Session-Id"] = self.session
            if self.server:
                headers["MCP-Protocol-Version"] = self.version
        headers.update(self.headers)
        return headers

    def post(self, body, headers):
        """One POST as it is: (connection, response). The caller closes the connection."""
        connection = http.client.HTTPConnection(self.host, self.port, timeout=PATIENCE)
        connection.request("POST", self.path, body=body, headers=headers)
        return connection, connection.getresponse()

    def send(self, message, call):
        if call:
            threading.Thread(target=self.exchange, args=(message, call), daemon=True).start()
        else:
            self.exchange(message, None)

    def exchange(self, message, call):
        connection = http.client.HTTPConnection(self.host, self.port, timeout=PATIENCE)
        if call:
            call.connection = connection
        try:
            connection.request("POST", self.path, body=json.dumps(message).encode(), headers=self.headers_for(message))
            answer = connection.getresponse()
            self.statuses.put(answer.status)
            self.session = answer.headers.get("Mcp-Session-Id") or self.session
            if (answer.headers.get("Content-Type") or "").startswith("text/event-stream"):
                for event in events_of(answer):
                    self.take(event, call)
            else:
                body = answer.read()
                if body:
                    self.take(json.loads(body), call)
                elif call:
                    self.calls.pop(call.id, None)
        except (OSError, ValueError, http.client.HTTPException, AttributeError):
            pass  # cancelled, or gone
        finally:
            connection.close()
            if call and not call.done.is_set():
                call.finish(None)

    def listen(self):
        """The stream of its own that a legacy server may have; what comes stands in `notifications`."""
        connection = http.client.HTTPConnection(self.host, self.port, timeout=PATIENCE)
        headers = {"Accept": "text/event-stream", "Mcp-Session-Id": self.session or "", "MCP-Protocol-Version": self.version, **self.headers}
        connection.request("GET", self.path, headers=headers)
        answer = connection.getresponse()

        def read():
            try:
                for event in events_of(answer):
                    self.take(event)
            except (OSError, ValueError, http.client.HTTPException, AttributeError):
                pass
        if answer.status == 200:
            self.streams.append(connection)
            threading.Thread(target=read, daemon=True).start()
        return answer.status

    def cancel(self, call):
        if self.era == "legacy":
            self.notify("notifications/cancelled", {"requestId": call.id, "reason": "the test says so"})
        elif call.connection and call.connection.sock:
            call.connection.sock.shutdown(2)

    def trouble(self):
        return f"{self.host}:{self.port}{self.path}, the last messages {self.received[-3:]}"

    def close(self):
        for connection in self.streams:
            if connection.sock:
                connection.sock.shutdown(2)
        if self.era == "legacy" and self.session:
            connection = http.client.HTTPConnection(self.host, self.port, timeout=PATIENCE)
            try:
                connection.request("DELETE", self.path, headers={"Mcp-Session-Id": self.session, "MCP-Protocol-Version": self.version, **self.headers})
                connection.getresponse().read()
            except OSError:
                pass
            connection.close()


def events_of(answer):
    """The JSON of each event of a stream."""
    data = []
    for line in answer:
        line = line.rstrip(b"\r\n")
        if line.startswith(b"data:"):
            data.append(line[5:].removeprefix(b" "))
        elif not line and data:
            text = b"\n".join(data)
            data = []
            if text:
                yield json.loads(text)


def text_of(result):
    """All text of a CallToolResult."""
    return "\n".join(item["text"] for item in result["content"] if item["type"] == "text")
