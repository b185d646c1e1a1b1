"""Templates: built from Dockerfiles, from images, cached, removed; and what becomes of a build when somebody goes away."""
import io
import json
import os
import shutil
import signal
import subprocess
import tarfile
import time
import unittest

from support import paddock, server

BUSYBOX = shutil.which("busybox")


def eventually(look, what, seconds=60):
    deadline = time.monotonic() + seconds
    while not (seen := look()):
        if time.monotonic() > deadline:
            raise AssertionError(f"never happened: {what}")
        time.sleep(0.05)
    return seen


class TemplateTest(unittest.TestCase):
    def each_server(self):
        for user in paddock.USERS:
            with self.subTest(user=user), server.Server(user) as served:
                yield served

    def context(self, served, **files):
        folder = paddock.folder(served.user)
        self.addCleanup(shutil.rmtree, folder, ignore_errors=True)
        for name, content in files.items():
            path = os.path.join(folder, name.replace("__", "/"))
            os.makedirs(os.path.dirname(path), exist_ok=True)
            with open(path, "w") as file:
                file.write(content)
        paddock.give(folder, served.user)
        for root, folders, names in os.walk(folder):
            for name in folders + names:
                paddock.give(os.path.join(root, name), served.user)
        return folder

    def build(self, served, name, dockerfile, *flags, files=None, **options):
        folder = self.context(served, Dockerfile=dockerfile, **(files or {}))
        return served.call("template", "build", "-t", name, *flags, folder, timeout=300, **options)

    def inside(self, served, template, command):
        made = served.create(templateID=template)
        try:
            code, out, err = served.run(made, command)
            self.assertEqual(code, 0, out + err)
            return out.strip()
        finally:
            served.kill(made["sandboxID"])

    def names(self, served):
        return {item["name"] for item in json.loads(served.call("template", "ls", "--json").stdout)["templates"]}

    def test_a_dockerfile_becomes_a_template(self):
        for served in self.each_server():
            done = self.build(served, "app:v1", "FROM base\nCOPY app /opt/app\nENV MODE=tested\nWORKDIR /opt/app\nRUN echo $MODE > mode && pwd\nUSER user\nCMD sleep 1000\n",
                              files={"app__a.txt": "content", "app__.env": "SECRET", ".dockerignore": "**/.env\n"})
            self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
            self.assertIn("/opt/app", done.stdout)
            self.assertEqual(self.inside(served, "app:v1", "pwd; cat a.txt mode; ls -A; echo $MODE; pgrep -f 'sleep 1000' >/dev/null && echo started"),
                             "/opt/app\ncontenttested\na.txt\nmode\ntested\nstarted")
            self.assertEqual(self.names(served), {"app", "base", "code-interpreter-v1"})
            self.assertEqual(served.call("template", "rm", "app").returncode, 0)
            self.assertEqual(self.names(served), {"base", "code-interpreter-v1"})

    def ask_build(self, served, name, steps=(), **size):
        """As E2B's SDK does it. Gives the ids of template and build; the build is begun."""
        asked = served.request("POST", "/v3/templates", {"name": name, **size})
        self.assertEqual(asked.status, 202, asked)
        template, build = asked.json()["templateID"], asked.json()["buildID"]
        recipe = {"fromTemplate": "base", "steps": [{"type": "RUN", "args": [step]} for step in steps]}
        self.assertEqual(served.request("POST", f"/v2/templates/{template}/builds/{build}", recipe).status, 202)
        return template, build

    def wait_build(self, served, template, build):
        status = lambda: served.request("GET", f"/templates/{template}/builds/{build}/status").json()
        return eventually(lambda: (now := status())["status"] in ("ready", "error") and now, "the build ends", 120)

    def test_processors_and_memory_are_given_or_refused(self):
        for served in self.each_server():
            self.assertEqual(self.wait_build(served, *self.ask_build(served, "small", memoryMB=128))["status"], "ready")
            shown = served.request("GET", "/templates/small").json()
            made = served.create(templateID="small")
            info = served.request("GET", f"/sandboxes/{made['sandboxID']}").json()
            self.assertEqual((shown["memoryMB"], info["memoryMB"]), (128, 128))
            self.assertEqual(shown["cpuCount"], info["cpuCount"])  # not asked for: what the sandbox gets
            cores = os.cpu_count()
            one = served.request("POST", "/v3/templates", {"name": "one-core", "cpuCount": 1})
            if cores > 1 and one.status == 202:  # there is something that holds a sandbox to a share
                self.assertEqual(self.wait_build(served, *self.ask_build(served, "one-core", cpuCount=1))["status"], "ready")
                made = served.create(templateID="one-core")
                info = served.request("GET", f"/sandboxes/{made['sandboxID']}").json()
                self.assertEqual((served.request("GET", "/templates/one-core").json()["cpuCount"], info["cpuCount"]), (1, 1))
            elif cores > 1:
                self.assertIn("nothing holds", one.json()["message"])
            for size, word in (({"cpuCount": max(cores, 2) + 1}, f"this machine has {cores} cores"), ({"memoryMB": 1 << 23}, "memoryMB")):
                refused = served.request("POST", "/v3/templates", {"name": "too-large", **size})
                self.assertEqual(refused.status, 400, refused)
                self.assertIn(word, refused.json()["message"])

    def test_builds_of_one_tenant_run_side_by_side(self):
        for served in self.each_server():
            # Each waits for the network of none: they sleep long enough to be seen together.
            builds = [self.ask_build(served, f"side-{number}", ["sleep 5"]) for number in range(3)]
            states = lambda: [served.request("GET", f"/templates/{template}/builds/{build}/status").json()["status"] for template, build in builds]
            self.assertEqual(states(), ["building"] * 3)
            for template, build in builds:
                self.assertEqual(self.wait_build(served, template, build)["status"], "ready")

    def test_the_same_steps_come_from_the_cache_until_files_change(self):
        for served in self.each_server():
            dockerfile = "FROM base\nRUN echo first\nCOPY a /a\nRUN echo second\n"
            first = self.build(served, "cached", dockerfile, files={"a": "1"})
            self.assertNotIn("CACHED", first.stdout)
            folder = self.context(served, Dockerfile=dockerfile, a="2")
            second = served.call("template", "build", "-t", "cached", folder, timeout=300).stdout
            self.assertIn("CACHED [builder 3/7] RUN echo first", second)
            self.assertNotIn("CACHED [builder 4/7]", second)
            self.assertEqual(served.call("template", "build", "-t", "cached", folder, timeout=300).stdout.count("CACHED"), 7)
            self.assertNotIn("CACHED", served.call("template", "build", "--no-cache", "-t", "cached", folder, timeout=300).stdout)

    def test_what_it_prints_has_no_secrets(self):
        token = "ghp_" + "x7Kq2mVr9tLz4bNw8sYd3fHj6pGc1aRe5uQo"
        for served in self.each_server():
            done = self.build(served, "quiet", f"FROM base\nRUN echo {token} && echo after\n")
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertNotIn(token, done.stdout + done.stderr)
            self.assertIn("[redacted:github-token]", done.stdout)
            self.assertIn("after", done.stdout)

    def test_what_fails_is_told_and_leaves_no_template(self):
        for served in self.each_server():
            done = self.build(served, "bad", "FROM base\nRUN echo before; exit 7\n")
            self.assertEqual(done.returncode, 125)
            self.assertIn("exit status 7", done.stderr)
            self.assertIn("before", done.stdout)
            self.assertIn("Dockerfile:2: VOLUME", self.build(served, "bad", "FROM base\nVOLUME /x\n").stderr)
            self.assertIn("no such file", self.build(served, "bad", "FROM base\nCOPY nothing /x\n").stderr)
            self.assertIn("paddock image import ubuntu-22.04", self.build(served, "bad", "FROM ubuntu:22.04\n").stderr)
            self.assertNotIn("bad", self.names(served))
            self.assertEqual(served.request("GET", "/v1/sandboxes").json()["sandboxes"], [])

    @unittest.skipUnless(BUSYBOX, "needs busybox")
    @unittest.skipIf(paddock.SANITIZED, "sanitized programs need libraries that this image does not have")
    def test_an_image_becomes_a_template(self):
        for served in self.each_server():
            archive = os.path.join(self.context(served), "root.tar")
            with tarfile.open(archive, "w") as file:
                file.add(BUSYBOX, "bin/busybox")
                for name in ("sh", "cat", "id", "mkdir", "chown", "chmod", "cp", "mv", "rm", "dirname", "grep", "cut", "ls", "test", "[", "env"):
                    info = tarfile.TarInfo(f"bin/{name}")
                    info.type, info.linkname = tarfile.SYMTYPE, "busybox"
                    file.addfile(info)
                info = tarfile.TarInfo("etc/mark")
                info.size = 5
                file.addfile(info, io.BytesIO(b"image"))
            paddock.give(archive, served.user)
            self.assertEqual(served.call("image", "import", "tiny-1", archive).returncode, 0)
            done = self.build(served, "from-image", "FROM tiny:1\nRUN cat /etc/mark; ls /home\nCOPY a /data/\n", files={"a": "1"})
            self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
            self.assertIn("image", done.stdout)
            answer = served.request("POST", "/v1/sandboxes", {"template": "from-image"}).json()
            run = served.request("POST", f"/v1/sandboxes/{answer['id']}/exec?wait=1", {"argv": ["/bin/cat", "/data/a", "/etc/mark"]}).json()
            self.assertEqual(run["stdout"], "1image")

    def test_another_tenant_sees_nothing_of_it(self):
        for served in self.each_server():
            self.assertEqual(self.build(served, "mine", "FROM base\nRUN true\n").returncode, 0)
            other = served.new_key("--tenant", "other")
            mine = [item for item in served.request("GET", "/v1/templates").json()["templates"] if item["name"] == "mine"][0]
            for name in ("mine", mine["id"], "local%2Fmine", "mine:default"):
                self.assertEqual(served.request("GET", f"/v1/templates/{name}", key=other).status, 404, name)
                self.assertEqual(served.request("DELETE", f"/templates/{name}", key=other).status, 404, name)
            self.assertEqual(served.request("GET", "/templates/aliases/mine", key=other).status, 404)
            self.assertEqual(served.request("POST", "/v2/sandboxes", {"templateID": mine["id"]}, key=other).status, 404)
            self.assertEqual(served.request("DELETE", "/templates/base", key=other).status, 403)
            asked = served.request("POST", "/v3/templates", {"name": "later"}).json()
            status = f"/templates/{asked['templateID']}/builds/{asked['buildID']}/status"
            self.assertEqual((served.request("GET", status).status, served.request("GET", status, key=other).status), (200, 404))
            self.assertEqual(served.request("GET", "/v1/templates/mine").status, 200)

    def test_an_upload_address_works_once(self):
        for served in self.each_server():
            asked = served.request("POST", "/v3/templates", {"name": "files"}).json()
            link = served.request("GET", f"/templates/{asked['templateID']}/files/{'a' * 64}").json()
            self.assertFalse(link["present"])
            path = link["url"].split(str(served.port), 1)[1]
            self.assertEqual(served.request("PUT", path, b"bytes", key="none").status, 200)
            self.assertEqual(served.request("PUT", path, b"others", key="none").status, 404)
            self.assertTrue(served.request("GET", f"/templates/{asked['templateID']}/files/{'a' * 64}").json()["present"])
            self.assertEqual(served.request("GET", f"/templates/x/files/..%2f..%2fetc").status, 400)

    def hidden(self, served):
        folder = os.path.join(served.state, "server", "sandboxes")
        return os.listdir(folder) if os.path.isdir(folder) else []

    def test_a_client_that_goes_away_cancels_its_build(self):
        for served in self.each_server():
            folder = self.context(served, Dockerfile="FROM base\nRUN sleep 1000\n")
            client = paddock.popen("template", "build", "-t", "long", folder, user=served.user, env=served.environment(), stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
            for line in client.stdout:
                if b"RUN sleep" in line:
                    break
            eventually(lambda: self.hidden(served), "the sandbox of the step")
            client.send_signal(signal.SIGINT)
            client.wait()
            client.stdout.close()
            eventually(lambda: not self.hidden(served), "its end")
            again = self.build(served, "next", "FROM base\nRUN true\n")
            self.assertEqual(again.returncode, 0, again.stdout + again.stderr)

    def test_a_restart_ends_builds_and_says_so(self):
        for served in self.each_server():
            asked = served.request("POST", "/v3/templates", {"name": "long"}).json()
            recipe = {"fromTemplate": "base", "steps": [{"type": "RUN", "args": ["sleep 1000"]}]}
            self.assertEqual(served.request("POST", f"/v2/templates/{asked['templateID']}/builds/{asked['buildID']}", recipe).status, 202)
            eventually(lambda: self.hidden(served), "the sandbox of the step")
            served.kill9()
            served.start()
            status = served.request("GET", f"/templates/{asked['templateID']}/builds/{asked['buildID']}/status").json()
            self.assertEqual((status["status"], status["reason"]["message"].split(" (")[0]), ("error", "the server was restarted"))
            eventually(lambda: not self.hidden(served), "the end of its sandbox")

    def test_root_inside_installs_and_owns(self):
        for served in self.each_server():
            made = served.create()
            run = lambda command: served.run(made, command)[:2]
            self.assertEqual(run("sudo id -u"), (0, "0\n"))
            package = "mkdir -p /tmp/p/pk && cd /tmp/p && echo 'x = 42' > pk/__init__.py && printf '[project]\\nname=\"pk\"\\nversion=\"1\"\\n' > pyproject.toml"
            code, out = run(f"{package} && pip install --no-build-isolation --no-index . >/dev/null 2>&1; cd / && python -c 'import pk; print(pk.x)'")
            if "pip" in run("command -v pip")[1] and run("python3 -c 'import setuptools'")[0] == 0:
                self.assertEqual((code, out), (0, "42\n"))
            if served.user == "root":
                self.assertEqual(run("sudo useradd -m bob && sudo chown bob /srv && stat -c %U /srv && sudo su - bob -c whoami"), (0, "bob\nbob\n"))
                self.assertEqual(run("id -un; sudo -u user id -un; touch /usr/bin/x 2>/dev/null || echo no"), (0, "user\nuser\nno\n"))
            else:
                notes = served.request("GET", f"/v1/sandboxes/{made['sandboxID']}").json()["enforced"]["notes"]
                self.assertTrue(any("single id" in note for note in notes), notes)


if __name__ == "__main__":
    paddock.main()
