"""The REST API with nothing but urllib. Start a server first, make a key, and say where it is:

    paddock serve --listen 127.0.0.1:7070 &
    PADDOCK_URL=http://127.0.0.1:7070 PADDOCK_API_KEY=$(paddock key create) python3 examples/rest.py
"""
import json
import os
import urllib.request

URL, KEY = os.environ["PADDOCK_URL"], os.environ["PADDOCK_API_KEY"]


def ask(method, path, body=None, data=None):
    request = urllib.request.Request(URL + path, method=method, headers={"X-API-Key": KEY})
    if body is not None:
        data = json.dumps(body).encode()
        request.add_header("Content-Type", "application/json")
    return urllib.request.urlopen(request, data)


sandbox = json.load(ask("POST", "/v1/sandboxes", {"template": "base", "timeout_ms": 60_000, "limits": {"memory": "128M"}}))
here = f"/v1/sandboxes/{sandbox['id']}"
try:
    print("state:", sandbox["state"])
    ask("PUT", here + "/files?path=/home/user/poem.txt", data=b"roses are red\n")

    # The output of a command comes as lines of JSON, while it runs.
    for line in ask("POST", here + "/exec", {"command": "cat poem.txt; for i in 1 2 3; do echo $i; done"}):
        event = json.loads(line)
        if event["type"] == "stdout":
            print(event["data"], end="")
        elif event["type"] == "end":
            print("outcome:", event["outcome"])

    # Or all of it at once.
    done = json.load(ask("POST", here + "/exec?wait=1", {"argv": ["sh", "-c", "exit 3"]}))
    print("exit code:", done["outcome"]["code"])
    print("tar bytes:", len(ask("GET", here + "/tar?path=/home/user").read()) > 0)
finally:
    ask("DELETE", here)
