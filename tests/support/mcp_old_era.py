"""Stands in front of an MCP server on stdio and lets it be of the old era only: `python3 mcp_old_era.py COMMAND…`."""
import json
import subprocess
import sys
import threading

server = subprocess.Popen(sys.argv[1:], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
writing = threading.Lock()


def send(line):
    try:
        with writing:
            sys.stdout.buffer.write(line)
            sys.stdout.buffer.flush()
    except BrokenPipeError:
        pass  # nobody listens any more; stdin is about to end


def relay():
    for line in server.stdout:
        send(line)


relaying = threading.Thread(target=relay, daemon=True)
relaying.start()
for line in sys.stdin.buffer:
    message = json.loads(line)
    if message.get("method") == "server/discover":
        send(json.dumps({"jsonrpc": "2.0", "id": message["id"], "error": {"code": -32601, "message": "Method not found"}}).encode() + b"\n")
        continue
    server.stdin.write(line)
    server.stdin.flush()
server.stdin.close()
server.wait()
relaying.join()
