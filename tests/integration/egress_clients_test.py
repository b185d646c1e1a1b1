"""Ordinary programs, unmodified and knowing no proxy, reach an allowed name and not another one."""
import os
import shutil
import subprocess
import unittest

from support import internet, internet_postgres, paddock
from support.internet import WITHOUT_PROXY, allow, as_each_user

NODE = """
fetch(process.argv[1]).then(r => r.text()).then(t => process.stdout.write(t)).catch(e => { console.error(e.cause || e); process.exit(1) })
"""
JAVA = """
import java.net.URI;
import java.net.http.*;
public class Fetch {
  public static void main(String[] urls) throws Exception {
    var client = HttpClient.newBuilder().build();
    System.out.print(client.send(HttpRequest.newBuilder(URI.create(urls[0])).build(), HttpResponse.BodyHandlers.ofString()).body());
  }
}
"""
GO = """
package main
import ("fmt"; "io"; "net/http"; "os")
func main() {
  response, err := http.Get(os.Args[1])
  if err != nil { fmt.Fprintln(os.Stderr, err); os.Exit(1) }
  io.Copy(os.Stdout, response.Body)
}
"""
URLLIB = "import sys, urllib.request as u; sys.stdout.write(u.urlopen(sys.argv[1]).read().decode())"


def have(program):
    return shutil.which(program, path="/usr/local/bin:/usr/bin:/bin")


class ClientsTest(internet.Case):
    def run_plain(self, user, command, *options):
        return self.net.run_json("--memory", "1G", "--pids", "256", "--read", self.net.authority, *allow("good.example"), *options, "--", *WITHOUT_PROXY,
                                 *command, user=user)

    def fetches(self, user, command, *options, schemes=("http", "https")):
        """`command` and a URL prints the page of an allowed host, and fails for another, of which nothing leaves."""
        for scheme in schemes:
            result = self.run_plain(user, [*command, f"{scheme}://good.example/"], *options)
            self.assert_exited(result)
            self.assertIn("world good.example", result["stdout"])
            self.assertEqual(result["denials"], [])
        self.net.clear()
        result = self.run_plain(user, [*command, "https://evil.example/"], *options)
        self.assertNotEqual(result["outcome"], {"kind": "exited", "code": 0}, internet.describe(result))
        self.assert_denied(result, "evil.example")
        self.assert_nothing_left()

    def assert_nothing_left(self):
        log = self.net.world.log()
        self.assertEqual((log["dns"], log["http"], log["tcp"], log["udp"]), ([], [], [], []))

    @as_each_user
    def test_curl(self, user):
        self.fetches(user, ["curl", "-sS", "--fail", "--cacert", self.net.authority])

    @as_each_user
    def test_curl_over_each_family(self, user):
        for family in ("-4", "-6"):
            result = self.run_plain(user, ["curl", "-sS", family, "http://good.example:8080/"])
            self.assertIn("world good.example:8080", result["stdout"], internet.describe(result))

    @as_each_user
    def test_curl_through_the_proxy_of_each_kind(self, user):
        for option in (["-x", '"$HTTP_PROXY"'], ["--socks5-hostname", '"${HTTP_PROXY#http://}"'], []):
            curl = " ".join(["curl -sS --fail --noproxy ''", *option])
            for scheme in ("http", "https"):
                result = self.net.run_json(*allow("good.example"), "--", "sh", "-c", f"{curl} {scheme}://good.example/", user=user)
                self.assert_exited(result)
                self.assertIn("world good.example", result["stdout"])
            self.net.clear()
            result = self.net.run_json(*allow("good.example"), "--", "sh", "-c", f"{curl} https://evil.example/", user=user)
            self.assertNotEqual(result["outcome"], {"kind": "exited", "code": 0}, internet.describe(result))
            self.assert_denied(result, "evil.example:443")
            self.assert_nothing_left()

    @as_each_user
    def test_python_with_its_own_http_client(self, user):
        self.fetches(user, ["python3", "-c", URLLIB], "--env", f"SSL_CERT_FILE={self.net.authority}")

    @unittest.skipUnless(have("node"), "node is not installed")
    @as_each_user
    def test_node_fetch(self, user):
        self.fetches(user, ["node", "-e", NODE], "--env", f"NODE_EXTRA_CA_CERTS={self.net.authority}")

    @unittest.skipUnless(have("javac") and have("keytool"), "no Java compiler is installed")
    @as_each_user
    def test_java(self, user):
        source = self.net.file("Fetch.java", JAVA)
        store = os.path.join(self.net.folder, f"trust-{user}.p12")
        subprocess.run(["keytool", "-importcert", "-noprompt", "-alias", "test", "-file", self.net.authority, "-keystore", store, "-storepass", "changeit"],
                       check=True, capture_output=True)
        os.chmod(store, 0o644)
        self.fetches(user, ["java", f"-Djavax.net.ssl.trustStore={store}", "-Djavax.net.ssl.trustStorePassword=changeit", source], "--read", source, "--read", store)

    @unittest.skipUnless(have("go"), "Go is not installed")
    @as_each_user
    def test_go(self, user):
        source, program = self.net.file("fetch.go", GO), os.path.join(self.net.folder, "fetch")
        subprocess.run(["go", "build", "-o", program, source], check=True, capture_output=True, env=os.environ | {"CGO_ENABLED": "0"})
        self.fetches(user, [program], "--read", program, "--env", f"SSL_CERT_FILE={self.net.authority}")

    @unittest.skipUnless(have("git"), "git is not installed")
    @as_each_user
    def test_git_clones_over_https(self, user):
        clone = "git clone -q https://git.example/git/sample.git /tmp/sample && cat /tmp/sample/hello.txt"
        result = self.run_plain(user, ["sh", "-c", clone], *allow("git.example"), "--env", f"GIT_SSL_CAINFO={self.net.authority}")
        self.assertEqual(result["stdout"], "hello from git\n", internet.describe(result))
        result = self.run_plain(user, ["sh", "-c", clone], "--env", f"GIT_SSL_CAINFO={self.net.authority}")
        self.assertEqual(result["outcome"]["code"], 128, internet.describe(result))
        self.assert_denied(result, "git.example")

    @as_each_user
    def test_pip_installs_from_an_index(self, user):
        if subprocess.run(["/usr/bin/python3", "-m", "pip", "--version"], capture_output=True).returncode != 0:
            self.skipTest("the system's python has no pip (apt-get install python3-pip)")
        install = ("python3 -m pip install -q --disable-pip-version-check --no-cache-dir --retries 0 --target /tmp/packages --index-url https://{}/simple "
                   "paddock-sample && PYTHONPATH=/tmp/packages python3 -c 'import paddock_sample; print(paddock_sample.ANSWER)'")
        result = self.run_plain(user, ["sh", "-c", install.format("pip.example")], *allow("pip.example:443"), "--env", f"PIP_CERT={self.net.authority}")
        self.assertEqual(result["stdout"], "42\n", internet.describe(result))
        result = self.run_plain(user, ["sh", "-c", install.format("evil.example")], *allow("pip.example:443"), "--env", f"PIP_CERT={self.net.authority}")
        self.assertNotEqual(result["outcome"]["code"], 0)
        self.assert_denied(result, "evil.example")

    @unittest.skipUnless(have("psql"), "psql is not installed")
    @as_each_user
    def test_psql_asks_a_database(self, user):
        with internet_postgres.running(self.net):
            query = ["psql", "-h", "db.example", "-U", "tester", "-d", "postgres", "-Atc", "select 6*7"]
            result = self.run_plain(user, query, *allow("db.example:5432"))
            self.assertEqual(result["stdout"], "42\n", internet.describe(result))
            result = self.run_plain(user, query, *allow("db.example:443"))
            self.assertNotEqual(result["outcome"]["code"], 0)
            self.assert_denied(result, "db.example:5432")


class SocketsTest(internet.Case):
    ECHO = {"do": "tcp", "host": "good.example", "port": 7, "send": ["ping!", "pong!"], "until": "!"}

    @as_each_user
    def test_bytes_go_both_ways_over_ipv4_and_ipv6(self, user):
        for family in (2, 10):
            answers, _ = self.inside(user, [self.ECHO | {"family": family}], *allow("good.example"), program=WITHOUT_PROXY)
            self.assertEqual(answers, [{"received": ["ping!", "pong!"]}])

    @as_each_user
    def test_a_server_may_speak_first(self, user):
        banner = {"do": "tcp", "host": "good.example", "port": 2525, "send": ["", "HELO me\r\n"], "until": "\r\n"}
        answers, _ = self.inside(user, [banner], *allow("good.example"), program=WITHOUT_PROXY)
        self.assertEqual(answers, [{"received": ["220 mail.example ready\r\n", "HELO me\r\n"]}])

    @as_each_user
    def test_names_with_one_family_only_are_reached_through_either(self, user):
        steps = [self.ECHO | {"host": host, "family": family} for host in ("four.example", "six.example") for family in (2, 10)]
        answers, _ = self.inside(user, steps, *allow("four.example:7", "six.example:7"))
        self.assertEqual(answers, [{"received": ["ping!", "pong!"]}] * 4)

    @as_each_user
    def test_half_closed_connections_carry_on(self, user):
        code = ("import socket; s = socket.create_connection(('good.example', 7)); s.sendall((b'x' * 99 + b'\\n') * 3000); s.shutdown(socket.SHUT_WR); n = 0\n"
                "while part := s.recv(65536): n += len(part)\nprint(n)")
        result = self.net.run_json(*allow("good.example"), "--", "python3", "-c", code, user=user)
        self.assertEqual(result["stdout"], "300000\n", internet.describe(result))

    @as_each_user
    def test_a_websocket_stays_open(self, user):
        upgrade = "GET /ws HTTP/1.1\r\nHost: good.example\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n"
        steps = [{"do": "tcp", "host": "good.example", "port": 80, "send": [upgrade], "until": "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n\r\n"}]
        steps.append(steps[0] | {"send": [upgrade + "\x81\x82\0\0\0\0hi"], "until": "\x81\x02hi"})
        answers, _ = self.inside(user, steps, *allow("good.example"))
        self.assertIn("101 Switching Protocols", answers[0]["received"][0])
        self.assertTrue(answers[1]["received"][0].endswith("\x81\x02hi"), answers)


if __name__ == "__main__":
    paddock.main()
