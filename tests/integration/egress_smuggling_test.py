"""Requests that say one thing to us and another to the server, and TLS that hides where it goes."""
import json
import ssl
import struct

from support import internet, paddock
from support.internet import allow, as_each_user, get

# What two implementations could read differently. Each is sent whole; the server must not see any of it.
VECTORS = {
    "Content-Length and Transfer-Encoding": "POST / HTTP/1.1\r\nHost: good.example\r\nContent-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
    "two different Content-Lengths": "POST / HTTP/1.1\r\nHost: good.example\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab",
    "a list of Content-Lengths": "POST / HTTP/1.1\r\nHost: good.example\r\nContent-Length: 1, 2\r\n\r\nab",
    "a signed Content-Length": "POST / HTTP/1.1\r\nHost: good.example\r\nContent-Length: +1\r\n\r\na",
    "a hexadecimal Content-Length": "POST / HTTP/1.1\r\nHost: good.example\r\nContent-Length: 0x1\r\n\r\na",
    "an unknown Transfer-Encoding": "POST / HTTP/1.1\r\nHost: good.example\r\nTransfer-Encoding: xchunked\r\n\r\n0\r\n\r\n",
    "chunked twice": "POST / HTTP/1.1\r\nHost: good.example\r\nTransfer-Encoding: chunked, chunked\r\n\r\n0\r\n\r\n",
    "Transfer-Encoding in two headers": "POST / HTTP/1.1\r\nHost: good.example\r\nTransfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n\r\n0\r\n\r\n",
    "Transfer-Encoding behind a tab": "POST / HTTP/1.1\r\nHost: good.example\r\nTransfer-Encoding:\x0bchunked\r\n\r\n0\r\n\r\n",
    "Transfer-Encoding in HTTP/1.0": "POST / HTTP/1.0\r\nHost: good.example\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
    "two Hosts": "GET / HTTP/1.1\r\nHost: good.example\r\nHost: evil.example\r\n\r\n",
    "the same Host twice": "GET / HTTP/1.1\r\nHost: good.example\r\nHost: good.example\r\n\r\n",
    "no Host": "GET / HTTP/1.1\r\nAccept: */*\r\n\r\n",
    "a list of Hosts": "GET / HTTP/1.1\r\nHost: good.example, evil.example\r\n\r\n",
    "user information in Host": "GET / HTTP/1.1\r\nHost: good.example@evil.example\r\n\r\n",
    "a blank before the colon": "GET / HTTP/1.1\r\nHost: good.example\r\nContent-Length : 5\r\n\r\n",
    "obsolete folding": "GET / HTTP/1.1\r\nHost: good.example\r\nX-One: a\r\n b: c\r\n\r\n",
    "a folded first header": "GET / HTTP/1.1\r\n Host: evil.example\r\nHost: good.example\r\n\r\n",
    "a bare line feed": "GET / HTTP/1.1\nHost: good.example\n\n",
    "a bare line feed in a header": "GET / HTTP/1.1\r\nHost: good.example\r\nX: a\nHost: evil.example\r\n\r\n",
    "a bare carriage return": "GET / HTTP/1.1\r\nHost: good.example\r\nX: a\rHost: evil.example\r\n\r\n",
    "a NUL": "GET / HTTP/1.1\r\nHost: good.example\r\nX: a\0b\r\n\r\n",
    "an absolute target that is not the Host": "GET http://evil.example/ HTTP/1.1\r\nHost: good.example\r\n\r\n",
    "a Host that is not the absolute target": "GET http://good.example/ HTTP/1.1\r\nHost: evil.example\r\n\r\n",
    "blanks in the target": "GET /a b HTTP/1.1\r\nHost: good.example\r\n\r\n",
    "two blanks": "GET  / HTTP/1.1\r\nHost: good.example\r\n\r\n",
    "a tab as blank": "GET\t/\tHTTP/1.1\r\nHost: good.example\r\n\r\n",
    "an unknown version": "GET / HTTP/1.2\r\nHost: good.example\r\n\r\n",
    "a lower-case version": "GET / http/1.1\r\nHost: good.example\r\n\r\n",
    "a method of 9,000 letters": "A" * 9000 + " / HTTP/1.1\r\nHost: evil.example\r\n\r\n",
    "a method without end": "A" * 17000 + " / HTTP/1.1\r\nHost: evil.example\r\n\r\n",
    "HTTP/2 in the clear": "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
    "a name that is no token": "GET / HTTP/1.1\r\nHost: good.example\r\nX(y): a\r\n\r\n",
    "an empty name": "GET / HTTP/1.1\r\nHost: good.example\r\n: a\r\n\r\n",
}
# Heads that are right, with chunks that are not: the head may be on its way already, what hides behind must not.
HEAD = "POST /first HTTP/1.1\r\nHost: good.example\r\nTransfer-Encoding: chunked\r\n\r\n"
HIDDEN = "GET /hidden HTTP/1.1\r\nHost: evil.example\r\n\r\n"
CHUNKS = {
    "a size with a sign": f"+0\r\n\r\n{HIDDEN}",
    "a size with a prefix": f"0x0\r\n\r\n{HIDDEN}",
    "a huge size": f"ffffffffffffffff0\r\n\r\n{HIDDEN}",
    "a bare line feed": f"0\n\n{HIDDEN}",
    "a negative size": f"-1\r\n\r\n{HIDDEN}",
    "no line behind the chunk": f"1\r\na0\r\n\r\n{HIDDEN}",
    "a bare line feed in an extension": f"1;a\nb\r\nx\r\n0\r\n\r\n{HIDDEN}",
}
# Inspected by egress, so that what happens inside TLS can be judged too.
INSPECT = '[[network.inject]]\nhost = "good.example"\nheader = "Authorization"\nsecret = "env:TOKEN"\nformat = "Bearer {}"\n'


def plain(text):
    return {"do": "tcp", "host": "good.example", "port": 80, "send": [text]}


def client_hello(name, encrypted=False):
    """A real ClientHello, on request with an encrypted_client_hello extension."""
    incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
    try:
        ssl._create_unverified_context().wrap_bio(incoming, outgoing, server_hostname=name).do_handshake()
    except ssl.SSLWantReadError:
        pass
    hello = outgoing.read()[9:]
    at = 34 + 1 + hello[34]
    at += 2 + int.from_bytes(hello[at:at + 2], "big")
    at += 1 + hello[at]
    extensions = hello[at + 2:] + (struct.pack("!HH", 0xfe0d, 8) + b"\0" * 8 if encrypted else b"")
    hello = hello[:at] + struct.pack("!H", len(extensions)) + extensions
    hello = b"\x01" + len(hello).to_bytes(3, "big") + hello
    return (b"\x16\x03\x01" + struct.pack("!H", len(hello)) + hello).decode("latin-1")


class HttpTest(internet.Case):
    def first_lines(self, user, steps, *options, **more):
        answers, result = self.inside(user, steps, *options, **more)
        return ["".join(answer["received"]).split("\r\n")[0] for answer in answers], result

    @as_each_user
    def test_http2_in_the_clear_goes_only_where_there_is_no_name_to_agree_with(self, user):
        start = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
        steps = [{"do": "tcp", "host": host, "port": 7, "send": [start], "until": "SM\r\n\r\n"} for host in (internet.GOOD, "good.example")]
        answers, _ = self.inside(user, steps, *allow(internet.GOOD, "good.example"), program=internet.WITHOUT_PROXY)
        self.assertEqual(answers[0], {"received": [start]})
        self.assertIn(" 400 ", answers[1]["received"][0])

    @as_each_user
    def test_http2_in_the_clear_is_known_by_a_server_that_speaks_first(self, user):
        start = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
        steps = [{"do": "tcp", "host": "good.example", "port": 8082, "send": pieces, "until": "SM\r\n\r\n"} for pieces in ([start], ["PR", "I * HTTP/2.0\r\n\r\nSM\r\n\r\n"], [""])]
        answers, _ = self.inside(user, steps, *allow("good.example"), program=internet.WITHOUT_PROXY)
        for answer in answers:
            self.assertNotIn("SM", "".join(answer.get("received", [])))
            self.assertNotIn("\0\0\6\4", "".join(answer.get("received", [])))

    @as_each_user
    def test_what_can_be_read_two_ways_is_refused(self, user):
        lines, _ = self.first_lines(user, [plain(text) for text in VECTORS.values()], *allow("good.example"))
        refused = {name: line for name, line in zip(VECTORS, lines) if " 400 " not in line}
        self.assertEqual(refused, {})
        self.assertEqual(self.net.world.log()["http"], [])

    @as_each_user
    def test_the_proxy_refuses_the_same(self, user):
        texts = [text.replace(" / ", " http://good.example/ ", 1) for text in VECTORS.values()]
        lines, _ = self.first_lines(user, [{"do": "proxy", "send": [text]} for text in texts], *allow("good.example"))
        let_through = {name: line for name, line in zip(VECTORS, lines) if " 400 " not in line}
        self.assertEqual(let_through, {})
        self.assertEqual(self.net.world.log()["http"], [])

    @as_each_user
    def test_nothing_hides_behind_broken_chunks(self, user):
        self.inside(user, [plain(HEAD + chunks) for chunks in CHUNKS.values()], *allow("good.example"))
        self.assertEqual([entry for entry in self.net.world.log()["http"] if entry["target"] != "/first"], [])

    @as_each_user
    def test_the_host_header_must_be_the_name_that_was_asked_for(self, user):
        for other in ("evil.example", "other.example", "good.example.evil.example"):
            lines, _ = self.first_lines(user, [plain(get(other))], *allow("good.example", "other.example"))
            self.assertIn(lines[0].split(" ")[1], ("400", "403", "421"), lines)
        self.assertEqual(self.net.world.log()["http"], [])

    @as_each_user
    def test_each_request_of_a_connection_is_judged(self, user):
        first, second = ("GET / HTTP/1.1\r\nHost: {0}\r\n\r\n".format(host) for host in ("good.example", "evil.example"))
        absolute = [f"GET http://{host}/ HTTP/1.1\r\nHost: {host}\r\n\r\n" for host in ("good.example", "evil.example")]
        connect = "CONNECT evil.example:443 HTTP/1.1\r\nHost: evil.example:443\r\n\r\n"
        steps = [plain(first + second), {"do": "proxy", "send": ["".join(absolute)]}, {"do": "proxy", "send": [absolute[0] + connect]}, plain(first + connect)]
        for step, answer in zip(steps, self.inside(user, steps, *allow("good.example"))[0]):
            text = "".join(answer["received"])
            self.assertIn("world good.example", text, step)
            self.assertNotIn("world evil.example", text, step)
        self.assertFalse([entry for entry in self.net.world.log()["http"] if "evil" in json.dumps(entry)])

    @as_each_user
    def test_a_tunnel_carries_no_other_host(self, user):
        tunnel = "CONNECT good.example:80 HTTP/1.1\r\nHost: good.example:80\r\n\r\n"
        inner = ["CONNECT evil.example:443 HTTP/1.1\r\nHost: evil.example:443\r\n\r\n", get("evil.example"), get("evil.example", "http://evil.example/")]
        answers, _ = self.inside(user, [{"do": "proxy", "send": [tunnel + text]} for text in inner], *allow("good.example"))
        self.assertNotIn("world", json.dumps(answers))
        self.assertEqual(self.net.world.log()["http"], [])

    @as_each_user
    def test_socks_does_nothing_but_connect(self, user):
        steps = [{"do": "socks", "host": "good.example", "port": 80, "command": command} for command in (2, 3, 0, 9)]
        answers, _ = self.inside(user, steps, *allow("good.example"))
        self.assertEqual([answer["error"].split(": ")[1] for answer in answers], ["SOCKS reply 7"] * 4)


class TlsTest(internet.Case):
    def strict(self):
        return ["--policy", self.net.file("strict.toml", 'version = 1\nextends = "default"\n[network]\nallow = ["good.example"]\nstrict = true\n')]

    def assert_closed(self, user, steps, *options):
        answers, result = self.inside(user, steps, *options)
        for step, answer in zip(steps, answers):
            self.assertFalse(any("\x16\x03" in text or "world" in text for text in answer["received"]), (step, answer))
        return result

    @as_each_user
    def test_the_name_in_the_handshake_must_be_the_one_that_was_asked_for(self, user):
        steps = [{"do": kind, "host": "good.example", "port": 443, "send": [client_hello("evil.example")], "until": "\x16"} for kind in ("tcp", "socks")]
        tunnel = "CONNECT good.example:443 HTTP/1.1\r\nHost: good.example:443\r\n\r\n"
        steps.append({"do": "proxy", "send": [tunnel + client_hello("evil.example")]})
        result = self.assert_closed(user, steps, *allow("good.example", "other.example"))
        self.assert_denied(result, "evil.example")
        self.assertEqual(self.net.world.log()["http"], [])

    @as_each_user
    def test_strict_wants_a_readable_name(self, user):
        hello = {"do": "tcp", "host": "good.example", "port": 443, "until": "\x16"}
        self.assert_closed(user, [hello | {"send": [client_hello(None)]}, hello | {"send": [client_hello("good.example", encrypted=True)]}], *self.strict())
        answers, _ = self.inside(user, [hello | {"send": [client_hello("good.example")]}], *self.strict())
        self.assertTrue(answers[0]["received"][0].startswith("\x16"), answers)

    @as_each_user
    def test_strict_wants_http_and_tls_on_their_ports(self, user):
        steps = [{"do": "tcp", "host": "good.example", "port": port, "send": ["SSH-2.0-me\r\n"]} for port in (80, 443)]
        self.assert_closed(user, steps, *self.strict())
        self.assertEqual([entry for entry in self.net.world.log()["tcp"] if "SSH" in entry.get("received", "")], [])

    @as_each_user
    def test_within_inspected_tls_the_host_must_agree(self, user):
        policy = self.net.file("inspect.toml", f'version = 1\nextends = "default"\n[network]\nallow = ["good.example", "other.example"]\n{INSPECT}')
        step = {"do": "tls", "host": "good.example", "port": 443, "sni": "good.example"}
        for other in ("other.example", "evil.example"):
            answers, _ = self.inside(user, [step | {"send": [get(other)]}], "--policy", policy, env={"TOKEN": "token-of-the-test"})
            self.assertIn(" 421 ", "".join(answers[0]["received"]).split("\r\n")[0], answers)
        self.assertEqual(self.net.world.log()["http"], [])
        vectors = [step | {"send": [text]} for text in VECTORS.values()]
        answers, _ = self.inside(user, vectors, "--policy", policy, env={"TOKEN": "token-of-the-test"})
        self.assertEqual({name for name, answer in zip(VECTORS, answers) if " 400 " not in "".join(answer["received"])}, set())
        self.assertEqual(self.net.world.log()["http"], [])


if __name__ == "__main__":
    paddock.main()
