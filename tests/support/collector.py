"""A collector of traces of a test's own: takes OTLP over HTTP in JSON, checks its shape, and gives the spans back."""
import http.server
import json
import re
import ssl
import threading

from support.server import until

ID = {"traceId": r"[0-9a-f]{32}", "spanId": r"[0-9a-f]{16}", "parentSpanId": r"[0-9a-f]{16}"}
VALUES = {"stringValue": str, "boolValue": bool, "intValue": str, "doubleValue": (int, float), "arrayValue": dict}


def check(condition, what):
    if not condition:
        raise AssertionError(what)


def check_attributes(attributes):
    names = [each["key"] for each in attributes]
    check(len(names) == len(set(names)), f"attributes twice: {names}")
    for each in attributes:
        check(set(each) == {"key", "value"} and len(each["value"]) == 1, each)
        (kind, value), = each["value"].items()
        check(kind in VALUES and isinstance(value, VALUES[kind]), each)


def check_span(span):
    """As opentelemetry-proto's trace.proto in JSON: ids in hex, 64-bit numbers as strings."""
    known = {"traceId", "spanId", "parentSpanId", "name", "kind", "startTimeUnixNano", "endTimeUnixNano", "attributes", "droppedAttributesCount", "events",
             "droppedEventsCount", "status"}
    check(set(span) <= known, set(span) - known)
    for key, pattern in ID.items():
        check(key == "parentSpanId" and key not in span or re.fullmatch(pattern, span[key]), (key, span))
    check(span["name"] and span["kind"] in (1, 2, 3, 4, 5), span)
    for key in ("startTimeUnixNano", "endTimeUnixNano"):
        check(isinstance(span[key], str) and span[key].isdigit() and len(span[key]) == 19, span)
    check(int(span["startTimeUnixNano"]) <= int(span["endTimeUnixNano"]), span)
    check(set(span["status"]) <= {"code", "message"} and span["status"].get("code", 0) in (0, 1, 2), span)
    check_attributes(span["attributes"])
    for event in span["events"]:
        check(set(event) == {"timeUnixNano", "name", "attributes"} and event["timeUnixNano"].isdigit(), event)
        check_attributes(event["attributes"])


class Span:
    def __init__(self, json):
        self.json = json
        self.trace, self.id, self.parent = json["traceId"], json["spanId"], json.get("parentSpanId")
        self.name, self.status = json["name"], json["status"].get("code", 0)
        self.start, self.end = int(json["startTimeUnixNano"]), int(json["endTimeUnixNano"])
        self.attributes = {each["key"]: next(iter(each["value"].values())) for each in json["attributes"]}
        self.events = [event["name"] for event in json["events"]]

    def __repr__(self):
        return json.dumps(self.json)


class Collector:
    """`answers`: statuses for the first requests; the others get 200."""

    def __init__(self, answers=(), certificate=None, port=0):
        self.answers, self.spans, self.resources, self.headers, self.requests, self.problems = list(answers), [], [], [], 0, []
        outer = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_POST(self):
                body = self.rfile.read(int(self.headers["Content-Length"]))
                status = outer.take(self.path, self.headers, body)
                self.send_response(status)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", "2")
                self.end_headers()
                self.wfile.write(b"{}")

            def log_message(self, *_):
                pass

        self.http = http.server.ThreadingHTTPServer(("127.0.0.1", port), Handler)
        if certificate:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(*certificate)
            self.http.socket = context.wrap_socket(self.http.socket, server_side=True)
        self.url = f"{'https' if certificate else 'http'}://127.0.0.1:{self.http.server_address[1]}"
        self.lock = threading.Lock()
        self.thread = threading.Thread(target=self.http.serve_forever, daemon=True)

    def take(self, path, headers, body):
        with self.lock:
            self.requests += 1
            if self.answers:
                return self.answers.pop(0)
            try:
                check(path == "/v1/traces" and headers["Content-Type"] == "application/json", (path, dict(headers)))
                told = json.loads(body)
                check(set(told) == {"resourceSpans"}, told.keys())
                for resource in told["resourceSpans"]:
                    check_attributes(resource["resource"]["attributes"])
                    self.resources.append({each["key"]: each["value"]["stringValue"] for each in resource["resource"]["attributes"]})
                    for scope in resource["scopeSpans"]:
                        check(scope["scope"]["name"] == "paddock", scope["scope"])
                        for span in scope["spans"]:
                            check_span(span)
                            self.spans.append(Span(span))
                self.headers.append(dict(headers))
            except Exception as problem:  # noqa: BLE001: told to the test, which runs elsewhere
                self.problems.append(repr(problem))
                return 400
            return 200

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.http.shutdown()
        self.http.server_close()
        self.thread.join()

    def wait(self, condition):
        """The spans, once `condition(spans)` holds."""
        held = until(lambda: self.problems or condition(list(self.spans)), 120)  # retries double their pause
        check(not self.problems, self.problems)
        check(held, f"not among {len(self.spans)} spans: {[(span.name, span.status) for span in self.spans]}")
        return list(self.spans)

    def named(self, name, count=1):
        return [span for span in self.wait(lambda spans: sum(span.name == name for span in spans) >= count) if span.name == name]
