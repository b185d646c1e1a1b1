"""E2B's control plane, where what it answers is read by people: logs, notes, errors."""
import json
import os
import unittest

from support import paddock
from support.server import Served


class Control(Served):
    def test_logs_have_a_level_a_logger_and_entries(self):
        made = self.server.create()
        self.server.run(made, "true")
        answer = self.server.request("GET", f"/sandboxes/{made['sandboxID']}/logs").json()
        self.assertEqual(len(answer["logs"]), len(answer["logEntries"]))
        lines = [json.loads(entry["line"]) for entry in answer["logs"]]
        for line in lines:
            self.assertIn(line["level"], ("debug", "info", "warn", "error"))
            self.assertTrue(line["logger"] and line["message"] and line["timestamp"], line)
        self.assertIn(("info", "command", "command.end"), [(line["level"], line["logger"], line["message"]) for line in lines])
        for entry in answer["logEntries"]:
            self.assertEqual(set(entry), {"timestamp", "level", "message", "fields"})
            self.assertTrue(entry["fields"]["logger"])
        newer = self.server.request("GET", f"/v2/sandboxes/{made['sandboxID']}/logs").json()["logs"]
        self.assertEqual([entry["message"] for entry in newer], [entry["message"] for entry in answer["logEntries"]])
        self.assertEqual(self.server.request("GET", f"/v2/sandboxes/{made['sandboxID']}/logs?level=error").json()["logs"], [])

    def test_a_code_interpreter_says_what_it_lacks(self):
        lacks = [package for package, path in (("python3-matplotlib", "/usr/lib/python3/dist-packages/matplotlib"), ("r-base-core", "/usr/bin/R"))
                 if not os.path.exists(path)]
        notes = lambda template: " ".join(self.server.request("POST", "/v1/sandboxes", {"template": template}).json()["notes"])
        said = notes("code-interpreter-v1")
        for package in lacks:
            self.assertIn(package, said)
        self.assertNotIn("apt-get install", notes("base"))

    def test_a_cell_of_a_language_that_is_missing_is_an_error_event(self):
        made = self.server.create(templateID="code-interpreter-v1")
        headers = self.server.data_headers(made, 49999)
        answer = self.server.request("POST", "/execute", {"code": "1", "language": "cobol"}, headers)
        self.assertEqual(answer.status, 200)
        error, end = answer.lines()
        self.assertEqual((error["type"], error["name"], end), ("error", "KernelNotStarted", {"type": "end_of_execution"}))
        self.assertIn("'cobol' is not a language", error["value"])


    def test_the_reason_of_a_refused_upload_stands_in_the_status_line(self):
        connection = self.server.connection()
        connection.request("PUT", "/templates/upload/" + "0" * 40, b"x")
        answer = connection.getresponse()
        said = json.loads(answer.read())["message"]
        connection.close()
        self.assertGreaterEqual(answer.status, 400)
        self.assertTrue(said.startswith(answer.reason) and answer.reason not in ("Bad Request", "Not Found", "Forbidden"), (answer.reason, said))


class ControlOfRoot(Control, unittest.TestCase):
    user = "root" if os.geteuid() == 0 else "user"


if __name__ == "__main__":
    paddock.main()
