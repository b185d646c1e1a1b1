"""The ways through the code that docs/design.md shows: every file and function in them exists, none is entered twice, and
no way is longer than a reader can follow."""
import os
import re
import unittest

ROOT = os.path.join(os.path.dirname(__file__), "..", "..")
MOST_FILES = 25


def walks():
    """Each table of files in docs/design.md: a list of (path, functions)."""
    found, current = [], None
    with open(os.path.join(ROOT, "docs", "design.md"), encoding="utf-8") as file:
        for line in file:
            cells = [cell.strip() for cell in line.split("|")]
            if line.startswith("| file |"):
                current = []
                found.append(current)
            elif current is not None and re.match(r"\| `[^`]+\.cc` \|", line):
                current.append((cells[1].strip("`"), re.findall(r"`([^`]+)`", cells[2])))
            elif not line.startswith("|"):
                current = None
    return found


class Walks(unittest.TestCase):
    def test_there_are_three_that_a_reader_can_follow(self):
        self.assertEqual(len(walks()), 3)
        for walk in walks():
            files = [path for path, _ in walk]
            self.assertGreater(len(files), 10)
            self.assertLessEqual(len(files), MOST_FILES)
            self.assertEqual(len(files), len(set(files)), "a file is entered twice")

    def test_what_they_name_exists(self):
        for walk in walks():
            for path, functions in walk:
                with open(os.path.join(ROOT, "src", path), encoding="utf-8") as file:
                    source = file.read()
                self.assertTrue(functions, path)
                for function in functions:
                    name = function.split("::")[-1]
                    self.assertRegex(source, rf"\b{name}\(", f"{path} has no {function}")


if __name__ == "__main__":
    unittest.main()
