"""The Python client against a real server, as root and as an ordinary user; its own tests; and every example."""
import contextlib
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest

from support import npm, paddock
from support.server import Server

CLIENT = os.path.join(paddock.SOURCE, "clients", "python")


def interpreter():
    """One that every user can read: that of this test may stand in root's home."""
    for path in (os.path.realpath(sys.executable), "/usr/bin/python3"):
        if all(subprocess.run(paddock.as_user([path, "-c", ""], user), cwd="/", capture_output=True).returncode == 0 for user in paddock.USERS):
            return path
    raise unittest.SkipTest("there is no python3 that an ordinary user can start")


PYTHON = interpreter()


def environment(user, env):
    return {**paddock.environment(user), "PYTHONPATH": CLIENT, "PYTHONDONTWRITEBYTECODE": "1", "PADDOCK_BIN": paddock.PADDOCK, **(env or {})}


def python(*arguments, user="root", env=None, cwd="/", timeout=300):
    return subprocess.run(paddock.as_user([PYTHON, *arguments], user), env=environment(user, env), cwd=cwd, capture_output=True, text=True, timeout=timeout,
                          stdin=subprocess.DEVNULL)


def setUpModule():
    global servers, stack
    stack = contextlib.ExitStack()
    try:
        servers = {user: stack.enter_context(Server(user)) for user in paddock.USERS}
    except BaseException:
        stack.close()
        raise


def tearDownModule():
    stack.close()


NARROWED = """
import warnings
from paddock import Sandbox, Denied
for asked, said in (({"allow_net": ["localhost:8099"]}, "network.allow: 'localhost:8099' asked for"), ({"memory": "64G"}, "memory: 64G asked for")):
    try:
        Sandbox("base", **asked)
        raise SystemExit(f"{asked} was dropped")
    except Denied as error:
        assert said in str(error), error
with warnings.catch_warnings(record=True) as told:
    warnings.simplefilter("always")
    Sandbox("base", policy="python", timeout=3600).kill()
assert any("timeout: 1h asked for" in str(each.message) for each in told), told
"""


class ClientTest(unittest.TestCase):
    """Each test is a program of its own, run by every user: what it asserts fails it."""

    def program(self, text, users=None, **env):
        for user in users or paddock.USERS:
            with self.subTest(user=user):
                done = python("-c", text, user=user, env={"PADDOCK_URL": f"http://127.0.0.1:{servers[user].port}", "PADDOCK_API_KEY": servers[user].key, **env})
                self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

    def test_what_is_asked_for_in_vain_is_an_error_and_less_of_it_a_warning(self):
        self.program(NARROWED)

    def test_code_remembers_and_tells(self):
        self.program("""
from paddock import Sandbox
with Sandbox(memory="256M") as sandbox:
    heard, results = [], []
    sandbox.run_code("x = 20")
    done = sandbox.run_code("print('hi')\\nx + 1", on_stdout=heard.append, on_result=results.append)
    assert done.text == "21" and done.stdout == "hi\\n" and heard == ["hi\\n"] and results[0].text == "21", done
    failed = sandbox.run_code("1/0")
    assert failed.error.name == "ZeroDivisionError" and "division" in failed.error.value, failed
    other = sandbox.create_context()
    assert sandbox.run_code("x", context=other).error.name == "NameError"
    assert sandbox.run_code("import os; os.environ['A']", env={"A": "b"}).text == "b"
    assert "hello" in sandbox.run_code("echo hello", language="bash").stdout
""")

    def test_code_that_takes_too_long_is_interrupted(self):
        self.program("""
from paddock import CodeFailed, Sandbox, TimeoutException
with Sandbox() as sandbox:
    assert sandbox.run_code("x = 1").check().error is None
    late = sandbox.run_code("import time; print('begun'); time.sleep(1000)", timeout=1)  # an outcome, as of a command
    assert late.error.name == "TimeoutException" and "after 1 seconds" in late.error.value and late.stdout == "begun\\n", late
    for execution, kind in ((late, TimeoutException), (sandbox.run_code("1 / 0"), CodeFailed)):
        try:
            execution.check()
            raise SystemExit("it was fine")
        except kind:
            pass
    assert sandbox.run_code("x + 1", timeout=60).text == "2"
""")

    def test_commands_and_their_outcomes(self):
        self.program("""
from paddock import Sandbox, CommandFailed, NotFound
with Sandbox("base") as sandbox:
    heard = []
    done = sandbox.run("echo out; echo err >&2; exit 3", on_stdout=heard.append)
    assert (done.exit_code, done.stdout, done.stderr, heard) == (3, "out\\n", "err\\n", ["out\\n"]), done
    try:
        done.check()
        raise SystemExit("no exception")
    except CommandFailed as error:
        assert error.result is done
    assert sandbox.run(["sh", "-c", "kill -9 $$"]).outcome.signal == "SIGKILL"
    late = sandbox.run("sleep 1000", timeout=0.3).outcome
    assert (late.kind, late.limit) == ("limit", "wall_time"), late
    assert sandbox.run("pwd; echo $A", cwd="/tmp", env={"A": "b"}).stdout == "/tmp\\nb\\n"
    assert sandbox.run("cat", stdin="text").stdout == "text"
    assert sandbox.run(["cat"], stdin=bytes(range(256))).stdout_bytes == bytes(range(256))
    assert sandbox.run("id -u", user="root").stdout == "0\\n"
""")

    def test_limits_name_themselves(self):
        self.program("""
import os
from paddock import LimitExceeded, NotFound, Sandbox
with Sandbox("base", memory="64M") as sandbox:
    done = sandbox.run(["python3", "-c", "x = bytearray(1 << 29)"])
    assert (done.outcome.kind, done.outcome.limit, done.outcome.value) == ("limit", "memory", 64 << 20), done
    try:
        done.check()
        raise SystemExit("no exception")
    except LimitExceeded:
        pass
    try:
        assert sandbox.run("echo alive").stdout == "alive\\n"
    except NotFound:
        assert os.geteuid() != 0  # without a cgroup the whole sandbox ends
""")

    def test_denials_say_why(self):
        self.program("""
from paddock import Sandbox
with Sandbox("base", allow_net=["pypi.org"]) as sandbox:
    sandbox.run(["python3", "-c", "import socket; socket.create_connection(('evil.example', 443), 5)"])
    denials = sandbox.denials()
    assert denials and "evil.example" in denials[0].action and denials[0].rule and denials[0].why, sandbox.logs()
    assert sandbox.network_log()
""")

    def test_background_processes(self):
        self.program("""
import threading
from paddock import Sandbox, TimeoutException
with Sandbox("base") as sandbox:
    said = threading.Event()
    process = sandbox.run("while read line; do echo got $line; done; echo bye", background=True, on_stdout=lambda text: said.set() if "got a" in text else None)
    assert process.pid in [each.pid for each in sandbox.processes()]
    process.send_stdin("a\\n")
    assert said.wait(60)
    try:
        process.wait(0.2)
        raise SystemExit("it ended")
    except TimeoutException:
        pass
    process.close_stdin()
    assert process.wait(60).stdout == "got a\\nbye\\n"
    other = sandbox.run("exec sleep 1000", background=True)
    other.kill()
    assert other.wait(60).outcome.signal == "SIGKILL"
""")

    def test_files(self):
        self.program("""
import os, tempfile
from paddock import Sandbox, NotFound
with Sandbox("base") as sandbox, tempfile.TemporaryDirectory() as here:
    files = sandbox.files
    entry = files.write("a/b/c.txt", "content")
    assert entry.size == 7 and files.read("a/b/c.txt") == "content"
    data = os.urandom(3 << 20)
    files.write("big", iter([data[:1000], data[1000:]]))
    assert files.read_bytes("big") == data
    assert files.exists("big") and not files.exists("small")
    assert [each.name for each in files.list("a")] == ["b"] and files.list("a", depth=2)[1].name == "c.txt"
    files.make_dir("d/e")
    assert files.stat("d/e").is_dir
    files.rename("big", "d/large")
    files.remove("a")
    assert not files.exists("a") and files.exists("d/large")
    try:
        files.read("nothing")
        raise SystemExit("it was there")
    except NotFound as error:
        assert "nothing" in str(error)
    os.makedirs(os.path.join(here, "in/x"))
    with open(os.path.join(here, "in/x/f"), "w") as file: file.write("1")
    files.upload_dir(os.path.join(here, "in"), "up")
    assert files.read("up/x/f") == "1"
    files.download_dir("up", os.path.join(here, "out"))
    with open(os.path.join(here, "out/x/f")) as file: assert file.read() == "1"
    with files.watch("d") as watch:
        files.write("d/new", "x")
        assert next(iter(watch)).name == "new"
""")

    def test_life(self):
        self.program("""
from paddock import Sandbox, Conflict, NotFound
with Sandbox("base", name="life", metadata={"k": "v"}, timeout=120) as sandbox:
    assert sandbox.id in [each.id for each in Sandbox.list(metadata={"k": "v"})]
    assert sandbox.id not in [each.id for each in Sandbox.list(metadata={"k": "other"})]
    sandbox.files.write("note", "kept")
    sandbox.pause()
    assert sandbox.info().state == "paused" and not sandbox.is_running()
    same = Sandbox.connect("life")
    assert same.id == sandbox.id and same.files.read("note") == "kept"
    before = sandbox.info().ends_ms
    sandbox.set_timeout(600)
    assert sandbox.info().ends_ms > before
    forks = sandbox.fork(2)
    assert [fork.files.read("note") for fork in forks] == ["kept", "kept"]
    for fork in forks: assert fork.kill()
    with Sandbox(sandbox.snapshot("life-snapshot").id) as later:
        assert later.files.read("note") == "kept"
    assert isinstance(sandbox.metrics(), list) and sandbox.enforced() and sandbox.logs()
assert not sandbox.kill()
try:
    sandbox.run("true")
    raise SystemExit("it lives")
except NotFound:
    pass
""")

    def test_volumes_are_shared(self):
        self.program("""
from paddock import Sandbox, create_volume, list_volumes, remove_volume
create_volume("python-data", "64M")
with Sandbox("base", volumes={"python-data": "/mnt/data"}) as writer, Sandbox("base", volumes={"python-data": "/mnt/data:ro"}) as reader:
    writer.files.write("/mnt/data/x", "shared")
    assert reader.files.read("/mnt/data/x") == "shared"
    assert not reader.run("touch /mnt/data/y").ok
assert "python-data" in [volume.name for volume in list_volumes()]
remove_volume("python-data")
""")

    def test_async(self):
        self.program("""
import asyncio
from paddock import AsyncSandbox
async def main():
    async with AsyncSandbox(memory="256M") as sandbox:
        heard = []
        async def hear(text): heard.append(text)
        assert (await sandbox.run("echo hi", on_stdout=hear)).stdout == "hi\\n" and heard == ["hi\\n"]
        await sandbox.run_code("x = 1")
        assert (await sandbox.run_code("x + 1")).text == "2"
        await sandbox.files.write("f", "content")
        assert await sandbox.files.read("f") == "content"
        process = await sandbox.run("cat", background=True)
        await process.send_stdin("a")
        await process.close_stdin()
        assert (await process.wait(60)).stdout == "a"
        results = await asyncio.gather(*(sandbox.run(f"echo {number}") for number in range(20)))
        assert [result.stdout for result in results] == [f"{number}\\n" for number in range(20)]
        watch = await sandbox.files.watch(".")
        await sandbox.files.write("g", "x")
        async for event in watch:
            assert event.name == "g"
            break
        watch.close()
        late = await sandbox.run_code("import time; time.sleep(1000)", timeout=1)
        assert late.error.name == "TimeoutException", late
        fork = (await sandbox.fork())[0]
        assert await fork.files.read("f") == "content"
        await fork.kill()
        assert sandbox.id in [each.id for each in await AsyncSandbox.list()]
asyncio.run(main())
""")

    def test_a_manager_keeps_agents_apart(self):
        self.program("""
import threading
from paddock import Sandbox, SandboxManager, LimitExceeded
with SandboxManager(most=3, template="base", metadata={"suite": "manager"}) as manager:
    def work(name):
        manager.agent(name, env={"NAME": name}).files.write("mine", name)
    threads = [threading.Thread(target=work, args=(name,)) for name in "abc" * 3]
    for thread in threads: thread.start()
    for thread in threads: thread.join()
    assert manager.agents() == ["a", "b", "c"]
    assert len(Sandbox.list(metadata={"suite": "manager"})) == 3
    assert [manager.agent(name).run("cat mine; echo $NAME").stdout for name in "abc"] == [name + name + "\\n" for name in "abc"]
    try:
        manager.agent("d")
        raise SystemExit("one too many")
    except LimitExceeded:
        pass
    manager.agent("a").kill()
    assert not manager.agent("a").files.exists("mine")
assert Sandbox.list(metadata={"suite": "manager"}) == []
""")

    def test_errors_name_what_is_wrong(self):
        self.program("""
from paddock import Denied, InvalidArgument, NotFound, Sandbox
for options, expected, word in (({"memory": "lots"}, InvalidArgument, "memory"), ({"template": "no-such"}, NotFound, "no-such"), ({"policy": "no-such"}, NotFound, "no-such"),
                                ({"limits": {"memry": "1G"}}, InvalidArgument, "memry"), ({"api_key": "e2b_" + "0" * 40, "url": __import__("os").environ["PADDOCK_URL"]}, Denied, "key")):
    try:
        Sandbox(**options)
        raise SystemExit(f"taken: {options}")
    except expected as error:
        assert word in str(error), (options, error)
""")


class OwnServerTest(unittest.TestCase):
    """When no server runs, the client starts one for as long as the process lives."""

    def folder(self, user):
        path = paddock.folder(user)
        self.addCleanup(shutil.rmtree, path, ignore_errors=True)
        return path

    def lonely(self, user):
        """An environment in which no server runs, with its own place for temporary files."""
        folder = self.folder(user)
        return folder, {"PADDOCK_STATE": os.path.join(folder, "none"), "TMPDIR": folder}

    def wait_until_empty(self, folder):
        deadline = time.monotonic() + 60
        while os.listdir(folder):
            self.assertLess(time.monotonic(), deadline, f"left: {os.listdir(folder)}")
            time.sleep(0.1)

    def test_it_ends_with_the_process(self):
        for user in paddock.USERS:
            with self.subTest(user=user):
                folder, env = self.lonely(user)
                done = python("-c", "from paddock import Sandbox; print(Sandbox('base').run('echo yes').stdout)", user=user, env=env)
                self.assertEqual((done.returncode, done.stdout.strip()), (0, "yes"), done.stderr)
                self.wait_until_empty(folder)

    def test_also_when_the_process_is_killed(self):
        for user in paddock.USERS:
            with self.subTest(user=user):
                folder, env = self.lonely(user)
                text = "import time; from paddock import Sandbox; s = Sandbox('base'); s.run('sleep 1000', background=True); print('ready', flush=True); time.sleep(1000)"
                process = subprocess.Popen(paddock.as_user([PYTHON, "-c", text], user), env=environment(user, env), cwd="/", stdout=subprocess.PIPE,
                                           stdin=subprocess.DEVNULL, text=True)
                try:
                    self.assertEqual(process.stdout.readline(), "ready\n")
                finally:
                    process.send_signal(signal.SIGKILL)
                    process.wait()
                    process.stdout.close()
                self.wait_until_empty(folder)

    def test_says_when_there_is_no_program(self):
        _, env = self.lonely("root")
        done = python("-c", "from paddock import Sandbox; Sandbox()", env={**env, "PADDOCK_BIN": "/nonexistent/paddock"})
        self.assertIn("ServerUnavailable", done.stderr)


class ExamplesTest(unittest.TestCase):
    def test_agent(self):
        for user in paddock.USERS:
            with self.subTest(user=user), tempfile.TemporaryDirectory(prefix="paddock-test-") as folder:
                os.chmod(folder, 0o777)
                done = python(os.path.join(paddock.SOURCE, "examples", "agent.py"), user=user, env={"PYTHONPATH": "", "PADDOCK_STATE": os.path.join(folder, "none"), "TMPDIR": folder})
                self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
                for said in ("code: 12.566", "error: ZeroDivisionError", "sorted: ['1', '2', '3']", "denied: resolve evil.example", "limit:", "bob sees: NameError"):
                    self.assertIn(said, done.stdout)

    def test_rest(self):
        for user, server in servers.items():
            with self.subTest(user=user):
                done = python(os.path.join(paddock.SOURCE, "examples", "rest.py"), user=user, env={"PADDOCK_URL": f"http://127.0.0.1:{server.port}", "PADDOCK_API_KEY": server.key})
                self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
                self.assertIn("roses are red\n1\n2\n3\n", done.stdout)
                self.assertIn("exit code: 3", done.stdout)

    def test_e2b_agent(self):
        try:  # the same folder as compat_code_test.py, so that it is installed once
            modules = os.path.join(npm.packages("code-interpreter-2.8.0", "@e2b/code-interpreter@2.8.0", "e2b@2.51.0"), "node_modules")
        except npm.Unavailable as reason:
            self.skipTest(str(reason))
        server = servers["root"] if "root" in servers else next(iter(servers.values()))
        with tempfile.TemporaryDirectory(prefix="paddock-test-") as folder:
            shutil.copy(os.path.join(paddock.SOURCE, "examples", "e2b_agent.mjs"), folder)
            os.symlink(modules, os.path.join(folder, "node_modules"))
            url = f"http://127.0.0.1:{server.port}"
            done = subprocess.run(["node", "e2b_agent.mjs"], cwd=folder, env={**os.environ, "E2B_API_KEY": server.key, "E2B_API_URL": url, "E2B_SANDBOX_URL": url},
                                  capture_output=True, text=True, timeout=300)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertIn("code: 21", done.stdout)
        self.assertIn("exit code: 0", done.stdout)

    def test_library(self):
        program = os.path.join(paddock.BUILD, "examples", "paddock-run-example")
        for user in paddock.USERS:
            with self.subTest(user=user):
                done = paddock.call(program=program, user=user)
                self.assertEqual(done.returncode, 0, done.stderr)
                for said in ("sum: exit status 0, stdout: 45", "denied: resolve evil.example"):
                    self.assertIn(said, done.stdout)

    def test_the_page(self):
        with open(os.path.join(paddock.SOURCE, "docs", "python.md")) as file:
            blocks = re.findall(r"^```python\n(.*?)^```", file.read(), re.M | re.S)
        self.assertGreater(len(blocks), 2)
        server = next(iter(servers.values()))
        for block in blocks:
            done = python("-c", block, user=server.user, env={"PADDOCK_STATE": server.state})
            self.assertEqual(done.returncode, 0, block + done.stdout + done.stderr)

    def test_the_clients_own_tests_pass(self):
        done = python("-m", "unittest", "discover", "-s", ".", "-t", ".", cwd=CLIENT)
        self.assertEqual(done.returncode, 0, done.stderr)


if __name__ == "__main__":
    paddock.main()
