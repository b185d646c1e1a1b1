"""What the walls keep out that is not a way out: other names of denied files, rare kernel interfaces."""
import os
import shutil
import unittest

from support import paddock
from support.paddock import on_both, on_container

class Case(unittest.TestCase):
    def folder(self, user):
        path = paddock.folder(user)
        self.addCleanup(shutil.rmtree, path, ignore_errors=True)
        return path

    def write(self, user, path, text="text"):
        with open(path, "w") as file:
            file.write(text)
        paddock.give(path, user)
        return path


class DenialTest(Case):
    @on_container
    def test_a_denied_file_has_no_other_name(self, user, wall):
        for mode in ("ro", "copy"):
            work, other = self.folder(user), self.folder(user)
            os.mkdir(f"{work}/keys")
            self.write(user, f"{work}/secret")
            self.write(user, f"{work}/keys/inner")
            os.link(f"{work}/secret", f"{work}/second")
            os.link(f"{work}/keys/inner", f"{other}/third")
            done = paddock.run("--workspace", f"{work}:{mode}", "--read", other, "--deny", f"{work}/secret", "--deny", f"{work}/keys", "--", "sh", "-c",
                               f"cat secret second keys/inner {other}/third; ls", user=user)
            self.assertNotIn("text", done.stdout, done.stderr)
            self.assertIn("second", done.stdout)  # ls
            done = paddock.run("--workspace", f"{work}:{mode}", "--", "cat", "second", user=user)
            self.assertEqual(done.stdout, "text", done.stderr)  # without the denial

    @on_container
    def test_denials_inside_denials_and_of_similar_names(self, user, wall):
        work = self.folder(user)
        for path in ("a/c", "a-b"):
            os.makedirs(f"{work}/{path}")
            self.write(user, f"{work}/{path}/file", "hidden")
        self.write(user, f"{work}/open", "shown")
        for order in (("a", "a-b", "a/c"), ("a/c", "a-b", "a")):
            denials = [word for name in order for word in ("--deny", f"{work}/{name}")]
            done = paddock.run("--workspace", f"{work}:ro", *denials, "--", "sh", "-c", "cat open a/c/file a-b/file", user=user)
            self.assertEqual(done.stdout, "shown", done.stderr)


class InterfaceTest(Case):
    @on_container
    def test_other_protocols_of_ip_are_not_there(self, user, wall):
        script = ("import errno, socket as s\n"
                  "for kind, protocol in ((s.SOCK_STREAM, 262), (s.SOCK_DGRAM, 136), (s.SOCK_STREAM, 132), (5, 0), (6, 0)):\n"
                  "    for family in (s.AF_INET, s.AF_INET6):\n"
                  "        try: s.socket(family, kind, protocol); print('made', protocol)\n"
                  "        except OSError as error: assert error.errno == errno.EPROTONOSUPPORT, error\n"
                  "for family in (s.AF_INET, s.AF_INET6):\n"
                  "    s.socket(family, s.SOCK_STREAM); s.socket(family, s.SOCK_DGRAM); s.socket(family, s.SOCK_STREAM, 6); s.socket(family, s.SOCK_DGRAM, 17)\n"
                  "print('fine')")
        done = paddock.run("--", "python3", "-c", script, user=user)
        self.assertEqual(done.stdout, "fine\n", done.stderr)

    @on_both
    def test_flags_of_inodes_cannot_be_set(self, user, wall):
        script = """
import errno, fcntl, struct
file = open('file', 'w+')
for request in (0x40086602, 0x401c5820, 0xc020660b, 0x5000940e):
    try: fcntl.ioctl(file, request, b'\\0' * 512); print('done', hex(request))
    except OSError as error: assert error.errno == errno.ENOTTY, (hex(request), error)
"""
        done = paddock.run("--wall", wall, "--", "python3", "-c", script, user=user)
        self.assertEqual((done.stdout, done.returncode), ("", 0), done.stderr)


if __name__ == "__main__":
    paddock.main()
