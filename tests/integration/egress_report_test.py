"""What is told about the network: denials, the log of requests, bytes; and the limits on them."""
import json
import os
import shutil

from support import internet, paddock
from support.internet import allow, as_each_user, get

KIB, MIB = 1 << 10, 1 << 20
FIELDS = {"time", "sandbox", "name", "address", "port", "protocol", "method", "path", "bytes_up", "bytes_down", "duration_ms", "verdict", "rule"}

# Reads or writes for as long as there is something, and says how many bytes a second that was, behind the first burst.
RATE = """
import socket, sys, time
def run(move):
    total, start, first = 0, None, 0
    while True:
        count = move()
        if not count: break
        total += count
        if start is None and total > {burst}: start, first = time.monotonic(), total
    print((total - first) / (time.monotonic() - start))
s = socket.create_connection(('good.example', {port}))
"""
DOWN = RATE + "s.sendall(b'GET /big?size={size} HTTP/1.1\\r\\nHost: good.example\\r\\nConnection: close\\r\\n\\r\\n')\nrun(lambda: len(s.recv(65536)))"
UP = RATE + """
left = [{size}]
def move():
    if not left[0]: return 0
    count = s.send(b'u' * min(left[0], 16384))
    left[0] -= count
    return count
s.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 16384)
s.sendall(b'POST /sink HTTP/1.1\\r\\nHost: good.example\\r\\nContent-Length: {size}\\r\\nConnection: close\\r\\n\\r\\n')
run(move)
"""
OPEN_MANY = """
import socket, sys
kept, refused = [], 0
for _ in range(int(sys.argv[1])):
    try:
        s = socket.create_connection(('good.example', 7), 20)
        s.sendall(b'x\\n')
        if s.recv(2) == b'x\\n': kept.append(s)
        else: refused += 1
    except OSError: refused += 1
print(len(kept), refused)
kept.pop().close()
"""


class DenialsTest(internet.Case):
    @as_each_user
    def test_a_denial_names_host_port_rule_and_reason(self, user):
        result = self.net.run_json(*allow("good.example:443"), "--", "curl", "-sS", "http://good.example/", user=user)
        denial = next(d for d in result["denials"] if d["layer"] == "network")
        self.assertEqual((denial["action"], denial["rule"]), ("connect good.example:80", "network.allow"))
        self.assertIn("not on port 80", denial["why"])

    @as_each_user
    def test_one_line_per_denied_host_on_stderr(self, user):
        script = "for n in 1 2 3; do curl -sS http://evil.example/; curl -sS http://other.example/; done 2>/dev/null"
        done = self.net.run(*allow("good.example"), "--", "sh", "-c", script, user=user)
        for host in ("evil.example", "other.example"):
            lines = [line for line in done.stderr.splitlines() if host in line]
            self.assertEqual(len(lines), 1, done.stderr)
            self.assertIn("network.allow", lines[0])
        quiet = self.net.run("--quiet", *allow("good.example"), "--", "sh", "-c", script, user=user)
        self.assertEqual(quiet.stderr, "")

    @as_each_user
    def test_a_denied_http_request_is_answered_with_the_way_out(self, user):
        ask = {"do": "proxy", "send": [get("evil.example", "http://evil.example/x")]}
        as_json = {"do": "proxy", "send": [get("evil.example", "http://evil.example/x", "Accept: application/json")]}
        answers, _ = self.inside(user, [ask, as_json], *allow("good.example"))
        heads, bodies = zip(*("".join(answer["received"]).split("\r\n\r\n", 1) for answer in answers))
        self.assertTrue(all(" 403 " in head.split("\r\n")[0] for head in heads), heads)
        for words in ("evil.example", "network.allow", "--allow-net evil.example"):
            self.assertIn(words, bodies[0])
        self.assertIn("text/plain", heads[0])
        self.assertIn("application/json", heads[1])
        told = json.dumps(json.loads(bodies[1]))
        for words in ("evil.example", "network.allow", "--allow-net evil.example"):
            self.assertIn(words, told)

    @as_each_user
    def test_an_allowed_run_has_no_denials(self, user):
        result = self.net.run_json(*allow("good.example"), "--", "curl", "-sS", "http://good.example/", user=user)
        self.assertEqual(result["denials"], [])


class RequestsTest(internet.Case):
    @as_each_user
    def test_each_request_is_an_entry(self, user):
        script = "curl -sS http://good.example/echo?a=b http://good.example/big?size=1000; curl -sS -X POST -d 12345 http://good.example/sink; curl -sS http://evil.example/"
        result = self.net.run_json(*allow("good.example"), "--", "sh", "-c", script, user=user)
        requests = result["network"]["requests"]
        self.assertEqual(result["network"]["requests_dropped"], 0)
        for entry in requests:
            if entry["protocol"] == "http":
                self.assertEqual(FIELDS - set(entry), set(), entry)
            self.assertEqual(entry["sandbox"], result["id"])
        seen = [(entry["name"], entry["port"], entry["method"], entry["path"]) for entry in requests if entry["protocol"] == "http"]
        self.assertEqual(seen[:3], [("good.example", 80, "GET", "/echo"), ("good.example", 80, "GET", "/big"), ("good.example", 80, "POST", "/sink")])
        self.assertGreaterEqual(next(entry for entry in requests if entry.get("path") == "/big")["bytes_down"], 1000)
        self.assertNotIn("a=b", json.dumps(requests))  # a query may hold secrets
        self.assertTrue(any(entry["name"] == "evil.example" and entry["verdict"] == "deny" for entry in requests), requests)
        self.assertTrue(all(entry["verdict"] == "allow" for entry in requests if entry["name"] == "good.example"), requests)

    @as_each_user
    def test_tls_and_plain_connections_are_entries_too(self, user):
        script = "curl -sS https://good.example/; echo hi | timeout 5 python3 -c \"import socket; s = socket.create_connection(('good.example', 7)); s.sendall(b'hello'); s.recv(5)\""
        result = self.net.run_json(*allow("good.example"), "--", "sh", "-c", script, user=user)
        entries = {entry["port"]: entry for entry in result["network"]["requests"]}
        self.assertEqual(entries[443]["protocol"], "tls")
        self.assertEqual((entries[7]["protocol"], entries[7]["bytes_up"], entries[7]["bytes_down"]), ("tcp", 5, 5))

    @as_each_user
    def test_hosts_are_summed_up(self, user):
        script = "curl -sS http://good.example/ http://good.example/missing http://good.example/; curl -sS -X POST -d x http://good.example/sink; curl -sS -x $HTTP_PROXY http://evil.example/"
        result = self.net.run_json(*allow("good.example"), "--", "sh", "-c", script, user=user)
        hosts = {(host["host"], host.get("port")): host for host in result["network"]["hosts"]}
        good = hosts["good.example", 80]
        self.assertEqual((good["requests"], good["denied"], good["methods"], good["statuses"]), (4, 0, {"GET": 3, "POST": 1}, {"200": 3, "404": 1}))
        self.assertGreater(good["bytes_down"], 100)
        self.assertEqual(hosts["evil.example", 80]["denied"], 1)

    @as_each_user
    def test_bytes_are_counted(self, user):
        result = self.net.run_json(*allow("good.example"), "--", "curl", "-sS", "-o", "/dev/null", f"http://good.example/big?size={MIB}", user=user)
        self.assertGreaterEqual(result["usage"]["net_rx_bytes"], MIB)
        self.assertLess(result["usage"]["net_rx_bytes"], MIB + 16 * KIB)
        self.assertGreater(result["usage"]["net_tx_bytes"], 50)
        self.assertLess(result["usage"]["net_tx_bytes"], 4 * KIB)

    @as_each_user
    def test_the_log_is_also_a_file_of_lines(self, user):
        folder = paddock.folder(user)
        self.addCleanup(shutil.rmtree, folder)
        path = os.path.join(folder, "network.log")
        result = self.net.run_json("--network-log", path, *allow("good.example"), "--", "sh", "-c",
                                   "curl -sS http://good.example/; curl -sS http://evil.example/", user=user)
        with open(path) as file:
            entries = [json.loads(line) for line in file]
        self.assertEqual(entries, result["network"]["requests"])

    @as_each_user
    def test_the_query_and_headers_of_tls_are_not_in_the_log(self, user):
        result = self.net.run_json(*allow("good.example"), "--", "curl", "-sS", "-H", "X-Private: 5ecret", "https://good.example/private?5ecret", user=user)
        self.assertNotIn("5ecret", json.dumps(result["network"]))

    @as_each_user
    def test_names_that_are_made_up_do_not_hide_what_was_reached(self, user):
        code = ("import socket, urllib.request as u\n"
                "for n in range(1100):\n"
                "  s = socket.create_connection(('127.0.0.1', 18128)); s.sendall(b'CONNECT n%d.junk:1 HTTP/1.1\\r\\nHost: n%d.junk:1\\r\\n\\r\\n' % (n, n)); s.recv(100)\n"
                "u.urlopen('http://good.example/').read()")
        result = self.net.run_json(*allow("good.example"), "--", "python3", "-c", code, user=user)
        self.assert_exited(result)
        hosts = {host["host"]: host for host in result["network"]["hosts"]}
        self.assertEqual(hosts["good.example"]["statuses"], {"200": 1})
        self.assertGreater(hosts["(others)"]["denied"], 50)

    @as_each_user
    def test_a_request_that_never_ends_is_told_too(self, user):
        code = ("import socket, time; s = socket.create_connection(('good.example', 80)); s.sendall(b'GET /begun'); time.sleep(0.2)\n"
                "s.sendall(b' HTTP/1.1\\r\\n'); s.close(); time.sleep(0.2)")
        result = self.net.run_json(*allow("good.example"), "--", "python3", "-c", code, user=user)
        told = [entry for entry in result["network"]["requests"] if entry["protocol"] == "http"]
        self.assertEqual([(entry["name"], entry["bytes_up"]) for entry in told], [("good.example", 21)], result["network"])


class LimitsTest(internet.Case):
    @as_each_user
    def test_one_connection_too_many_is_refused_and_named(self, user):
        result = self.net.run_json(*allow("good.example"), "--connections", "5", "--", "python3", "-c", OPEN_MANY, "8", user=user)
        self.assertEqual(result["stdout"], "5 3\n", internet.describe(result))
        self.assertIn(("connections", 5), [(hit["limit"], hit["value"]) for hit in result["limits_hit"]])
        self.assert_denied(result, "good.example:7", "connections")

    @as_each_user
    def test_a_closed_connection_makes_room(self, user):
        script = "for n in 1 2 3 4 5 6; do curl -sS http://good.example/ || exit 1; done"
        result = self.net.run_json(*allow("good.example"), "--connections", "1", "--", "sh", "-c", script, user=user)
        self.assert_exited(result)
        self.assertEqual(result["limits_hit"], [])

    def rate(self, code, *options, user, size, burst):
        result = self.net.run_json(*allow("good.example"), *options, "--", "python3", "-c", code.format(size=size, burst=burst, port=80), user=user)
        self.assert_exited(result)
        return float(result["stdout"])

    @as_each_user
    def test_the_rate_towards_the_program_holds(self, user):
        measured = self.rate(DOWN, "--net-down-rate", "1M", user=user, size=5 * MIB, burst=2 * MIB)
        self.assertLess(measured / MIB, 1.2)
        self.assertGreater(measured / MIB, 0.7)

    @as_each_user
    def test_the_rate_away_from_the_program_holds(self, user):
        # What fits into the buffers on the way is not held back, so it is counted before the clock starts.
        measured = self.rate(UP, "--net-up-rate", "2M", user=user, size=16 * MIB, burst=8 * MIB)
        self.assertLess(measured / MIB, 2.4)
        self.assertGreater(measured / MIB, 1.4)

    @as_each_user
    def test_all_connections_share_one_rate(self, user):
        code = ("import threading, time, urllib.request as u; start = time.monotonic()\n"
                "fetch = lambda: u.urlopen('http://good.example/big?size=1500000').read()\n"
                "all = [threading.Thread(target=fetch) for _ in range(4)]; [t.start() for t in all]; [t.join() for t in all]\n"
                "print(6000000 / (time.monotonic() - start))")
        result = self.net.run_json(*allow("good.example"), "--net-down-rate", "1M", "--", "python3", "-c", code, user=user)
        self.assert_exited(result)
        self.assertLess(float(result["stdout"]) / MIB, 1.5)  # a burst at the start is part of it

    @as_each_user
    def test_a_total_ends_the_traffic(self, user):
        result = self.net.run_json(*allow("good.example"), "--net-total", "1M", "--", "sh", "-c",
                                   f"curl -sS http://good.example/big?size={4 * MIB} | wc -c; curl -sS http://good.example/", user=user)
        self.assertLessEqual(int(result["stdout"].split()[0]), MIB + 256 * KIB)
        self.assertNotIn("world", result["stdout"])
        self.assertIn("net_total", [hit["limit"] for hit in result["limits_hit"]])

    @as_each_user
    def test_what_holds_the_limits_is_told(self, user):
        options = ["--connections", "5", "--net-down-rate", "1M", "--net-up-rate", "1M", "--net-total", "1M"]
        result = self.net.run_json(*allow("good.example"), *options, "--", "true", user=user)
        for name in ("connections", "net_down_rate", "net_up_rate", "net_total"):
            self.assertIn(name, result["enforced"])
        self.assertIn("network", result["enforced"])


if __name__ == "__main__":
    paddock.main()
