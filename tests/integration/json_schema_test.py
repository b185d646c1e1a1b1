"""JSON Schema against json-schema-test-suite (Debian's: draft-07), as draft-07 and, where the meaning is the same, as 2020-12.

Every case must come out as the suite says, but for those listed here with the reason; and a listed one must not come out so.
"""
import glob
import json
import os
import subprocess
import unittest

from support import paddock

SUITE = "/usr/share/json-schema-test-suite/tests/draft7"
CHECK = os.path.join(paddock.BUILD, "tests", "paddock-schema-check")
DRAFT7 = "http://json-schema.org/draft-07/schema#"

REMOTE = "refers to another document: nothing is fetched, so the schema is refused"
CONTENT = "contentMediaType and contentEncoding are annotations, as 2020-12 has it"
IDNA = "idn-hostname is not held: it needs the tables of IDNA 2008"
# (file, group): all cases of the group; (file, group, case): one.
LISTED = {
    ("definitions.json", "valid definition"): REMOTE,
    ("definitions.json", "invalid definition"): REMOTE,
    ("ref.json", "remote ref, containing refs itself"): REMOTE,
    ("refRemote.json", "remote ref"): REMOTE,
    ("refRemote.json", "fragment within remote ref"): REMOTE,
    ("refRemote.json", "ref within remote ref"): REMOTE,
    ("refRemote.json", "base URI change"): REMOTE,
    ("refRemote.json", "base URI change - change folder"): REMOTE,
    ("refRemote.json", "base URI change - change folder in subschema"): REMOTE,
    ("refRemote.json", "root ref in remote ref"): REMOTE,
    ("optional/content.json", "validation of string-encoded content based on media type", "an invalid JSON document"): CONTENT,
    ("optional/content.json", "validation of binary string-encoding", "an invalid base64 string (% is not a valid character)"): CONTENT,
    ("optional/content.json", "validation of binary-encoded media type documents", "a validly-encoded invalid JSON document"): CONTENT,
    ("optional/content.json", "validation of binary-encoded media type documents", "an invalid base64 string that is valid JSON"): CONTENT,
    ("optional/format/idn-hostname.json", "validation of internationalized host names", "illegal first char U+302E Hangul single dot tone mark"): IDNA,
    ("optional/format/idn-hostname.json", "validation of internationalized host names", "contains illegal char U+302E Hangul single dot tone mark"): IDNA,
    ("optional/format/idn-hostname.json", "validation of internationalized host names", "a host name with a component too long"): IDNA,
}
ITEMS = "a list under items is refused in 2020-12, which has prefixItems"
SIBLINGS = "in 2020-12 what stands beside $ref counts"
LISTED_AS_2020 = {
    ("additionalItems.json", "additionalItems as schema"): ITEMS,
    ("additionalItems.json", "array of items with no additionalItems"): ITEMS,
    ("additionalItems.json", "additionalItems are allowed by default"): ITEMS,
    ("items.json", "an array of schemas for items"): ITEMS,
    ("items.json", "items with boolean schemas"): ITEMS,
    ("ref.json", "relative pointer ref to array"): ITEMS,
    ("ref.json", "ref overrides any sibling keywords", "ref valid, maxItems ignored"): SIBLINGS,
    **LISTED,
}


def groups():
    """Every group of cases in the suite, with the name of its file."""
    for path in sorted(glob.glob(SUITE + "/**/*.json", recursive=True)):
        with open(path, encoding="utf-8") as file:
            for group in json.load(file):
                yield os.path.relpath(path, SUITE), group


def verdicts(orders):
    lines = "".join(json.dumps(order) + "\n" for order in orders)
    done = subprocess.run([CHECK], input=lines, capture_output=True, text=True, check=True)
    return [json.loads(line) for line in done.stdout.splitlines()]


@unittest.skipUnless(os.path.isdir(SUITE), "json-schema-test-suite is not installed")
class JsonSchemaTest(unittest.TestCase):
    def compare(self, prepare, listed):
        """Checks all cases, each schema put through `prepare` first."""
        suite = list(groups())
        answers = verdicts({"schema": prepare(group["schema"]), "values": [case["data"] for case in group["tests"]]} for _, group in suite)
        self.assertEqual(len(answers), len(suite))
        right, unused = 0, set(listed)
        for (file, group), answer in zip(suite, answers):
            for i, case in enumerate(group["tests"]):
                said = answer.get("error") or answer["values"][i]
                as_expected = "error" not in answer and (said is True) == case["valid"]
                names = {(file, group["description"]), (file, group["description"], case["description"])} & set(listed)
                unused -= names
                right += as_expected
                with self.subTest(file=file, group=group["description"], case=case["description"]):
                    self.assertNotEqual(as_expected, bool(names), f"said: {said}; listed: {[listed[name] for name in names]}")
        self.assertEqual(unused, set(), "listed, and not in the suite")
        self.assertGreater(right, 500)

    def test_draft_7(self):
        self.compare(lambda schema: {"$schema": DRAFT7, **schema} if isinstance(schema, dict) else schema, LISTED)

    def test_the_same_as_2020_12(self):
        self.compare(lambda schema: {key: value for key, value in schema.items() if key != "$schema"} if isinstance(schema, dict) else schema, LISTED_AS_2020)


if __name__ == "__main__":
    paddock.main()
