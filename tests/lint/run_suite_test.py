#!/usr/bin/python3
# SPDX-FileCopyrightText: 2026 The latchd authors
# SPDX-License-Identifier: Apache-2.0
"""What the runner of the Python suites writes is what happened, and processes end with their test."""

import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest
import xml.etree.ElementTree

RUNNER = pathlib.Path(__file__).resolve().parents[1] / "support/run_suite.py"

MIXED = """
import unittest
class Mixed(unittest.TestCase):
    def test_good(self): pass
    def test_bad(self): self.fail("on purpose")
    def test_broken(self): raise ValueError("on purpose")
    def test_part(self):
        for number in range(3):
            with self.subTest(number=number): self.assertNotEqual(number, 1)
    def test_skipped(self): self.skipTest("on purpose")
class SetUp(unittest.TestCase):
    @classmethod
    def setUpClass(cls): raise OSError("on purpose")
    def test_never(self): pass
"""

SKIPPED = """
import unittest
class All(unittest.TestCase):
    def test_skipped(self): self.skipTest("on purpose")
"""

DIES = """
import os, unittest
class Dies(unittest.TestCase):
    def test_good(self): pass
    def test_dies(self): os._exit(0)
"""

LEAVES = """
import harness, subprocess
class Leaves(harness.Case):
    def test_fails_with_a_process(self):
        program = self.add(harness.Program("sleep", self.folder / "p"))
        program.spawn(["sleep", "600"])
        print("pid is", program.pid, "folder is", self.folder, flush=True)
        self.fail("on purpose")
"""


class RunSuite(unittest.TestCase):
    def run_text(self, text, *arguments):
        """Returns (exit code, {case: outcome}, what was printed)."""
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "some_test.py"
            path.write_text(text, encoding="utf-8")
            results = pathlib.Path(folder) / "some.xml"
            done = subprocess.run([sys.executable, str(RUNNER), str(path), *arguments,
                                   f"--gtest_output=xml:{results}"],
                                  capture_output=True, text=True, timeout=60, check=False)
            cases = {}
            for case in xml.etree.ElementTree.parse(results).iter("testcase"):
                kinds = [child.tag for child in case]
                cases[case.get("name").split(" ")[0]] = kinds[0] if kinds else "passed"
            return done.returncode, cases, done.stdout + done.stderr

    def test_each_outcome_is_written(self):
        code, cases, _ = self.run_text(MIXED)
        self.assertEqual(code, 1)
        self.assertEqual(cases, {
            "test_good": "passed", "test_bad": "failure", "test_broken": "failure",
            "test_part": "failure", "test_skipped": "skipped", "setUpClass": "failure"})

    def test_cases_side_by_side_are_written_as_they_are_one_by_one(self):
        code, cases, _ = self.run_text(MIXED, "--jobs", "3")
        self.assertEqual(code, 1)
        self.assertEqual(cases, self.run_text(MIXED)[1])
        self.assertEqual(self.run_text(SKIPPED, "--jobs", "3")[0], 77)

    def test_a_case_whose_process_dies_has_failed(self):
        code, cases, _ = self.run_text(DIES, "--jobs", "2")
        self.assertEqual((code, cases), (1, {"test_good": "passed", "test_dies": "failure"}))

    def test_a_suite_of_skipped_cases_is_skipped(self):
        self.assertEqual(self.run_text(SKIPPED)[0], 77)

    def test_what_a_failed_test_started_is_ended_and_its_seed_shown(self):
        code, cases, printed = self.run_text(LEAVES)
        self.assertEqual((code, cases), (1, {"test_fails_with_a_process": "failure"}))
        pid, folder = re.search(r"pid is (\d+) folder is (\S+)", printed).groups()
        self.assertFalse(os.path.exists(f"/proc/{pid}"))
        self.assertFalse(os.path.exists(folder))
        self.assertRegex(printed, r"LATCHD_TEST_SEED=\d+")


if __name__ == "__main__":
    unittest.main()
