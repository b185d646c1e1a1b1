"""Names: what may be asked, what an answer may hold, and what else of the network stays closed."""

from support import internet, paddock
from support.internet import GOOD, GOOD6, LOCAL, METADATA, PRIVATE, PUBLIC_RESOLVER, allow, as_each_user, get

IPV4, DATAGRAM, STREAM, RAW = 2, 2, 1, 3
ICMP, SCTP, GRE, UDP_LITE = 1, 132, 47, 136


def question(name, kind=1):
    labels = "".join(chr(len(label)) + label for label in name.split("."))
    return f"\x12\x34\x01\0\0\x01\0\0\0\0\0\0{labels}\0{chr(kind >> 8)}{chr(kind & 255)}\0\x01"


def ask(name, kind=1, server="198.18.0.1", port=53):
    return {"do": "udp", "host": server, "port": port, "send": question(name, kind), "patience": 3}


def http(host):
    return {"do": "tcp", "host": host, "port": 80, "send": [get(host)]}


def answer_code(answer):
    return ord(answer["received"][3]) & 15


class NamesTest(internet.Case):
    @as_each_user
    def test_an_allowed_name_has_an_address_of_the_sandboxs_own(self, user):
        answers, _ = self.inside(user, [{"do": "resolve", "host": "good.example"}], *allow("good.example"))
        self.assertTrue(answers[0]["addresses"], answers)
        for address in answers[0]["addresses"]:
            self.assertTrue(address.startswith(("198.18.", "198.19.", "2001:2:")), address)

    @as_each_user
    def test_nothing_of_a_question_about_a_denied_name_leaves(self, user):
        names = ["evil.example", "c2VjcmV0.evil.example", "nowhere.example", "c2VjcmV0.good.example", "7.2.0.192.in-addr.arpa"]
        steps = [{"do": "resolve", "host": name} for name in names] + [ask(name, kind) for name in names for kind in (1, 12, 16, 28, 65, 255)]
        answers, result = self.inside(user, steps, *allow("good.example"))
        self.assertTrue(all("error" in answer for answer in answers[:5]), answers)
        for answer in answers[5:]:
            self.assertIn(answer_code(answer), (3, 5), answer)
        self.assertEqual(self.net.world.log()["dns"], [])
        self.assert_denied(result, "evil.example")

    @as_each_user
    def test_questions_to_another_server_are_answered_by_ours(self, user):
        steps = [ask("evil.example", 1, PUBLIC_RESOLVER), ask("good.example", 1, PUBLIC_RESOLVER), ask("good.example", 1, "2001:4860:4860::8888")]
        answers, _ = self.inside(user, steps, *allow("good.example"))
        self.assertIn(answer_code(answers[0]), (3, 5))
        self.assertEqual([answer_code(answer) for answer in answers[1:]], [0, 0])
        self.assertFalse([entry for entry in self.net.world.log()["dns"] if entry["server"] == PUBLIC_RESOLVER])

    @as_each_user
    def test_other_ways_to_ask_are_closed(self, user):
        stream_question = "\0" + chr(len(question("evil.example"))) + question("evil.example")
        steps = [{"do": "tcp", "host": PUBLIC_RESOLVER, "port": 53, "send": [stream_question], "until": "\x07example\0\0\x01"},
                 {"do": "tcp", "host": PUBLIC_RESOLVER, "port": 853, "send": ["x"]},
                 {"do": "tls", "host": PUBLIC_RESOLVER, "port": 443, "sni": "dns.google", "send": [get("dns.google", "/dns-query?dns=AAAA")]},
                 ask("evil.local", 1, "224.0.0.251", 5353), ask("evil", 1, "224.0.0.252", 5355)]
        answers, _ = self.inside(user, steps, *allow("good.example"))
        for answer in answers:
            self.assertTrue("error" in answer or not any(answer["received"]) or answer_code({"received": answer["received"][0][2:]}) in (3, 5), answer)
        log = self.net.world.log()
        self.assertEqual((log["dns"], log["tcp"], log["udp"]), ([], [], []))

    @as_each_user
    def test_datagrams_are_refused_and_told(self, user):
        steps = [{"do": "udp", "host": "good.example", "port": 443, "send": "quic", "patience": 3},
                 {"do": "udp", "host": GOOD, "port": 4444, "send": "secret", "patience": 3},
                 {"do": "udp", "host": GOOD6, "port": 4444, "send": "secret", "patience": 3},
                 {"do": "socket", "family": IPV4, "type": DATAGRAM, "protocol": UDP_LITE, "host": GOOD, "port": 9, "send": "secret"}]
        answers, result = self.inside(user, steps, *allow("good.example", GOOD, f"[{GOOD6}]"))
        self.assertTrue(all("error" in answer for answer in answers), answers)
        self.assertEqual(self.net.world.log()["udp"], [])
        for packet in ("udp to good.example:443", f"udp to {GOOD}:4444", f"udp to [{GOOD6}]:4444"):
            self.assert_denied(result, packet)

    @as_each_user
    def test_sockets_of_other_protocols_are_refused(self, user):
        numbers = ((DATAGRAM, ICMP), (RAW, ICMP), (STREAM, SCTP), (RAW, GRE), (RAW, 255))
        steps = [{"do": "socket", "family": IPV4, "type": kind, "protocol": protocol, "host": GOOD, "port": 9, "send": "\x08\0\0\0\0\0\0\0"}
                 for kind, protocol in numbers]
        answers, _ = self.inside(user, steps, *allow(GOOD))
        self.assertTrue(all("error" in answer for answer in answers), answers)

    @as_each_user
    def test_an_allowed_name_never_leads_to_a_forbidden_address(self, user):
        places = [*METADATA, *PRIVATE, *LOCAL, "machine", "machine-six", "machine-too", "machine-mapped"]
        hosts = [f"{name}.bad.example" for name in places]
        proxied = [{"do": "proxy", "send": [get(host, f"http://{host}/")]} for host in hosts]
        answers, result = self.inside(user, [http(host) for host in hosts] + proxied, *allow("*.bad.example"))
        for host, answer in zip(hosts + hosts, answers):
            self.assertFalse(any(" 200 " in text for text in answer["received"]), (host, answer))
        self.assertEqual((self.net.world.log()["tcp"], self.net.machine.log()["tcp"]), ([], []))
        for host in hosts:
            self.assert_denied(result, f"{host}:80")

    @as_each_user
    def test_a_denied_address_is_denied_in_every_clothing(self, user):
        self.net.add_names({"mapped.example": {"AAAA": [f"::ffff:{GOOD}"]}, "nat64.example": {"AAAA": ["64:ff9b::cb00:710a"]}})
        policy = self.net.file("clothes.toml", f'version = 1\n[network]\nallow = ["*.example"]\ndeny = ["{GOOD}"]\n[danger]\nallow = ["network.wide"]\n')
        hosts = ["mapped.example", "nat64.example"]
        answers, result = self.inside(user, [http(host) for host in hosts], "--policy", policy)
        self.assertFalse(any(" 200 " in text for answer in answers for text in answer["received"]), answers)
        for host in hosts:
            self.assert_denied(result, f"{host}:80", "denylist")

    @as_each_user
    def test_new_names_beneath_a_wildcard_are_limited_through_the_proxy_too(self, user):
        steps = [{"do": "proxy", "send": [f"CONNECT n{n}.good.example:80 HTTP/1.1\r\nHost: n{n}.good.example:80\r\n\r\n"]} for n in range(300)]
        _, result = self.inside(user, steps, *allow("*.good.example"))
        self.assert_denied(result, "network.names")
        asked = {entry["name"] for entry in self.net.world.log()["dns"]}
        self.assertLess(len(asked), 250)

    @as_each_user
    def test_an_alias_is_judged_by_the_name_that_was_asked_and_by_its_address(self, user):
        answers, _ = self.inside(user, [http("alias.example"), http("alias-private.example")], *allow("alias.example", "alias-private.example"))
        self.assertIn("world alias.example", answers[0]["received"][0])
        self.assertNotIn(" 200 ", "".join(answers[1]["received"]))
        self.assertEqual([entry for entry in self.net.world.log()["tcp"] if entry["address"] == "10.9.8.7"], [])

    @as_each_user
    def test_rebinding_reaches_only_the_address_that_was_vetted(self, user):
        for name in ("rebind.example", "rebind-private.example"):
            # Through the proxy first: that asks once, and gets the public address.
            first = {"do": "proxy", "send": [get(name, f"http://{name}/")]}
            answers, _ = self.inside(user, [first] + [http(name)] * 4, *allow(name))
            for answer in answers:
                text = "".join(answer["received"])
                self.assertTrue(f"world {name} at {GOOD}" in text or " 200 " not in text, answer)
            self.assertIn(f"world {name} at {GOOD}", "".join(answers[0]["received"]), answers)
        self.assertEqual(self.net.machine.log()["tcp"], [])
        self.assertEqual({entry["address"] for entry in self.net.world.log()["tcp"]}, {GOOD})

    @as_each_user
    def test_of_mixed_answers_no_private_one_is_dialled(self, user):
        self.inside(user, [http("mixed.example")], *allow("mixed.example"))
        self.assertNotIn("10.9.8.7", [entry["address"] for entry in self.net.world.log()["tcp"]])

    @as_each_user
    def test_odd_but_honest_answers_work(self, user):
        names = ["many.example", "truncated.example", "slow.example"]
        answers, _ = self.inside(user, [http(name) for name in names], *allow(*names))
        for name, answer in zip(names, answers):
            self.assertIn(f"world {name}", "".join(answer["received"]))

    @as_each_user
    def test_broken_answers_fail_and_harm_nobody(self, user):
        names = ["garbage.example", "broken.example", "nowhere.example"]
        answers, _ = self.inside(user, [http(name) for name in names] + [http("good.example")], *allow("good.example", *names))
        for answer in answers[:3]:
            self.assertNotIn(" 200 ", "".join(answer["received"]))
        self.assertIn("world good.example", answers[3]["received"][0])

    @as_each_user
    def test_labels_of_an_allowed_wildcard_carry_little(self, user):
        """They leave as questions to a server that somebody else may run, so their number and length are bounded."""
        data = [f"{'a' * 60}{n}.{'b' * 62}.{'c' * 62}.good.example" for n in range(400)]
        answers, _ = self.inside(user, [{"do": "resolve", "host": name} for name in data], *allow("*.good.example"))
        self.assertLess(len({entry["name"] for entry in self.net.world.log()["dns"]}), len(data))
        self.assertTrue(any("error" in answer for answer in answers))


if __name__ == "__main__":
    paddock.main()
