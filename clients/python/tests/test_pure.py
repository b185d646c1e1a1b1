"""The parts without I/O: frames, archives, where the server is."""
import io
import os
import tarfile
import tempfile
import unittest

from paddock import SandboxError, archive, calls, endpoint, websocket
from paddock.errors import InvalidArgument
from paddock.volumes import bytes_of_size


class WebSocketTest(unittest.TestCase):
    def test_the_answer_to_the_standards_key(self):
        self.assertEqual(websocket.accept("dGhlIHNhbXBsZSBub25jZQ=="), "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=")

    def test_masks_every_size(self):
        for size in (0, 1, 125, 126, 65535, 65536):
            payload = os.urandom(size)
            frame = websocket.frame(websocket.BINARY, payload)
            head = 2 if size < 126 else 4 if size < 65536 else 10
            mask, masked = frame[head:head + 4], frame[head + 4:]
            self.assertEqual(bytes(byte ^ mask[i % 4] for i, byte in enumerate(masked)), payload)

    def test_reads_fragments_byte_by_byte_around_a_ping(self):
        reader, seen = websocket.Reader(), []
        for byte in b"\x01\x02he\x89\x01!\x80\x03llo\x82\x7e\x00\x80" + b"x" * 128:
            reader.add(bytes([byte]))
            seen += reader.messages()
        self.assertEqual(seen, [(9, b"!"), (1, b"hello"), (2, b"x" * 128)])

    def test_refuses_a_masked_server_and_endless_messages(self):
        for data in (b"\x81\x81\0\0\0\0a", b"\xf1\x00", b"\x82\x7f" + b"\x00\x00\x00\xff\x00\x00\x00\x00"):
            reader = websocket.Reader()
            reader.add(data)
            with self.assertRaises(SandboxError):
                list(reader.messages())


class ArchiveTest(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory(prefix="paddock-test-")
        self.addCleanup(self.folder.cleanup)
        self.target = os.path.join(self.folder.name, "target")

    def tar(self, *members):
        file = io.BytesIO()
        with tarfile.open(fileobj=file, mode="w") as tar:
            for name, kind, content in members:
                member = tarfile.TarInfo(name)
                member.type = kind
                if kind == tarfile.REGTYPE:
                    member.size = len(content)
                    tar.addfile(member, io.BytesIO(content))
                else:
                    member.linkname = content.decode()
                    tar.addfile(member)
        file.seek(0)
        return file

    def test_there_and_back(self):
        source = os.path.join(self.folder.name, "source")
        os.makedirs(os.path.join(source, "a/b"))
        with open(os.path.join(source, "a/b/ü.txt"), "w") as file:
            file.write("content")
        os.chmod(os.path.join(source, "a/b/ü.txt"), 0o755)
        os.symlink("b/ü.txt", os.path.join(source, "a/link"))
        archive.unpack(io.BytesIO(b"".join(archive.pack(source))), self.target)
        with open(os.path.join(self.target, "a/link")) as file:
            self.assertEqual(file.read(), "content")
        self.assertTrue(os.access(os.path.join(self.target, "a/b/ü.txt"), os.X_OK))

    def test_nothing_escapes(self):
        outside = os.path.join(self.folder.name, "outside")
        os.makedirs(outside)
        hostile = [
            [("../evil", tarfile.REGTYPE, b"x")],
            [("/tmp/paddock-test-evil", tarfile.REGTYPE, b"x")],
            [("a/../../evil", tarfile.REGTYPE, b"x")],
            [("link", tarfile.SYMTYPE, outside.encode()), ("link/evil", tarfile.SYMTYPE, b"x")],
            [("hard", tarfile.LNKTYPE, b"../outside/secret")],
            [("device", tarfile.CHRTYPE, b"")],
            [("pipe", tarfile.FIFOTYPE, b"")],
        ]
        for members in hostile:
            with self.subTest(members=members), self.assertRaises((SandboxError, OSError)):
                archive.unpack(self.tar(*members), self.target)
        # A link and a file of the same name beneath it: the file wins a directory of its own, or it is refused; never through.
        try:
            archive.unpack(self.tar(("x", tarfile.SYMTYPE, outside.encode()), ("x/evil", tarfile.REGTYPE, b"x")), self.target)
        except (SandboxError, OSError):
            pass
        self.assertEqual(os.listdir(outside), [])
        self.assertEqual(sorted(os.listdir(self.folder.name)), ["outside", "target"])

    def test_a_link_that_stands_in_the_target_is_not_followed(self):
        victim = os.path.join(self.folder.name, "victim")
        with open(victim, "w") as file:
            file.write("safe")
        os.makedirs(self.target)
        os.symlink(victim, os.path.join(self.target, "f"))
        archive.unpack(self.tar(("f", tarfile.REGTYPE, b"new")), self.target)
        with open(victim) as file:
            self.assertEqual(file.read(), "safe")
        with open(os.path.join(self.target, "f")) as file:
            self.assertEqual(file.read(), "new")


class EndpointTest(unittest.TestCase):
    def test_what_the_environment_names(self):
        found = endpoint.find_running({"PADDOCK_URL": "https://box", "PADDOCK_API_KEY": "k", "PADDOCK_SOCKET": "/s"})
        self.assertEqual((found.host, found.port, found.tls, found.key), ("box", 443, True, "k"))
        self.assertEqual(endpoint.find_running({"PADDOCK_SOCKET": "/s"}).socket_path, "/s")
        self.assertIsNone(endpoint.find_running({"PADDOCK_STATE": "/nonexistent"}))

    def test_refuses_what_is_no_address(self):
        for url in ("box", "ftp://box", "http://"):
            with self.subTest(url=url), self.assertRaises(InvalidArgument):
                endpoint.from_url(url)
        with self.assertRaises(InvalidArgument):
            endpoint.from_url("http://box", "a\r\nb")


class CallsTest(unittest.TestCase):
    def test_ids_stay_one_piece_of_the_path(self):
        self.assertEqual(calls.info("../x y").path, "/v1/sandboxes/..%2Fx%20y")

    def test_bad_values_are_named(self):
        for volumes in ({"a": "relative"}, {"a": "/x:wx"}):
            with self.assertRaises(InvalidArgument):
                calls._volumes(volumes)
        with self.assertRaises(InvalidArgument):
            calls.set_timeout("a", -1)

    def test_sizes(self):
        self.assertEqual([bytes_of_size(size) for size in (5, "5", "64M", "1.5G")], [5, 5, 64 << 20, 3 << 29])
        for size in ("", "M", "-1", "5X"):
            with self.assertRaises(InvalidArgument):
                bytes_of_size(size)

    def test_denials_come_out_of_the_log(self):
        lines = [{"kind": "exec"}, {"kind": "connection", "verdict": "allow", "name": "a"},
                 {"kind": "connection", "verdict": "deny", "name": "evil.example", "port": 443, "protocol": "tls", "rule": "network.allow", "why": "not on the allowlist"},
                 {"kind": "connection", "verdict": "deny", "name": "evil.example", "port": 53, "protocol": "dns", "rule": "network.allow", "why": "not on the allowlist"}]
        denials = calls.denials_of(lines)
        self.assertEqual([denial.action for denial in denials], ["connect evil.example:443", "resolve evil.example"])
        self.assertEqual((denials[0].rule, denials[0].why), ("network.allow", "not on the allowlist"))


if __name__ == "__main__":
    unittest.main()
