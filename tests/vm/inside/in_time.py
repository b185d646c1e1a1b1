import json, sys
text = sys.stdin.read()
print(text.strip(), "in time" if json.loads(text)["usage"]["wall_ms"] < 6000 else "late")
