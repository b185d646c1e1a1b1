"""Every C++ file is as clang-format leaves it (.clang-format), and no line is over 100 columns."""
import os
import shutil
import subprocess
import unittest

from support import paddock

FORMATTER = "clang-format-16"
WIDTH = 100


def sources():
    listed = subprocess.run(["git", "-C", paddock.SOURCE, "ls-files", "*.cc", "*.h"], capture_output=True, text=True, check=True).stdout.split()
    return [path for path in listed if os.path.exists(os.path.join(paddock.SOURCE, path))]


class FormatTest(unittest.TestCase):
    @unittest.skipUnless(shutil.which(FORMATTER), f"{FORMATTER} is not installed (scripts/install.sh style)")
    def test_every_file_is_formatted(self):
        done = subprocess.run(["xargs", "-P2", "-n50", FORMATTER, "--dry-run", "-Werror"], cwd=paddock.SOURCE, input="\n".join(sources()),
                              capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, f"run: {FORMATTER} -i FILE\n{done.stderr[-4000:]}")

    def test_no_line_is_too_long(self):
        long = []
        for path in sources():
            if not path.startswith(("src/", "include/")) or path.endswith("_test.cc"):
                continue
            with open(os.path.join(paddock.SOURCE, path)) as file:
                long += [f"{path}:{number}" for number, line in enumerate(file, 1) if len(line.rstrip("\n")) > WIDTH]
        self.assertEqual(long, [])


if __name__ == "__main__":
    paddock.main()
