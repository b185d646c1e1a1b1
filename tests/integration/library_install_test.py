"""Paddock installed into an empty prefix: other projects build against it with CMake and with pkg-config, its programs find each
other, and there is one version."""
import os
import re
import shutil
import subprocess
import tempfile
import unittest

from support import paddock
from support.server import Server

EXAMPLES = os.path.join(paddock.SOURCE, "examples", "library")


def succeed(test, *command, **options):
    done = subprocess.run(command, capture_output=True, text=True, timeout=1000, **options)
    test.assertEqual(done.returncode, 0, f"{command}\n{done.stdout}{done.stderr}")
    return done.stdout


def text_of(*path):
    with open(os.path.join(paddock.SOURCE, *path)) as file:
        return file.read()


@unittest.skipIf(paddock.SANITIZED, "other projects would have to link the sanitizers")
class InstalledTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.mkdtemp(prefix="paddock-install-")
        cls.addClassCleanup(shutil.rmtree, cls.folder)
        os.chmod(cls.folder, 0o755)
        cls.prefix = os.path.join(cls.folder, "prefix")
        build = subprocess.run(["cmake", "--build", paddock.BUILD, "--target", "paddock_library"], capture_output=True, text=True)
        install = subprocess.run(["cmake", "--install", paddock.BUILD, "--prefix", cls.prefix], capture_output=True, text=True)
        if build.returncode or install.returncode:
            raise AssertionError(build.stdout + build.stderr + install.stdout + install.stderr)
        cls.sources = os.path.join(cls.folder, "sources")  # nothing of the tree is near them
        shutil.copytree(EXAMPLES, cls.sources)

    def run_example(self, program, user, *arguments, **env):
        return paddock.call(*arguments, program=program, user=user, env={"PADDOCK_PREFIX": self.prefix, **env}, cwd="/")

    def check_run(self, program, **env):
        for user in paddock.USERS:
            with self.subTest(user=user):
                done = self.run_example(program, user, **env)
                self.assertEqual(done.returncode, 0, done.stderr)
                self.assertIn("sum: exit status 0, stdout: 45", done.stdout)
                self.assertIn("denied: resolve evil.example", done.stdout)  # egress was found too

    def test_cmake(self):
        build = os.path.join(self.folder, "build")
        succeed(self, "cmake", "-S", self.sources, "-B", build, "-G", "Ninja", f"-DCMAKE_PREFIX_PATH={self.prefix}", "-DCMAKE_BUILD_TYPE=Debug")
        succeed(self, "cmake", "--build", build)
        self.check_run(os.path.join(build, "examples", "paddock-run-example"))

        policy = os.path.join(paddock.SOURCE, "examples", "tools", "policy.toml")
        done = self.run_example(os.path.join(build, "examples", "paddock-tools-example"), paddock.USERS[0], policy)
        self.assertIn('weather: {"city":"Oslo"', done.stdout, done.stderr)

        living = os.path.join(build, "examples", "paddock-living-example")
        with Server(user=paddock.USERS[0]) as server:
            done = self.run_example(living, server.user, PADDOCK_STATE=server.state)
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertEqual(done.stdout, "exit status 0, stdout: hello world\nkept: hello world\nfile: hello.sh (33 bytes)\nfile: said.txt (12 bytes)\ngone: yes\n")
        done = self.run_example(living, paddock.USERS[0], PADDOCK_STATE=server.state)
        self.assertEqual(done.returncode, 1)
        self.assertIn("start one with: paddock serve", done.stderr)

    def test_pkg_config(self):
        env = {**os.environ, "PKG_CONFIG_PATH": os.path.join(self.prefix, "lib", "pkgconfig")}
        flags = succeed(self, "pkg-config", "--cflags", "--libs", "paddock", env=env).split()
        program = os.path.join(self.folder, "by-pkg-config")
        succeed(self, "g++", os.path.join(self.sources, "run.cc"), "-o", program, *flags)
        self.check_run(program)

    def test_another_minor_version_is_refused(self):
        project = os.path.join(self.folder, "other")
        os.makedirs(project)
        with open(os.path.join(project, "CMakeLists.txt"), "w") as file:
            file.write("cmake_minimum_required(VERSION 3.25)\nproject(other LANGUAGES CXX)\nfind_package(paddock 99.1 REQUIRED)\n")
        done = subprocess.run(["cmake", "-S", project, "-B", os.path.join(project, "build"), f"-DCMAKE_PREFIX_PATH={self.prefix}"], capture_output=True, text=True)
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("99.1", done.stderr)

    def test_the_programs_find_each_other(self):
        program = os.path.join(self.prefix, "bin", "paddock")
        for user in paddock.USERS:
            with self.subTest(user=user):
                done = paddock.call("run", "--", "echo", "hello", program=program, user=user)
                self.assertEqual((done.returncode, done.stdout), (0, "hello\n"), done.stderr)
                done = paddock.call("tool", "call", "weather", "--params", '{"city": "Oslo"}', "--policy",
                                    os.path.join(paddock.SOURCE, "examples", "tools", "policy.toml"), program=program, user=user)
                self.assertEqual(done.returncode, 0, done.stderr)
                self.assertIn("Oslo", done.stdout)


class VersionTest(unittest.TestCase):
    def test_there_is_one(self):
        version = re.search(r"project\(paddock VERSION ([0-9.]+)", text_of("CMakeLists.txt"))[1]
        self.assertIn(f'__version__ = "{version}"', text_of("clients", "python", "paddock", "__init__.py"))
        self.assertNotRegex(text_of("clients", "python", "pyproject.toml"), r'(?m)^version = "')
        self.assertIn(version, paddock.call("version").stdout)


if __name__ == "__main__":
    paddock.main()
