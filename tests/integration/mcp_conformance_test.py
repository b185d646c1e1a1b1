"""The official MCP conformance suite, both revisions, against `paddock mcp --fixture`: every required scenario passes, and what passes is what
docs/mcp_conformance.md says."""
import json
import os
import subprocess
import unittest

from support import conformance, npm, paddock

PAGE = os.path.join(paddock.SOURCE, "docs", "mcp_conformance.md")


class Conformance(unittest.TestCase):
    def test_all_required_scenarios_pass_and_the_page_says_so(self):
        try:
            conformance.installed()
        except npm.Unavailable as reason:
            self.skipTest(str(reason))
        process = paddock.popen("mcp", "--fixture", "--listen", "127.0.0.1:0", "--no-auth", "--json", stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True)
        self.addCleanup(process.stdout.close)
        self.addCleanup(process.wait)
        self.addCleanup(process.terminate)
        url = json.loads(process.stdout.readline())["url"]
        results = {revision: conformance.run(url, revision) for revision in conformance.REVISIONS}
        for revision, found in results.items():
            failed = [scenario for scenario, (passed, required) in found.items() if required and not passed]
            self.assertEqual(failed, [], revision)
        self.assertEqual([len([1 for _, required in results[revision].values() if required]) for revision in conformance.REVISIONS], [37, 30])
        with open(PAGE) as file:
            page = file.read()
        self.assertIn("\n".join(conformance.table(results)), page, "write the table anew: see the page")


if __name__ == "__main__":
    paddock.main()
