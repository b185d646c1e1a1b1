"""A secret that is put into requests on their way out: the server has it, and nothing inside ever does."""
import json
import os
import re
import shutil
import subprocess

from support import internet, paddock
from support.internet import WITHOUT_PROXY, as_each_user, get

SECRET = "sk-test-7f3a9c51e0d84b26"
HEADER = f"Bearer {SECRET}"
INJECT = """
[[network.inject]]
host = "{host}"
header = "Authorization"
secret = "{secret}"
format = "Bearer {{}}"
"""
NODE = "fetch(process.argv[1]).then(r => r.text()).then(t => process.stdout.write(t)).catch(e => { console.error(e.cause || e); process.exit(1) })"
URLLIB = "import sys, urllib.request as u; sys.stdout.write(u.urlopen(sys.argv[1]).read().decode())"
JAVA = """
import java.net.URI;
import java.net.http.*;
public class Fetch {
  public static void main(String[] urls) throws Exception {
    System.out.print(HttpClient.newHttpClient().send(HttpRequest.newBuilder(URI.create(urls[0])).build(), HttpResponse.BodyHandlers.ofString()).body());
  }
}
"""
# Everything that a program could read, looked through for the secret's text and for a private key.
SEARCH = r"""
import os, sys
needles = [bytes.fromhex(text) for text in sys.argv[1:]]
looked, found = 0, []
def look(path):
    global looked
    try:
        with open(path, 'rb') as file: data = file.read(4 << 20)
    except OSError: return
    looked += 1
    found.extend(path for needle in needles if needle in data)
for pid in [name for name in os.listdir('/proc') if name.isdigit()]:
    for name in ('environ', 'cmdline', 'maps', 'mountinfo'):
        if not (pid == str(os.getpid()) and name == 'cmdline'): look(f'/proc/{pid}/{name}')
for root in ('/etc', '/tmp', '/run', '/var', '/home', '/root', '/dev/shm', '/workspace'):
    for folder, _, names in os.walk(root):
        for name in names:
            path = os.path.join(folder, name)
            if os.path.isfile(path): look(path)
print(looked > 10, found)
"""


class InjectTest(internet.Case):
    def options(self, host="api.example", secret="env:API_TOKEN", allowed=("api.example:80", "api.example:443", "other-api.example")):
        text = f'version = 1\nextends = "default"\n[limits]\nmemory = "1G"\n[network]\nallow = {json.dumps(allowed)}\n{INJECT.format(host=host, secret=secret)}'
        return ["--policy", self.net.file("inject.toml", text)]

    def run_with(self, user, command, *options):
        return self.net.run_json(*self.options(), *options, "--", *command, user=user, env={"API_TOKEN": SECRET})

    def sent(self, path=None):
        """The header as the servers saw it, for each request."""
        return [dict((name.lower(), value) for name, value in entry["headers"]).get("authorization") for entry in self.net.world.log()["http"]
                if path is None or entry["target"].startswith(path)]

    def assert_hidden(self, result):
        text = json.dumps(result)
        self.assertNotIn(SECRET, text)
        self.assertNotIn(SECRET[::-1], text)

    def clients(self):
        yield "curl", ["curl", "-sS", "--fail"], []
        yield "python", ["python3", "-c", URLLIB], []
        if shutil.which("node", path="/usr/local/bin:/usr/bin"):
            yield "node", ["node", "-e", NODE], []
        if shutil.which("javac"):
            source = self.net.file("Fetch.java", JAVA)
            yield "java", ["java", source], ["--read", source]

    @as_each_user
    def test_the_server_has_the_header_and_the_program_does_not_whatever_the_client(self, user):
        """Without any option of the client about proxies or authorities."""
        for name, command, options in self.clients():
            for scheme in ("http", "https"):
                for front in ([], WITHOUT_PROXY):
                    with self.subTest(client=name, scheme=scheme, plain=bool(front)):
                        self.net.clear()
                        result = self.run_with(user, [*front, *command, f"{scheme}://api.example/echo"], *options)
                        self.assert_exited(result)
                        self.assertIn('"target": "/echo"', result["stdout"])
                        self.assertEqual(self.sent(), [HEADER])
                        self.assert_hidden(result)

    @as_each_user
    def test_the_programs_own_header_is_replaced(self, user):
        result = self.run_with(user, ["curl", "-sS", "-H", "Authorization: Bearer placeholder", "-H", "authorization: two", "https://api.example/echo"])
        self.assert_exited(result)
        values = [value for name, value in self.net.world.log()["http"][0]["headers"] if name.lower() == "authorization"]
        self.assertEqual(values, [HEADER])

    @as_each_user
    def test_other_hosts_never_get_it(self, user):
        script = ("curl -sS https://other-api.example/echo; curl -sS http://other-api.example/echo; "
                  "curl -sSL --location-trusted 'https://api.example/redirect?to=https://other-api.example/echo'; "
                  "curl -sS -H 'Host: api.example' http://other-api.example/echo; curl -sS -H 'Host: other-api.example' https://api.example/echo")
        result = self.run_with(user, ["sh", "-c", script])
        for entry in self.net.world.log()["http"]:
            has = SECRET in json.dumps(entry)
            self.assertEqual(has, entry["target"].startswith("/redirect"), entry)
        self.assert_hidden(result)

    @as_each_user
    def test_nothing_goes_out_readable_unless_that_port_is_listed(self, user):
        result = self.net.run_json(*self.options(allowed=("api.example",)), "--", "sh", "-c", "curl -sS http://api.example/echo; curl -sS https://api.example/echo",
                                   user=user, env={"API_TOKEN": SECRET})
        self.assertEqual(self.sent(), [None, HEADER], internet.describe(result))
        self.assertTrue(any("api.example:80" in note and "without the header" in note for note in result["notes"]), result["notes"])

    @as_each_user
    def test_a_port_of_https_never_gets_it_in_the_clear(self, user):
        step = {"do": "tcp", "host": "api.example", "port": 443, "send": [get("api.example:443", "/echo")]}
        _, result = self.inside(user, [step], *self.options(allowed=("api.example:443",)), program=WITHOUT_PROXY, env={"API_TOKEN": SECRET})
        self.assertNotIn(SECRET, json.dumps(self.net.world.log()))
        self.assertTrue(any("without the header" in note for note in result["notes"]), result["notes"])

    @as_each_user
    def test_a_wildcard_covers_its_names_only(self, user):
        script = "curl -sS https://www.good.example/echo; curl -sS https://good.example/echo"
        result = self.net.run_json(*self.options("*.good.example", allowed=("*.good.example", "good.example")), "--", "sh", "-c", script, user=user,
                                   env={"API_TOKEN": SECRET})
        self.assertEqual(self.sent(), [HEADER, None], internet.describe(result))

    @as_each_user
    def test_an_echo_is_scrubbed(self, user):
        pages = ["/echo", "/chunked?size=1", "/chunked?size=5", "/chunked?size=100", "/headers", "/gzip"]
        for page in pages:
            for scheme in ("http", "https"):
                with self.subTest(page=page, scheme=scheme):
                    self.net.clear()
                    result = self.run_with(user, ["curl", "-sSi", f"{scheme}://api.example{page}"])
                    self.assert_exited(result)
                    self.assertEqual(self.sent(), [HEADER])
                    self.assert_hidden(result)

    @as_each_user
    def test_compressed_answers_are_not_passed_on_unread(self, user):
        # The server compresses whatever was asked for; what comes back holds no compressed secret either.
        result = self.run_with(user, ["sh", "-c", "curl -sS -H 'Accept-Encoding: gzip, br' -o /tmp/a https://api.example/gzip; python3 -c "
                                      "\"import zlib; d = open('/tmp/a', 'rb').read(); print(d[:2] == b'\\x1f\\x8b' and zlib.decompress(d, 31))\""])
        self.assert_hidden(result)
        accepted = dict(self.net.world.log()["http"][0]["headers"]).get("Accept-Encoding", "identity")
        self.assertEqual(accepted, "identity")

    @as_each_user
    def test_trace_is_refused(self, user):
        for scheme in ("http", "https"):
            result = self.run_with(user, [*WITHOUT_PROXY, "curl", "-sSi", "-X", "TRACE", f"{scheme}://api.example/"])
            self.assertRegex(result["stdout"].split("\r\n")[0], " (403|405) ")
            self.assert_hidden(result)
        self.assertEqual(self.net.world.log()["http"], [])

    @as_each_user
    def test_a_range_cannot_cut_the_secret_out(self, user):
        self.run_with(user, ["curl", "-sS", "-H", "Range: bytes=100-110", "https://api.example/echo"])
        self.assertFalse([value for entry in self.net.world.log()["http"] for name, value in entry["headers"] if name.lower() == "range"])

    @as_each_user
    def test_nothing_inside_holds_the_secret_or_the_authoritys_key(self, user):
        needles = [SECRET.encode().hex(), b"PRIVATE KEY-----\nM".hex()]
        result = self.run_with(user, ["python3", "-c", SEARCH, *needles])
        self.assertEqual(result["stdout"], "True []\n", internet.describe(result))
        result = self.run_with(user, ["env"])
        self.assert_hidden(result)
        self.assertNotIn("API_TOKEN", result["stdout"])

    @as_each_user
    def test_the_authority_speaks_for_injected_hosts_only(self, user):
        command = "curl -sSv https://{}/ 2>&1 | grep -i 'issuer:'"
        issuer = {host: self.run_with(user, ["sh", "-c", command.format(host)])["stdout"] for host in ("api.example", "other-api.example")}
        self.assertIn("Test authority", issuer["other-api.example"])
        self.assertNotIn("Test authority", issuer["api.example"])
        self.assertTrue(issuer["api.example"])

    @as_each_user
    def test_a_server_with_a_wrong_certificate_does_not_get_the_secret(self, user):
        # The name leads to a server whose certificate is for another authority's name: here none that the machine trusts.
        bad = os.path.join(self.net.folder, "untrusted.pem")
        subprocess.run(["cp", "/etc/ssl/certs/ca-certificates.crt", bad], check=True)
        self.net.machine.run("mount", "--bind", bad, "/etc/ssl/certs/ca-certificates.crt")
        try:
            result = self.run_with(user, ["curl", "-sSk", "--fail", "https://api.example/echo"])
            self.assertNotEqual(result["outcome"]["code"], 0)
            self.assertEqual(self.net.world.log()["http"], [])
        finally:
            self.net.machine.run("umount", "/etc/ssl/certs/ca-certificates.crt")

    @as_each_user
    def test_a_secret_from_a_file_works_and_stays_out(self, user):
        path = self.net.file("token", SECRET + "\n")
        result = self.net.run_json(*self.options(secret=f"file:{path}"), "--", "sh", "-c", f"curl -sS https://api.example/echo; cat {path}", user=user)
        self.assertEqual(self.sent(), [HEADER], internet.describe(result))
        self.assert_hidden(result)

    @as_each_user
    def test_a_secret_that_is_not_there_refuses_the_run(self, user):
        done = self.net.run(*self.options(), "--", "true", user=user)
        self.assertEqual(done.returncode, 125)
        self.assertIn("API_TOKEN", done.stderr)

    def test_a_secret_for_a_host_that_is_not_allowed_refuses_the_run(self):
        done = self.net.run(*self.options(host="evil.example"), "--", "true", env={"API_TOKEN": SECRET})
        self.assertEqual(done.returncode, 125)
        self.assertIn("evil.example", done.stderr)

    @as_each_user
    def test_the_log_has_method_path_and_status_of_inspected_requests_but_not_the_secret(self, user):
        result = self.run_with(user, ["curl", "-sS", "https://api.example/missing?token=abc"])
        entry = next(entry for entry in result["network"]["requests"] if entry["protocol"] == "https")
        self.assertEqual((entry["method"], entry["path"], entry["status"]), ("GET", "/missing", 404))
        self.assert_hidden(result)

    @as_each_user
    def test_a_websocket_of_an_injected_host_does_not_escape_the_scrubbing(self, user):
        upgrade = get("api.example", "/ws").replace("Connection: close", "Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==")
        step = {"do": "tls", "host": "api.example", "port": 443, "sni": "api.example", "send": [upgrade], "until": "\r\n\r\n"}
        answers, result = self.inside(user, [step], *self.options(), env={"API_TOKEN": SECRET})
        self.assert_hidden(result)
        self.assertRegex("".join(answers[0]["received"]), re.compile(r"^HTTP/1.1 (101|403|400|501) "))


if __name__ == "__main__":
    paddock.main()
