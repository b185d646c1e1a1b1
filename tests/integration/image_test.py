"""Images: imported from hostile and honest archives, and used as a root."""
import hashlib
import io
import json
import os
import shutil
import tarfile
import unittest

from support import paddock

PROGRAM = os.path.join(os.environ["PADDOCK_BUILD"], "paddock")  # static: runs in an image that holds nothing else


def entry(name, content=b"", kind=tarfile.REGTYPE, target="", mode=0o644):
    info = tarfile.TarInfo(name)
    info.type, info.linkname, info.mode = kind, target, mode
    info.size = len(content) if kind == tarfile.REGTYPE else 0
    return info, content


def archive(entries, compression=""):
    bytes_ = io.BytesIO()
    with tarfile.open(fileobj=bytes_, mode="w:" + compression) as file:
        for info, content in entries:
            file.addfile(info, io.BytesIO(content))
    return bytes_.getvalue()


class ImageTest(unittest.TestCase):
    def each_user(self):
        for user in paddock.USERS:
            with self.subTest(user=user):
                folder = paddock.folder(user)
                self.addCleanup(shutil.rmtree, folder, ignore_errors=True)
                yield user, folder

    def save(self, user, folder, name, content):
        path = os.path.join(folder, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "wb") as file:
            file.write(content)
        paddock.give(path, user)
        return path

    def import_image(self, user, name, path, *flags):
        self.addCleanup(paddock.call, "image", "rm", name, user=user)
        return paddock.call("image", "import", name, path, *flags, user=user)

    def names(self, user):
        return {image["name"] for image in json.loads(paddock.call("image", "ls", "--json", user=user).stdout)["images"]}

    def program(self):
        with open(PROGRAM, "rb") as file:
            return entry("bin/program", file.read(), mode=0o4755)

    @unittest.skipIf(paddock.SANITIZED, "sanitized programs need libraries that this image does not have")
    def test_a_tarball_becomes_a_root(self):
        for user, folder in self.each_user():
            path = self.save(user, folder, "root.tar.gz", archive([self.program(), entry("etc/mark", b"image")], "gz"))
            done = self.import_image(user, "test-tarball", path)
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertIn("test-tarball", self.names(user))
            done = paddock.call("run", "--root", "test-tarball", "--", "/bin/program", "version", user=user)
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertEqual(paddock.call("image", "rm", "test-tarball", user=user).returncode, 0)
            self.assertNotIn("test-tarball", self.names(user))

    def test_an_oci_layout_is_verified(self):
        for user, folder in self.each_user():
            def blob(content):
                name = hashlib.sha256(content).hexdigest()
                self.save(user, folder, "layout/blobs/sha256/" + name, content)
                return "sha256:" + name

            lower = blob(archive([self.program(), entry("gone", b"x")], "gz"))
            upper = blob(archive([entry(".wh.gone")]))
            manifest = blob(json.dumps({"layers": [{"digest": lower}, {"digest": upper}]}).encode())
            self.save(user, folder, "layout/oci-layout", b"{}")
            self.save(user, folder, "layout/index.json", json.dumps({"manifests": [{"digest": manifest}]}).encode())
            for parent, _, _ in os.walk(os.path.join(folder, "layout")):
                paddock.give(parent, user)
            layout = os.path.join(folder, "layout")
            done = self.import_image(user, "test-oci", layout, "--json")
            self.assertEqual(done.returncode, 0, done.stdout)
            image = json.loads(done.stdout)
            self.assertEqual(image["layers"], 2)
            self.assertEqual(os.listdir(image["root"]), ["bin"])
            self.save(user, folder, "layout/blobs/sha256/" + lower[7:], b"something else")
            done = self.import_image(user, "test-oci-bad", layout)
            self.assertEqual(done.returncode, 125)
            self.assertIn("another content", done.stderr)

    def test_hostile_archives_are_refused_and_leave_nothing(self):
        for user, folder in self.each_user():
            victim = self.save(user, folder, "victim/file", b"precious")
            link = entry("link", kind=tarfile.SYMTYPE, target=os.path.dirname(victim))
            cases = {
                "absolute": [entry(victim, b"evil")],
                "dot dot": [entry("../../victim/file", b"evil")],
                "through a link": [link, entry("link/file", b"evil")],
                "hard link out": [entry("h", kind=tarfile.LNKTYPE, target=victim)],
                "hard link through a link": [link, entry("h", kind=tarfile.LNKTYPE, target="link/file")],
                "too deep": [entry("d/" * 300 + "f", b"x")],
                "nothing": [],
            }
            for name, entries in cases.items():
                with self.subTest(case=name):
                    path = self.save(user, folder, "hostile.tar", archive(entries))
                    done = self.import_image(user, "test-hostile", path)
                    self.assertEqual(done.returncode, 125, done.stdout)
                    self.assertNotIn("test-hostile", self.names(user))
            with open(victim, "rb") as file:
                self.assertEqual(file.read(), b"precious")

    def test_size_is_bounded(self):
        for user, folder in self.each_user():
            path = self.save(user, folder, "bomb.tar.gz", archive([entry("zeros", bytes(8 << 20))], "gz"))
            done = self.import_image(user, "test-bomb", path, "--max-size", "1M")
            self.assertEqual(done.returncode, 125)
            self.assertIn("--max-size", done.stderr)

    def test_bad_names_are_refused(self):
        for user, folder in self.each_user():
            path = self.save(user, folder, "root.tar", archive([entry("f", b"x")]))
            for name in ("..", "a/b", "Upper", ".hidden"):
                self.assertEqual(paddock.call("image", "import", name, path, user=user).returncode, 125, name)
            self.assertEqual(paddock.call("run", "--root", "never-imported", "--", "true", user=user).returncode, 125)


if __name__ == "__main__":
    paddock.main()
