"""E2B's network options decide what a living sandbox reaches, in an Internet of the test's own."""
import json
import subprocess
import sys
import unittest

from support import internet, paddock, server

GOOD, OTHER = internet.GOOD, internet.OTHER
ALL = "0.0.0.0/0"
OUTSIDE = {  # what a sandbox with these options reaches
    "nothing said": ({}, {GOOD: True, OTHER: True, "good.example": True, "10.9.8.7": False, "169.254.169.254": False, internet.MACHINE: False}),
    "no internet": ({"allow_internet_access": False}, {GOOD: False, "good.example": False}),
    "one address denied": ({"network": {"denyOut": [GOOD]}}, {GOOD: False, OTHER: True, "four.example": False, "other.example": True}),
    "all denied": ({"network": {"denyOut": [ALL]}}, {GOOD: False, "good.example": False}),
    "all denied but an address": ({"network": {"denyOut": [ALL], "allowOut": [GOOD]}}, {GOOD: True, OTHER: False}),
    "allow wins inside a range": ({"network": {"denyOut": ["203.0.113.0/24"], "allowOut": [GOOD]}}, {GOOD: True, "203.0.113.11": False, OTHER: True}),
    "its own address asked for": ({"network": {"denyOut": [ALL], "allowOut": [internet.MACHINE, internet.MACHINE + "/24"]}}, {internet.MACHINE: False}),
    "all denied but a domain": ({"network": {"denyOut": [ALL], "allowOut": ["*.good.example"]}}, {"www.good.example": True, "good.example": False, "evil.example": False, GOOD: False}),
}


def reaches(served, sandbox, host):
    _, said, _ = served.run(sandbox, f"curl --noproxy '*' -s -o /dev/null --connect-timeout 5 --max-time 10 -w '%{{http_code}}' http://{host}/")
    return said == "200"


def inside():
    """In the machine of that Internet. Says what was reached, as JSON."""
    found = {}
    with server.Server("root", env={"OPERATOR_TOKEN": "sesame-open-0001"}) as served:
        for name, (options, hosts) in OUTSIDE.items():
            sandbox = served.create(timeout=120, **options)
            found[name] = {host: reaches(served, sandbox, host) for host in hosts}
            served.kill(sandbox["sandboxID"])
        sandbox = served.create(timeout=120, allow_internet_access=False)
        update = lambda body: served.request("PUT", f"/sandboxes/{sandbox['sandboxID']}/network", body).status
        changes = [reaches(served, sandbox, GOOD)]
        for body in ({}, {"denyOut": [GOOD]}, {"denyOut": [ALL], "allowOut": [GOOD]}, {"allow_internet_access": False}):
            changes += [update(body), reaches(served, sandbox, GOOD)]
        found["changes"] = changes
        headers = {"good.example": [{"transform": {"headers": {"X-Injected": "from-outside", "X-Leak": "OPERATOR_TOKEN"}}}]}
        sandbox = served.create(timeout=120, network={"rules": headers})
        found["injected"] = served.run(sandbox, "curl --noproxy '*' -s -o /dev/null -w '%{http_code}' https://good.example/headers; env")[1]
    print(json.dumps(found))


class E2bNetwork(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        with internet.Internet() as net:
            done = subprocess.run([*net.machine.enter(), sys.executable, __file__, "inside"], capture_output=True, text=True, timeout=300)
            cls.requests = net.world.log()["http"]
        if done.returncode != 0:
            raise AssertionError(done.stderr[-3000:])
        cls.found = json.loads(done.stdout)

    def test_each_option_opens_and_closes_what_it_says(self):
        for name, (_, hosts) in OUTSIDE.items():
            with self.subTest(name):
                self.assertEqual(self.found[name], hosts)

    def test_rules_change_while_it_runs(self):
        self.assertEqual(self.found["changes"], [False, 204, True, 204, False, 204, True, 204, False])

    def test_headers_are_injected_outside_only(self):
        self.assertTrue(self.found["injected"].startswith("200"), self.found["injected"])
        self.assertNotIn("from-outside", self.found["injected"])
        self.assertIn("from-outside", json.dumps(self.requests))

    def test_a_header_is_never_a_variable_of_the_server(self):
        self.assertIn("OPERATOR_TOKEN", json.dumps(self.requests))
        self.assertNotIn("sesame-open", json.dumps(self.requests))


if __name__ == "__main__":
    if sys.argv[1:] == ["inside"]:
        inside()
    else:
        paddock.main()
