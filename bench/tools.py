"""What judging a tool call costs, and what the gateway adds to a call of another server's tool.

    tools.py DECIDE PADDOCK RESULT.json [--rounds 60] [--calls 100] [--page FILE.md]

The server is a small one on stdio; the client is the same for both ways: directly to the server, and through `paddock mcp` with the server in
a sandbox behind it. Both stay open, and take turns in every round.
"""

import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

from living import percentile
from start import machine

SERVER = '''
import json, sys
for line in sys.stdin:
    asked = json.loads(line)
    if "id" not in asked:
        continue
    result = {}
    if asked["method"] == "initialize":
        result = {"protocolVersion": "2025-11-25", "capabilities": {"tools": {}}, "serverInfo": {"name": "echo", "version": "1"}}
    elif asked["method"] == "tools/list":
        result = {"tools": [{"name": "echo", "inputSchema": {"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]}}]}
    elif asked["method"] == "tools/call":
        result = {"content": [{"type": "text", "text": asked["params"]["arguments"]["text"]}]}
    elif asked["method"] == "server/discover":
        print(json.dumps({"jsonrpc": "2.0", "id": asked["id"], "error": {"code": -32601, "message": "Method not found"}}), flush=True)
        continue
    print(json.dumps({"jsonrpc": "2.0", "id": asked["id"], "result": result}), flush=True)
'''


class Client:
    """A client as plain as it can be."""

    def __init__(self, command, env=None):
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=env)
        self.id = 0
        self.request("initialize", {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "bench", "version": "1"}})
        self.send({"jsonrpc": "2.0", "method": "notifications/initialized"})

    def send(self, message):
        self.process.stdin.write(json.dumps(message).encode() + b"\n")
        self.process.stdin.flush()

    def request(self, method, params):
        self.id += 1
        self.send({"jsonrpc": "2.0", "id": self.id, "method": method, "params": params})
        while True:
            said = json.loads(self.process.stdout.readline())
            if said.get("id") == self.id and "method" not in said:
                return said

    def tool(self, name, text):
        """Milliseconds."""
        begin = time.perf_counter()
        said = self.request("tools/call", {"name": name, "arguments": {"text": text}})
        took = (time.perf_counter() - begin) * 1000
        if said.get("result", {}).get("content") != [{"type": "text", "text": text}]:
            sys.exit(f"tools.py: {name} answered {said}")
        return took

    def close(self):
        self.process.stdin.close()
        self.process.wait()


def figures(milliseconds):
    return {"p50_ms": round(statistics.median(milliseconds), 4), "p99_ms": round(percentile(milliseconds, 0.99), 4), "count": len(milliseconds)}


def measure_gateway(paddock, rounds, calls):
    folder = tempfile.mkdtemp(prefix="paddock-bench-tools-")
    try:
        os.chmod(folder, 0o755)
        server = os.path.join(folder, "server.py")
        policy = os.path.join(folder, "policy.toml")
        with open(server, "w", encoding="utf-8") as file:
            file.write(SERVER)
        with open(policy, "w", encoding="utf-8") as file:
            file.write('[calls]\nagent_rate = "1000000/minute"\n\n[mcp.servers.bench]\ncommand = ["python3", "./server.py"]\ntools = ["*"]\n')
        env = dict(os.environ, PADDOCK_STATE=os.path.join(folder, "state"))
        direct = Client(["python3", server])
        gateway = Client([paddock, "mcp", "--policy", policy], env)
        for client, name in ((direct, "echo"), (gateway, "bench__echo")):
            client.request("tools/list", {})
            for _ in range(20):
                client.tool(name, "warm")
        times = {"direct": [], "gateway": []}
        for _ in range(rounds):
            for way, client, name in (("direct", direct, "echo"), ("gateway", gateway, "bench__echo")):
                times[way] += [client.tool(name, "x" * 100) for _ in range(calls)]
        direct.close()
        gateway.close()
        found = {way: figures(each) for way, each in times.items()}
        found["added"] = {"p50_ms": round(found["gateway"]["p50_ms"] - found["direct"]["p50_ms"], 4), "p99_ms": round(found["gateway"]["p99_ms"] - found["direct"]["p99_ms"], 4)}
        return found
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def page(found):
    host, gateway = found["machine"], found["gateway"]
    names = {"decide": "schema and rules", "with_rates": "with rates", "desk": "the whole desk, with a tool that does nothing"}
    kinds = {"allowed": "`send_email`, allowed", "denied": "`send_email`, denied by a rule", "allowed_path": "`delete_file`, allowed"}
    lines = ["# What does a tool call cost?", "",
             f"Goal: at most 0.3 ms (p50) added to a call through the gateway. Measured: {gateway['added']['p50_ms']:.2f} ms (p99 {gateway['added']['p99_ms']:.2f} ms).", "",
             "| a call of a small stdio server's tool | p50 ms | p99 ms |", "|---|---|---|",
             f"| directly | {gateway['direct']['p50_ms']:.3f} | {gateway['direct']['p99_ms']:.3f} |",
             f"| through `paddock mcp`, the server in its sandbox | {gateway['gateway']['p50_ms']:.3f} | {gateway['gateway']['p99_ms']:.3f} |", "",
             "| judging | a call | decisions/s | p50 µs | p99 µs |", "|---|---|---|---|---|"]
    for part, what in names.items():
        for kind, call in kinds.items():
            each = found["decide"][f"{part}_{kind}"]
            lines.append(f"| {what} | {call} | {each['per_second']:,.0f} | {each['p50_us']:.1f} | {each['p99_us']:.1f} |")
    lines += ["", f"{gateway['direct']['count']} calls each way, in turns. Client and server are the same small Python programs both ways. What the gateway does meanwhile: it reads and judges the call,",
              "records it, passes it on, reads the answer, redacts it, records its end. The server's standard streams are the gateway's own pipes: no process stands in between.",
              "", f"{host['cores']} cores ({host['architecture']}), {host['memory_gb']} GB, kernel {host['kernel']}. Again: `ONLY=tools bench/run.sh build --update-docs`.", ""]
    return "\n".join(lines)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("decide")
    parser.add_argument("paddock")
    parser.add_argument("result")
    parser.add_argument("--rounds", type=int, default=60)
    parser.add_argument("--calls", type=int, default=100)
    parser.add_argument("--page")
    options = parser.parse_args()
    folder = tempfile.mkdtemp(prefix="paddock-bench-rates-")
    try:
        done = subprocess.run([options.decide, folder, str(options.rounds)], stdout=subprocess.PIPE, text=True, check=True)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    found = {"machine": machine(), "decide": json.loads(done.stdout), "gateway": measure_gateway(options.paddock, options.rounds, options.calls)}
    with open(options.result, "w", encoding="utf-8") as file:
        json.dump(found, file, indent=1)
    print(page(found))
    if options.page:
        with open(options.page, "w", encoding="utf-8") as file:
            file.write(page(found))


if __name__ == "__main__":
    main()
