"""Paddock's own eleven tools over stdio, in both eras, as root and as an ordinary user."""
import base64
import json
import os
import shutil
import stat
import subprocess
import time
import unittest

from support import mcp, paddock

TOOLS = {"run_code", "run_command", "read_file", "write_file", "list_files", "search_files", "create_sandbox", "list_sandboxes",
         "kill_sandbox", "network_log", "explain_denial"}
PNG = base64.b64decode("iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg==")
# What a notebook makes of a figure, without matplotlib: a thing that shows itself as a picture.
PICTURE = f"""
import base64
class Picture:
    def _repr_png_(self): return base64.b64decode({base64.b64encode(PNG).decode()!r})
Picture()
"""


def client(test, user, *arguments, era="modern", state=None, **options):
    """`paddock mcp` with a state directory of its own, ended with the test."""
    state = state or paddock.state_folder(test, user)
    process = paddock.popen("mcp", *arguments, user=user, env={"PADDOCK_STATE": state}, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    found = mcp.Stdio(process, era=era, **options)
    test.addCleanup(found.close)
    return found.open()


class Shared:
    """One server for all tests of a user."""
    user, era = None, "modern"

    @classmethod
    def setUpClass(cls):
        cls.state = paddock.folder(cls.user)
        os.chmod(cls.state, 0o700)
        process = paddock.popen("mcp", user=cls.user, env={"PADDOCK_STATE": cls.state}, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        cls.client = mcp.Stdio(process, era=cls.era)
        cls.client.open()

    @classmethod
    def tearDownClass(cls):
        try:
            status = cls.client.close()
            assert status == 0, f"exit {status}: {cls.client.stderr}"
            assert not cls.client.garbage, cls.client.garbage
        finally:
            shutil.rmtree(cls.state, ignore_errors=True)

    def call(self, tool, /, **arguments):
        """A call that succeeds: what it tells programs."""
        result = self.client.tool(tool, **arguments)
        self.assertFalse(result.get("isError"), mcp.text_of(result))
        return result["structuredContent"]

    def fails(self, tool, /, **arguments):
        result = self.client.tool(tool, **arguments)
        self.assertTrue(result.get("isError"), result)
        return mcp.text_of(result)

    # ---- what is offered

    def test_lists_the_eleven_with_schemas_and_hints(self):
        tools = self.client.tools()
        self.assertLessEqual(TOOLS, set(tools))
        for name in TOOLS:
            tool = tools[name]
            self.assertEqual(tool["inputSchema"]["type"], "object", name)
            self.assertIs(tool["inputSchema"]["additionalProperties"], False, name)
            self.assertEqual(tool["outputSchema"]["type"], "object", name)
            self.assertLessEqual({"readOnlyHint", "destructiveHint", "idempotentHint", "openWorldHint"}, set(tool["annotations"]), name)
            self.assertGreater(len(tool["description"]), 60, name)

    def test_tells_the_model_how_to_use_it(self):
        self.assertIn("run_code keeps state", self.client.server["instructions"])

    # ---- code

    def test_code_keeps_its_state(self):
        self.call("run_code", code="x = 20")
        result = self.call("run_code", code="print('hello')\nx + 1")
        self.assertEqual(result["results"][0]["text"], "21")
        self.assertEqual(result["stdout"], "hello\n")
        self.assertEqual(result["outcome"], {"kind": "done"})

    def test_contexts_are_apart(self):
        self.call("run_code", code="y = 1", context="left")
        self.assertIn("NameError", self.fails("run_code", code="y", context="right"))
        self.assertEqual(self.call("run_code", code="y", context="left")["results"][0]["text"], "1")
        self.assertIn("is for python", self.fails("run_code", code="1", context="left", language="bash"))

    def test_bash_is_a_language_too(self):
        self.assertEqual(self.call("run_code", code="v=7; echo $v", language="bash")["stdout"], "7\n")
        self.assertEqual(self.call("run_code", code="echo $((v + 1))", language="bash")["stdout"], "8\n")

    def test_an_exception_is_told_with_its_traceback(self):
        result = self.client.tool("run_code", code="1 / 0")
        self.assertTrue(result["isError"])
        self.assertEqual(result["structuredContent"]["error"]["name"], "ZeroDivisionError")
        self.assertIn("ZeroDivisionError", mcp.text_of(result))
        self.assertNotIn("\x1b", mcp.text_of(result))

    def test_a_picture_comes_as_image_content(self):
        result = self.client.tool("run_code", code=PICTURE)
        images = [item for item in result["content"] if item["type"] == "image"]
        self.assertEqual(len(images), 1, result)
        self.assertEqual((images[0]["mimeType"], base64.b64decode(images[0]["data"])), ("image/png", PNG))

    def test_html_is_a_document_for_people(self):
        code = "class T:\n  def _repr_html_(self): return '<b>hi</b>'\n  def __repr__(self): return 'plain'\nT()"
        result = self.client.tool("run_code", code=code)
        resources = [item["resource"] for item in result["content"] if item["type"] == "resource"]
        self.assertEqual([(r["mimeType"], r["text"]) for r in resources], [("text/html", "<b>hi</b>")])
        self.assertIn("plain", mcp.text_of(result))

    def test_code_that_takes_too_long_is_interrupted_and_the_state_stays(self):
        self.call("run_code", code="kept = 5", context="slow")
        result = self.client.tool("run_code", code="import time\nprint('before', flush=True)\ntime.sleep(60)", timeout=1.5, context="slow")
        self.assertTrue(result["isError"])
        self.assertEqual(result["structuredContent"]["outcome"]["limit"], "wall_time")
        self.assertIn("before", result["structuredContent"]["stdout"])
        self.assertEqual(self.call("run_code", code="kept", context="slow")["results"][0]["text"], "5")

    # ---- commands

    def test_a_command_gives_its_code_and_streams(self):
        result = self.call("run_command", command="echo out; echo err >&2; exit 3")
        self.assertEqual((result["exit_code"], result["stdout"], result["stderr"]), (3, "out\n", "err\n"))

    def test_argv_cwd_env_and_stdin(self):
        result = self.call("run_command", argv=["sh", "-c", "pwd; echo $A; cat"], cwd="/tmp", env={"A": "b c"}, stdin="in\n")
        self.assertEqual(result["stdout"], "/tmp\nb c\nin\n")
        self.assertIn("either", self.fails("run_command", command="ls", argv=["ls"]))

    def test_long_output_loses_its_middle_and_says_so(self):
        result = self.call("run_command", command="seq 1 100000", max_output=2048)
        self.assertTrue(result["stdout_truncated"])
        self.assertTrue(result["stdout"].startswith("1\n2\n") and result["stdout"].endswith("99999\n100000\n"))
        self.assertIn("bytes left out", result["stdout"])
        self.assertEqual(result["stdout_bytes"], 588895)

    def test_a_time_out_is_told_by_name(self):
        result = self.client.tool("run_command", command="echo began; sleep 60", timeout=1)
        self.assertTrue(result["isError"])
        outcome = result["structuredContent"]["outcome"]
        self.assertEqual((outcome["kind"], outcome["limit"], outcome["value"]), ("limit", "wall_time", 1000))
        self.assertIn("wall_time=1s", mcp.text_of(result))
        self.assertEqual(result["structuredContent"]["stdout"], "began\n")

    def test_what_is_not_there_is_told(self):
        self.assertIn("nonesuch", self.fails("run_command", argv=["nonesuch"]))

    def test_progress_while_it_runs(self):
        call = self.client.begin("tools/call", {"name": "run_command", "arguments": {"command": "for i in 1 2 3 4; do echo $i; sleep 0.4; done"}}, progress=True)
        call.wait()
        told = call.progress()
        self.assertGreaterEqual(len(told), 1)
        self.assertEqual(sorted(p["progress"] for p in told), [p["progress"] for p in told])
        self.assertIn("lines", told[-1]["message"])

    def test_a_cancelled_command_is_killed(self):
        call = self.client.begin("tools/call", {"name": "run_command", "arguments": {"command": "sleep 314159"}})
        running = lambda: "314159" in self.call("run_command", command="ps -eo args || true")["stdout"].replace("ps -eo", "")
        if shutil.which("ps") is None:
            self.skipTest("there is no ps")
        deadline = time.monotonic() + 30
        while not running() and time.monotonic() < deadline:
            time.sleep(0.1)
        call.cancel()
        while running() and time.monotonic() < deadline:
            time.sleep(0.1)
        self.assertFalse(running())

    def test_a_cancelled_cell_is_interrupted(self):
        self.call("run_code", code="open('/tmp/mark', 'w').close()", context="gone")
        call = self.client.begin("tools/call", {"name": "run_code", "arguments": {"code": "import time\ntry:\n  open('/tmp/on', 'w').close()\n  time.sleep(100)\nexcept KeyboardInterrupt:\n  open('/tmp/off', 'w').close()", "context": "gone"}})
        there = lambda path: self.call("run_command", command=f"test -e {path} && echo yes || echo no")["stdout"] == "yes\n"
        deadline = time.monotonic() + 30
        while not there("/tmp/on") and time.monotonic() < deadline:
            time.sleep(0.1)
        call.cancel()
        while not there("/tmp/off") and time.monotonic() < deadline:
            time.sleep(0.1)
        self.assertTrue(there("/tmp/off"))

    # ---- files

    def test_files_are_written_read_listed_and_found(self):
        written = self.call("write_file", path="deep/er/note.txt", content="one\ntwo\nthree\n")
        self.assertEqual((written["size"], written["written"]), (14, 14))
        self.assertEqual(self.call("write_file", path="deep/er/note.txt", content="four\n", append=True)["size"], 19)
        read = self.call("read_file", path="deep/er/note.txt", offset=2, limit=2)
        self.assertEqual((read["content"], read["first_line"], read["last_line"], read["lines"], read["truncated"]), ("two\nthree\n", 2, 3, 4, True))
        listed = self.call("list_files", path="deep", depth=3, details=True)
        self.assertIn(("file", 19), [(e["type"], e["size"]) for e in listed["entries"]])
        found = self.call("search_files", pattern="t(wo|hree)", path="deep")
        self.assertEqual([(m["line"], m["text"]) for m in found["matches"]], [(2, "two"), (3, "three")])
        self.assertEqual(len(self.call("search_files", glob="*.txt", path="deep")["matches"]), 1)
        self.assertEqual(len(self.call("search_files", glob="er/**", pattern="one", literal=True, path="deep")["matches"]), 1)
        self.assertEqual(self.call("search_files", pattern="nothing like it", path="deep")["matches"], [])

    def test_searching_quotes_nothing(self):
        name = "odd $(touch pwned) ';\n.txt"
        self.call("write_file", path=f"odd/{name}", content="needle $(id)\n")
        found = self.call("search_files", pattern="needle $(id)", literal=True, path="odd")
        self.assertEqual([m["text"] for m in found["matches"]], ["needle $(id)"])
        self.assertEqual(found["matches"][0]["path"], f"odd/{name}")
        self.assertEqual(self.call("search_files", pattern="-e", literal=True, path="odd", glob="--help")["matches"], [])
        self.assertEqual(self.call("search_files", glob="pwned", path="/home")["matches"], [])
        for name in ("(", "!", ",", "-delete"):
            self.call("write_file", path=f"{name}/inside.txt", content="x")
            self.assertEqual([match["path"] for match in self.call("search_files", glob="*.txt", path=name)["matches"]], [f"./{name}/inside.txt"])
        self.assertIn("~/!/inside.txt", [match["path"] for match in self.call("search_files", glob="inside.txt", path="~")["matches"]])

    def test_bytes_and_pictures(self):
        self.call("write_file", path="a.png", base64=base64.b64encode(PNG).decode())
        result = self.client.tool("read_file", path="a.png")
        self.assertEqual([base64.b64decode(i["data"]) for i in result["content"] if i["type"] == "image"], [PNG])
        self.call("write_file", path="a.bin", base64=base64.b64encode(b"\0\1\2").decode())
        self.assertIn("no text", self.fails("read_file", path="a.bin"))
        self.assertEqual(self.call("read_file", path="a.bin", encoding="base64")["content"], "AAEC")
        self.assertIn("base64", self.fails("write_file", path="b", base64="no!"))

    def test_errors_of_files_are_words(self):
        self.assertIn("does not exist", self.fails("read_file", path="/nowhere"))
        self.assertIn("is a directory", self.fails("read_file", path="/etc"))
        self.assertIn("not a directory", self.fails("list_files", path="/etc/passwd"))

    def test_files_are_reached_with_the_rights_of_the_user(self):
        """And a spoilt /etc/passwd, where there is one id only and root's files are the user's, does not end the sandbox."""
        made = self.call("create_sandbox")["sandbox"]
        before = self.call("run_command", sandbox=made, command="id -u; pwd")["stdout"]
        written = self.client.tool("write_file", sandbox=made, path="/etc/passwd", content="broken")
        if self.user == "root":
            self.assertIn("ermission denied", mcp.text_of(written))
            self.assertIn("ermission denied", self.fails("write_file", sandbox=made, path="/etc/new/file", content="x"))
            self.assertIn("ermission denied", self.fails("read_file", sandbox=made, path="/etc/shadow"))
            self.assertIn("ermission denied", self.fails("list_files", sandbox=made, path="/root"))
            self.call("run_command", sandbox=made, command="sudo sh -c 'echo broken > /etc/passwd'")  # root inside may
        self.assertEqual(self.call("run_command", sandbox=made, command="id -u; pwd")["stdout"], before)
        self.call("write_file", sandbox=made, path="deep/er/file", content="mine", executable=True)
        self.assertEqual(self.call("run_command", sandbox=made, command="stat -c '%a %u' deep/er/file deep/er; id -u")["stdout"].split()[1::2][:1], [before.split()[0]])
        self.call("kill_sandbox", sandbox=made)

    # ---- sandboxes

    def test_sandboxes_come_and_go(self):
        made = self.call("create_sandbox", name="second", env={"WHO": "me"}, metadata={"a": "b"})
        self.assertEqual(self.call("run_command", sandbox=made["sandbox"], command="echo $WHO")["stdout"], "me\n")
        self.assertEqual(self.call("run_command", sandbox="second", command="echo $WHO")["stdout"], "me\n")
        self.call("run_code", code="1")
        listed = {s["sandbox"]: s for s in self.call("list_sandboxes")["sandboxes"]}
        self.assertEqual((listed[made["sandbox"]]["name"], listed[made["sandbox"]]["is_default"]), ("second", False))
        self.assertEqual(sum(s["is_default"] for s in listed.values()), 1)
        self.call("kill_sandbox", sandbox="second")
        self.assertIn("second", self.fails("run_command", sandbox="second", command="true"))
        self.assertIn("there is none", self.fails("kill_sandbox", sandbox="i00000000000000000000"))

    def test_a_lost_sandbox_is_replaced_and_told(self):
        old = self.call("run_code", code="lost = 1")["sandbox"]
        self.call("kill_sandbox", sandbox=old)
        result = self.client.tool("run_code", code="'lost' in globals()")
        new = result["structuredContent"]
        self.assertNotEqual(new["sandbox"], old)
        self.assertEqual(new["results"][0]["text"], "False")
        self.assertIn("has ended", new["notes"][0])
        self.assertIn("has ended", mcp.text_of(result))
        self.assertEqual(self.call("run_code", code="2")["notes"], [])

    # ---- network

    def test_no_network_is_told(self):
        result = self.client.tool("run_command", command="python3 -c \"import urllib.request as u; u.urlopen('http://example.com')\"")
        self.assertIn("has no network", " ".join(result["structuredContent"]["notes"]))

    def test_a_denial_of_the_network_is_told_and_logged(self):
        with_network = client(self, self.user, "--allow-net", "allowed.example", era=self.era)
        made = with_network.tool("create_sandbox", allow_hosts=["allowed.example"])["structuredContent"]
        self.assertEqual(made["allow_hosts"], ["allowed.example"])
        result = with_network.tool("run_command", sandbox=made["sandbox"], command="curl -sS -m 10 http://denied.example/x || true")["structuredContent"]
        self.assertEqual(result["network_denials"][0]["host"], "denied.example")
        self.assertIn("denied.example", " ".join(result["notes"]))
        log = with_network.tool("network_log", sandbox=made["sandbox"], denied_only=True)["structuredContent"]
        self.assertIn("denied.example", [e["host"] for e in log["entries"]])

    # ---- the policy

    def test_arguments_that_do_not_fit_are_denied_in_words(self):
        self.assertIn("code", self.fails("run_code"))
        self.assertIn("nonsense", self.fails("run_code", code="1", nonsense=True))
        with self.assertRaises(mcp.Refused) as refused:
            self.client.tool("RUN_CODE", code="1")
        self.assertEqual(refused.exception.code, -32602)

    def test_a_call_is_judged_without_being_made(self):
        told = self.call("explain_denial", tool="run_code", arguments={"code": "1"})
        self.assertEqual(told["decision"]["verdict"], "allow")
        self.assertEqual(self.call("explain_denial", tool="run_code", arguments={})["decision"]["verdict"], "deny")
        self.assertIn("is known", self.fails("explain_denial", id="nobody"))


def cases_for(user, era):
    return type(f"OwnTools_{user}_{era}", (Shared, unittest.TestCase), {"user": user, "era": era})


for _user in paddock.USERS:
    # Both eras go through the same tools; the ordinary user's are shown in one.
    for _era in ("modern", "legacy") if _user == "root" else ("modern",):
        globals()[f"OwnTools_{_user}_{_era}"] = cases_for(_user, _era)


class Workspace(unittest.TestCase):
    def folder(self, user):
        path = paddock.folder(user)
        self.addCleanup(shutil.rmtree, path, ignore_errors=True)
        with open(os.path.join(path, "note"), "w") as file:
            file.write("from the host\n")
        paddock.give(file.name, user)
        return path

    @paddock.on_container
    def test_shows_the_directory_and_keeps_its_owner(self, user, _):
        path = self.folder(user)
        with client(self, user, "--workspace", f"{path}:rw") as inside:
            run = lambda command: inside.tool("run_command", command=command)["structuredContent"]
            self.assertEqual(run("pwd; cat note")["stdout"], "/workspace\nfrom the host\n")
            self.assertEqual(run("echo new > made && mkdir d && echo x > d/y")["exit_code"], 0)
            self.assertFalse(inside.tool("write_file", path="by_tool", content="w").get("isError"))
            self.assertEqual(inside.tool("run_code", code="import os; open('by_code', 'w').write('c'); os.getcwd()")["structuredContent"]["results"][0]["text"], "/workspace")
            self.assertNotEqual(run("touch s && chmod 4755 s")["exit_code"], 0)
            owner = os.stat(path)
            for name in ("made", "d", "d/y", "by_tool", "by_code", "note"):
                found = os.stat(os.path.join(path, name))
                self.assertEqual((found.st_uid, found.st_gid), (owner.st_uid, owner.st_gid), name)
            self.assertFalse(os.stat(os.path.join(path, "s")).st_mode & stat.S_ISUID)

    @paddock.on_container
    def test_read_only_is_read_only(self, user, _):
        path = self.folder(user)
        with client(self, user, "--workspace", f"{path}:ro") as inside:
            result = inside.tool("run_command", command="cat note; echo no > note")["structuredContent"]
            self.assertEqual(result["stdout"], "from the host\n")
            self.assertIn("Read-only", result["stderr"])
            self.assertTrue(inside.tool("write_file", path="x", content="x").get("isError"))

    @paddock.on_container
    def test_refuses_what_would_give_the_machine_away(self, user, _):
        for place in ("/etc", "/proc", "/"):
            done = paddock.call("mcp", "--workspace", place, user=user, env={"PADDOCK_STATE": paddock.state_folder(self, user)}, input="")
            self.assertNotEqual(done.returncode, 0, place)  # at once, not with the first call
            self.assertIn("refused", done.stderr)


class Records(unittest.TestCase):
    def test_calls_cells_commands_and_files_are_recorded_under_the_call(self):
        state = paddock.state_folder(self, "root")
        with client(self, "root", state=state) as inside:
            inside.tool("run_code", code="1")
            inside.tool("run_command", command="true")
            inside.tool("write_file", path="f", content="x")
            inside.tool("read_file", path="f")
        shown = paddock.call("audit", "show", "--json", env={"PADDOCK_STATE": state})
        events = [json.loads(line) for line in shown.stdout.splitlines()]
        calls = {event["span"]: event for event in events if event["kind"] == "tool.call"}
        for kind in ("code.start", "command.start", "file.write", "sandbox.create"):
            found = [event for event in events if event["kind"] == kind]
            self.assertTrue(found, (kind, shown.stderr, [event["kind"] for event in events]))
            self.assertIn(found[0]["parent"], calls, kind)


if __name__ == "__main__":
    paddock.main()
