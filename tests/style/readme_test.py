"""Every command in the README and in docs/ runs. A block marked ```sh is run line by line; ```console shows output."""
import os
import re
import subprocess
import tempfile
import time
import unittest

from support import paddock

NOT_HERE = re.compile(r"^(make |git clone|cd |sudo )")  # they build, test or install: CI and the next user run those


def blocks(path):
    with open(path) as file:
        text = file.read()
    return re.findall(r"^```sh\n(.*?)^```", text, re.M | re.S)


class ReadmeTest(unittest.TestCase):
    def test_every_command_runs(self):
        pages = ["README.md"] + [os.path.join("docs", name) for name in sorted(os.listdir(os.path.join(paddock.SOURCE, "docs"))) if name.endswith(".md")]
        ran = 0
        with tempfile.TemporaryDirectory(prefix="paddock-test-readme-") as folder:
            subprocess.run(["cp", "-r", *(os.path.join(paddock.SOURCE, name) for name in ("examples", "clients")), folder], check=True)
            environment = dict(os.environ, PATH=paddock.BUILD + ":" + os.environ["PATH"], PADDOCK_STATE=os.path.join(folder, "state"))
            for page in pages:
                for block in blocks(os.path.join(paddock.SOURCE, page)):
                    for line in block.replace("\\\n", " ").splitlines():
                        command, _, comment = line.partition("  # ")
                        if not command.strip() or command.startswith("#") or NOT_HERE.match(command):
                            continue
                        expected = re.search(r"exit (\d+)", comment)
                        # A change set's name is not known when the page is written: the newest stands in for it.
                        command = command.replace("ID", "$(paddock diff --json | grep -o '\"id\":\"[a-z0-9]*' | tail -1 | cut -d'\"' -f4)")
                        if command.rstrip().endswith("&"):
                            self.start(command.rstrip(" &"), folder, environment)
                            continue
                        with self.subTest(page=page, command=line):
                            done = subprocess.run(["bash", "-c", command], cwd=folder, env=environment, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=120)
                            self.assertEqual(done.returncode, int(expected[1]) if expected else 0, done.stdout + done.stderr)
                            ran += 1
        self.assertGreater(ran, 5, "the README shows too little")

    def start(self, command, folder, environment):
        """A server stays for the lines below; what it made goes at the end."""
        server = subprocess.Popen(["bash", "-c", f"exec {command} --exit-kills"], cwd=folder, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
        self.addCleanup(server.wait)
        self.addCleanup(server.terminate)
        deadline = time.monotonic() + 60
        while subprocess.run([paddock.PADDOCK, "ls"], env=environment, capture_output=True).returncode != 0:
            self.assertLess(time.monotonic(), deadline, f"{command} does not answer")
            time.sleep(0.1)

    def test_the_index_names_every_page_and_every_link_leads_somewhere(self):
        docs = os.path.join(paddock.SOURCE, "docs")
        with open(os.path.join(docs, "README.md")) as file:
            index = file.read()
        for folder in ("", "formats"):
            for name in sorted(os.listdir(os.path.join(docs, folder))):
                if name.endswith(".md") and name != "README.md":
                    self.assertIn(f"({os.path.join(folder, name)})", index)
        for top, _, names in os.walk(docs):
            for page in [os.path.join(top, name) for name in names if name.endswith(".md")] + [os.path.join(paddock.SOURCE, "README.md")]:
                with open(page) as file:
                    links = re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", file.read())
                for link in links:
                    self.assertTrue(os.path.exists(os.path.join(os.path.dirname(page), link)), f"{page}: {link}")

    def test_the_two_commands_are_named(self):
        with open(os.path.join(paddock.SOURCE, "README.md")) as file:
            text = file.read()
        self.assertIn("make run", text)
        self.assertIn("make test", text)


if __name__ == "__main__":
    paddock.main()
