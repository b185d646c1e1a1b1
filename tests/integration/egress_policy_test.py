"""What the network part of a policy lets through, and what it does not."""
import json

from support import internet, paddock
from support.internet import GOOD, GOOD6, MACHINE, OTHER, allow, as_each_user, get


def http(host, port=80, name=None):
    """A step that asks a web server over the route the kernel takes."""
    return {"do": "tcp", "host": host, "port": port, "send": [get(name or host)]}


def socks(host, port=80):
    return {"do": "socks", "host": host, "port": port, "send": [get(f"[{host}]" if ":" in host else host)]}


def proxied(host, port=80):
    return {"do": "proxy", "send": [get(f"{host}:{port}", f"http://{host}:{port}/")]}


def connect(host, port):
    return {"do": "proxy", "send": [f"CONNECT {host}:{port} HTTP/1.1\r\nHost: {host}:{port}\r\n\r\n"], "until": "\r\n\r\n"}


def reached(answer):
    return any(" 200 " in text.split("\r\n")[0] and ("world" in text or "machine" in text) for text in answer["received"])


class RulesTest(internet.Case):
    def verdicts(self, user, steps, *options):
        answers, result = self.inside(user, steps, *options)
        return [reached(answer) for answer in answers], result

    def policy(self, allowed, denied=(), more=""):
        text = f'version = 1\nextends = "default"\n[network]\nallow = {json.dumps(allowed)}\ndeny = {json.dumps(denied)}\n{more}'
        return ["--policy", self.net.file("policy.toml", text)]

    @as_each_user
    def test_by_default_there_is_no_network(self, user):
        steps = [http("good.example"), http(GOOD), http(GOOD6), {"do": "resolve", "host": "good.example"},
                 {"do": "udp", "host": "8.8.8.8", "port": 53, "send": "x", "patience": 1}]
        answers, _ = self.inside(user, steps)
        self.assertTrue(all("error" in answer for answer in answers), answers)
        log = self.net.world.log()
        self.assertEqual((log["dns"], log["tcp"], log["udp"]), ([], [], []))

    @as_each_user
    def test_a_name_is_that_name_alone(self, user):
        others = ["www.good.example", "evilgood.example", "good.example.evil.example", "evil.example"]
        verdicts, result = self.verdicts(user, [http("good.example"), http("GOOD.Example"), http("good.example.")] + [http(name) for name in others],
                                         *allow("good.example"))
        self.assertEqual(verdicts, [True] * 3 + [False] * 4)
        for name in others:
            self.assert_denied(result, name)

    @as_each_user
    def test_a_star_stands_for_labels_in_front_of_a_name(self, user):
        inside, outside = ["www.good.example", "deep.www.good.example"], ["good.example", "evilgood.example", "good.example.evil.example"]
        verdicts, _ = self.verdicts(user, [http(name) for name in inside + outside], *allow("*.good.example"))
        self.assertEqual(verdicts, [True, True, False, False, False])

    @as_each_user
    def test_proxy_requests_are_label_exact_too(self, user):
        tricks = ["www.good.example@evil.example", "evil.example/www.good.example", "www.good.example%00.evil.example", "www.good.example%2eevil.example",
                  "evil.example#www.good.example", "www.good.example\tevil.example", "ẇww.good.example", "www.good.example:80@evil.example"]
        steps = [step for name in tricks for step in (proxied(name.encode().decode("latin-1")), connect(name.encode().decode("latin-1"), 80))]
        answers, _ = self.inside(user, steps, *allow("*.good.example"))
        for step, answer in zip(steps, answers):
            self.assertFalse(any(" 200 " in text.split("\r\n")[0] for text in answer["received"]), (step, answer))
        log = self.net.world.log()
        self.assertEqual(log["http"], [])
        self.assertFalse([entry for entry in log["dns"] if "evil" in entry["name"]])

    @as_each_user
    def test_a_port_is_that_port_alone(self, user):
        steps = [http("good.example", 8080), http("good.example", 80), proxied("good.example", 8080), proxied("good.example", 80), socks("good.example", 80)]
        verdicts, result = self.verdicts(user, steps, *allow("good.example:8080"))
        self.assertEqual(verdicts, [True, False, True, False, False])
        self.assert_denied(result, "connect good.example:80")

    @as_each_user
    def test_another_protocol_on_another_port_of_an_allowed_host_is_denied(self, user):
        ssh = {"do": "tcp", "host": "good.example", "port": 22, "until": "\n"}
        answers, result = self.inside(user, [ssh, connect("good.example", 22), ssh | {"do": "socks"}], *allow("good.example:443"))
        self.assertNotIn("SSH-2.0", json.dumps(answers))
        self.assert_denied(result, "connect good.example:22")
        self.assertEqual(self.net.world.log()["tcp"], [])

    @as_each_user
    def test_a_literal_address_must_be_listed_itself(self, user):
        steps = [make(host) for host in (GOOD, OTHER) for make in (http, socks, proxied)]
        self.assertEqual(self.verdicts(user, steps, *allow(GOOD))[0], [True] * 3 + [False] * 3)
        # The address of an allowed name is not allowed by that.
        verdicts, result = self.verdicts(user, steps[:3], *allow("good.example"))
        self.assertEqual(verdicts, [False] * 3)
        self.assert_denied(result, f"connect {GOOD}:80", "not on the allowlist")

    @as_each_user
    def test_literal_ipv6_addresses_and_ranges(self, user):
        steps = [http(GOOD6, name=f"[{GOOD6}]"), socks(GOOD6), proxied(f"[{GOOD6}]"), http("2001:db8:2::20", name="[2001:db8:2::20]")]
        self.assertEqual(self.verdicts(user, steps, *allow(f"[{GOOD6}]"))[0], [True, True, True, False])
        self.assertEqual(self.verdicts(user, steps, *allow("[2001:db8:1::/48]:80"))[0], [True, True, True, False])

    @as_each_user
    def test_ranges_of_addresses(self, user):
        verdicts, _ = self.verdicts(user, [http("203.0.113.7"), http("203.0.113.255"), http("203.0.114.1"), http("203.0.113.7", 8080)],
                                    *allow("203.0.113.0/24:80"))
        self.assertEqual(verdicts, [True, True, False, False])

    @as_each_user
    def test_a_private_address_is_reached_when_it_is_listed(self, user):
        verdicts, _ = self.verdicts(user, [http("10.9.8.7"), http("192.168.7.7")], *allow("10.9.8.0/24"))
        self.assertEqual(verdicts, [True, False])
        # … and behind a name only when both are.
        verdicts, _ = self.verdicts(user, [http("private-ten.bad.example")], *allow("10.9.8.7", "private-ten.bad.example"))
        self.assertEqual(verdicts, [True])

    @as_each_user
    def test_numbers_that_libraries_read_as_addresses_are_none(self, user):
        spellings = ["127.1", "2130706433", "0x7f000001", "0177.0.0.1", "017700000001", "127.0.0.1.", "[::ffff:127.0.0.1]", "[::1%25lo]"]
        steps = [make(host, 80) for host in spellings for make in (proxied, connect)] + [socks(host) for host in spellings[:6]]
        answers, _ = self.inside(user, steps, *allow("good.example", "localhost:9123"))
        self.assertFalse([answer for answer in answers if reached(answer)])
        self.assertEqual(self.net.machine.log()["tcp"], [])

    @as_each_user
    def test_a_denial_wins(self, user):
        options = self.policy(["*.good.example", "203.0.113.0/24"], ["gist.good.example", "203.0.113.99"])
        verdicts, result = self.verdicts(user, [http("www.good.example"), http("gist.good.example"), http("203.0.113.5"), http("203.0.113.99")], *options)
        self.assertEqual(verdicts, [True, False, True, False])
        self.assert_denied(result, "gist.good.example", "network.deny")
        self.assert_denied(result, "203.0.113.99:80", "network.deny")

    @as_each_user
    def test_a_denied_address_is_denied_behind_every_name(self, user):
        verdicts, result = self.verdicts(user, [http("good.example"), http("other.example")],
                                         *self.policy(["good.example", "other.example"], [GOOD, f"[{GOOD6}]"]))
        self.assertEqual(verdicts, [False, True])
        self.assert_denied(result, "good.example:80", "network.deny")

    @as_each_user
    def test_localhost_with_a_port_is_the_machines_loopback(self, user):
        steps = [http("localhost", 9123), proxied("localhost", 9123), http("localhost", 9124), proxied("localhost", 9124), http("127.0.0.1", 9124)]
        answers, _ = self.inside(user, steps, *allow("localhost:9123"))
        self.assertEqual([reached(answer) for answer in answers], [True, True, False, False, False])
        self.assertTrue(all("machine" in answer["received"][0] for answer in answers[:2]), answers)

    @as_each_user
    def test_the_sandboxs_own_loopback_is_its_own(self, user):
        code = ("import socket, threading; s = socket.create_server(('127.0.0.1', 9124))\n"
                "threading.Thread(target=lambda: s.accept()[0].sendall(b'mine')).start()\n"
                "print(socket.create_connection(('127.0.0.1', 9124)).recv(9))")
        result = self.net.run_json(*allow("good.example"), "--", "python3", "-c", code, user=user)
        self.assertEqual(result["stdout"], "b'mine'\n", internet.describe(result))

    @as_each_user
    def test_the_machine_is_out_of_reach(self, user):
        hosts = [MACHINE, "127.0.0.1", "192.0.2.249", "198.18.0.1", "host.docker.internal", "172.17.0.1", "169.254.169.254"]
        answers, _ = self.inside(user, [make(host, 9123) for host in hosts for make in (http, proxied, socks)], *allow("good.example"))
        self.assertFalse([answer for answer in answers if reached(answer)])
        self.assertEqual(self.net.machine.log()["tcp"], [])
        self.assertEqual(self.net.world.log()["tcp"], [])

    @as_each_user
    def test_wide_entries_are_refused_unless_accepted_by_name(self, user):
        for entry in ("*", "*.com", "0.0.0.0/0", "[::/0]", "*.co.uk"):
            done = self.net.run("--allow-net", entry, "--", "true", user=user)
            self.assertEqual(done.returncode, 125, (entry, done))
            self.assertIn("network.wide", done.stderr)
        accepted = self.policy(["*"], more='[danger]\nallow = ["network.wide"]\n')
        verdicts, _ = self.verdicts(user, [http("good.example"), http(GOOD), http("10.9.8.7"), http("loopback.bad.example")], *accepted)
        self.assertEqual(verdicts[0], True)
        self.assertEqual(verdicts[3], False)

    def test_entries_that_are_no_hosts_are_refused(self):
        for entry in ("http://good.example", "good.example:0", "good.example:99999", "127.1", "go*d.example", "good..example", "göod.example", ""):
            done = self.net.run("--allow-net", entry, "--", "true")
            self.assertEqual(done.returncode, 125, (entry, done))

    @as_each_user
    def test_the_process_wall_refuses_and_names_the_wall_that_can(self, user):
        done = self.net.run("--wall", "process", *allow("good.example"), "--", "true", user=user)
        self.assertEqual(done.returncode, 125, done)
        self.assertIn("--wall container", done.stderr)

    @as_each_user
    def test_a_redirect_to_another_host_is_judged_again(self, user):
        for scheme in ("http", "https"):
            url = f"http://good.example/redirect?to={scheme}://evil.example/"
            result = self.net.run_json(*allow("good.example"), "--", "curl", "-sSL", "--fail", url, user=user)
            self.assertNotEqual(result["outcome"]["code"], 0)
            self.assert_denied(result, "evil.example")
        self.assertEqual({entry["address"] for entry in self.net.world.log()["tcp"]} - {GOOD, GOOD6}, set())

    @as_each_user
    def test_sandboxes_at_the_same_time_have_their_own_rules(self, user):
        waiting = "import sys, socket; print('up', flush=True); sys.stdin.read()"
        first = self.net.popen("run", *allow("evil.example"), "--", "python3", "-c", waiting, user=user, stdin=-1, stdout=-1, stderr=-1, text=True)
        try:
            self.assertEqual(first.stdout.readline(), "up\n")
            # The same proxy address inside, but it is this sandbox's own, with this sandbox's rules.
            steps = [http("good.example"), proxied("good.example"), proxied("evil.example"), socks("evil.example"), http("evil.example")]
            self.assertEqual(self.verdicts(user, steps, *allow("good.example"))[0], [True, True, False, False, False])
        finally:
            first.communicate("")

    @as_each_user
    def test_the_proxy_is_not_on_the_machine(self, user):
        waiting = "import sys; print('up', flush=True); sys.stdin.read()"
        sandbox = self.net.popen("run", *allow("good.example"), "--", "python3", "-c", waiting, user=user, stdin=-1, stdout=-1, stderr=-1, text=True)
        try:
            self.assertEqual(sandbox.stdout.readline(), "up\n")
            listening = self.net.host("sh", "-c", "cat /proc/net/tcp /proc/net/tcp6 /proc/net/udp /proc/net/udp6").stdout
            self.assertNotIn(":46D0 ", listening)  # 18128
        finally:
            sandbox.communicate("")

    @as_each_user
    def test_an_address_that_no_name_was_given_leads_nowhere(self, user):
        hosts = ["198.18.0.1", "198.18.1.7", "198.19.255.254", "198.18.0.255"]
        steps = [http("good.example")] + [make(host) for host in hosts for make in (http, proxied, socks)]
        verdicts, _ = self.verdicts(user, steps, *allow("good.example"))
        self.assertEqual(verdicts, [True] + [False] * (len(steps) - 1))

    @as_each_user
    def test_the_way_out_cannot_be_changed_from_inside(self, user):
        script = ("ip link set lo down; ip address add 10.0.0.1/8 dev lo; ip route del default; nft flush ruleset; iptables -F\n"
                  "echo nameserver 8.8.8.8 > /etc/resolv.conf; unshare -Urn true; nsenter --net=/proc/1/ns/net true; ls /proc/self/fd | wc -l")
        result = self.net.run_json(*allow("good.example"), "--", "sh", "-c", script, user=user)
        self.assertEqual(result["stdout"], "4\n", internet.describe(result))  # its own three, and the one it reads the folder with
        self.assertGreaterEqual(len(result["stderr"].strip().splitlines()), 8, result["stderr"])  # every step failed
        verdicts, _ = self.verdicts(user, [http("good.example"), http("evil.example"), http(OTHER)], *allow("good.example"))
        self.assertEqual(verdicts, [True, False, False])

    @as_each_user
    def test_proxy_variables_of_the_caller_do_not_matter(self, user):
        environment = {name: f"http://{OTHER}:80" for name in ("http_proxy", "HTTP_PROXY", "https_proxy", "ALL_PROXY")} | {"NO_PROXY": "*"}
        result = self.net.run_json(*allow("good.example"), "--", "curl", "-sS", "http://good.example/", user=user, env=environment)
        self.assertIn("world good.example", result["stdout"], internet.describe(result))
        self.assertLessEqual({entry["address"] for entry in self.net.world.log()["tcp"]}, {GOOD, GOOD6})


if __name__ == "__main__":
    paddock.main()
