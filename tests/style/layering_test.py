"""The layers of docs/design.md hold: every #include "…" points downwards."""
import os
import re
import unittest

from support import paddock

# Each layer, and what it may include besides itself and the public headers.
LAYERS = {
    "base": set(),
    "schema": {"base"},
    "linux": {"base"},
    "net": {"base"},
    "policy": {"base", "schema", "presets"},
    "redact": {"base", "presets"},
    "audit": {"base"},
    "probe": {"base", "net"},
    "io": {"base", "net"},
    "telemetry": {"base", "net", "io"},
    "monitor": {"base"},
    "guest": {"base", "linux", "io"},
    "launch": {"base", "linux", "monitor"},
    "egress": {"base", "linux", "net", "io", "policy", "presets"},
    "wall": {"base", "linux", "net", "policy", "launch", "presets"},
    "store": {"base", "linux", "policy"},
    "client": {"base", "net", "policy", "store"},
    "record": {"base", "io", "redact", "audit", "telemetry", "launch", "store"},
    "run": {"base", "linux", "io", "policy", "redact", "monitor", "launch", "egress", "wall", "store", "record"},
    "doctor": {"base", "linux", "policy", "launch", "wall", "store", "run"},
    "living": {"base", "linux", "io", "monitor", "guest", "launch", "wall", "store", "run"},
    "manager": {"base", "linux", "net", "io", "policy", "redact", "monitor", "guest", "launch", "store", "record", "run", "living"},
    "template": {"base", "linux", "redact", "guest", "store", "record", "living", "manager"},
    "code": {"base", "io", "redact", "guest", "wall", "manager"},
    "mcp": {"base", "net", "io"},
    "tools": {"base", "net", "io", "schema", "policy", "redact", "telemetry", "guest", "launch", "wall", "store", "record", "run", "manager", "code", "mcp", "presets"},
    "api": {"base", "linux", "net", "io", "policy", "redact", "audit", "monitor", "guest", "store", "record", "run", "manager", "template", "code", "mcp", "tools"},
    "cli": {"base", "linux", "net", "io", "policy", "audit", "telemetry", "monitor", "store", "client", "record", "run", "doctor", "manager", "mcp", "tools", "api"},
    "bin": {"base", "launch", "egress", "guest", "probe", "cli"},
}
# One or two files know each library.
LIBRARIES = {
    r"<toml\+\+/": {"src/base/toml.cc"},
    r"<archive": {"src/guest/tar.cc", "src/store/archive.cc", "src/store/pack.cc", "tests/fuzz/archive_fuzz.cc"},
    r"<openssl/": {"src/base/digest.cc", "src/audit/seal.cc", "src/net/tls.cc", "src/net/trust_store.cc", "src/net/websocket.cc"},
    r"<re2/": {"src/schema/pattern.cc"},
    r"<seccomp\.h>": {"presets/seccomp/seccomp_compile.cc"},
    r"<sqlite3\.h>": {"src/audit/database.cc"},
    r"<zlib\.h>": {"src/api/http/gunzip.cc"},
}


def sources(*folders):
    for top in folders:
        for folder, _, names in os.walk(os.path.join(paddock.SOURCE, top)):
            for name in names:
                if name.endswith((".h", ".cc")):
                    yield os.path.relpath(os.path.join(folder, name), paddock.SOURCE)


def text(path):
    with open(os.path.join(paddock.SOURCE, path)) as file:
        return file.read()


class LayeringTest(unittest.TestCase):
    def test_every_include_points_downwards(self):
        wrong = []
        for path in sources("src"):
            layer = path.split("/")[1]
            self.assertIn(layer, LAYERS, f"{path}: a folder that is no layer")
            for included in re.findall(r'^#include "([^"]+)"', text(path), re.M):
                target = included.split("/")[0]
                if target not in LAYERS[layer] | {layer, "paddock"}:
                    wrong.append(f"{path} includes {included}")
        self.assertEqual(wrong, [])

    def test_every_arrow_is_used(self):
        used = {layer: set() for layer in LAYERS}
        for path in sources("src"):
            for included in re.findall(r'^#include "([^"]+)"', text(path), re.M):
                used[path.split("/")[1]].add(included.split("/")[0])
        unused = {layer: sorted(allowed - used[layer]) for layer, allowed in LAYERS.items() if allowed - used[layer]}
        self.assertEqual(unused, {})

    def test_the_public_headers_include_only_each_other(self):
        for path in sources("include"):
            for included in re.findall(r'^#include "([^"]+)"', text(path), re.M):
                self.assertTrue(included.startswith("paddock/"), f"{path} includes {included}")

    def test_each_library_is_known_to_its_own_files_only(self):
        for pattern, allowed in LIBRARIES.items():
            users = {path for path in sources("src", "presets", "include", "tests") if re.search(r"#include " + pattern, text(path))}
            tests = {path for path in users if path.endswith("_test.cc")}
            self.assertLessEqual(users - tests, allowed, pattern)

    def test_only_base_and_linux_touch_errno_of_the_mount_calls(self):
        # A wall decides, linux/ acts: no mount, clone or landlock call elsewhere.
        calls = r"::(mount|umount2|unshare|setns|clone3|open_tree|move_mount|fsopen|fsmount|mount_setattr)\("
        allowed = {"src/launch/root.cc": ["mount_setattr"]}
        for path in sources("src"):
            if path.startswith(("src/linux/", "src/probe/")):
                continue
            found = set(re.findall(calls, text(path)))
            self.assertLessEqual(found, set(allowed.get(path, [])), path)

    def test_programs_are_short(self):
        for path in sources("src/bin"):
            self.assertLess(len(text(path).splitlines()), 81, path)


if __name__ == "__main__":
    paddock.main()
