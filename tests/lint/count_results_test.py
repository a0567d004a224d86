#!/usr/bin/python3
# SPDX-FileCopyrightText: 2026 The latchd authors
# SPDX-License-Identifier: Apache-2.0
"""The count of results never takes a crash, a missing log or a skipped test for a pass."""

import json
import pathlib
import sys
import tempfile
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "tools"))
import count_results

CASES = """<testsuites>
<testsuite name="latchd.latchd:unit / table.Grants"><testcase name="a"/><testcase name="b"/></testsuite>
<testsuite name="latchd.latchd:unit / table.Ends"><testcase name="c"/>{extra}</testsuite>
<testsuite name="latchd"><testcase name="check_layers"/></testsuite>
</testsuites>"""
FAILED_CASE = '<testcase name="d"><failure message="no"/></testcase>'
SKIPPED_CASE = '<testcase name="d" status="run"><skipped message="no server"/></testcase>'


class CountResults(unittest.TestCase):
    def count(self, results, extra="", cases=CASES, log="testlog"):
        """Returns (passed, failed, skipped) for {test: Meson's result}."""
        with tempfile.TemporaryDirectory() as name:
            logs = pathlib.Path(name) / "meson-logs"
            logs.mkdir()
            lines = [json.dumps({"name": test, "result": result}) for test, result in results]
            (logs / f"{log}.json").write_text("\n".join(lines), encoding="utf-8")
            (logs / f"{log}.junit.xml").write_text(cases.format(extra=extra), encoding="utf-8")
            count = count_results.Count()
            count_results.count_folder(count, pathlib.Path(name))
        return count.passed, count.failed, count.skipped

    def test_a_run_behind_a_wrapper_counts(self):
        self.assertEqual(self.count([("table", "OK")], log="testlog-setarch"), (3, 0, 0))

    def test_cases_of_a_program_and_other_tests_are_added(self):
        self.assertEqual(self.count([("table", "OK"), ("latchd:lint / check_layers", "OK")]),
                         (4, 0, 0))

    def test_a_failed_case_counts_once(self):
        self.assertEqual(self.count([("table", "FAIL")], FAILED_CASE), (3, 1, 0))

    def test_a_program_that_fails_with_good_cases_counts_as_one_failure(self):
        for result in ("FAIL", "ERROR", "TIMEOUT", "INTERRUPT"):
            self.assertEqual(self.count([("table", result)]), (3, 1, 0))

    def test_a_program_without_cases_counts_by_its_result(self):
        for result, wanted in [("OK", (1, 0, 0)), ("TIMEOUT", (0, 1, 0)), ("SKIP", (0, 0, 1))]:
            self.assertEqual(self.count([("other", result)]), wanted)

    def test_a_skipped_case_is_no_pass(self):
        self.assertEqual(self.count([("table", "OK")], SKIPPED_CASE), (3, 0, 1))

    def test_two_tests_of_one_name_are_a_failure(self):
        self.assertEqual(self.count([("other", "OK"), ("other", "OK")]), (2, 1, 0))

    def test_a_folder_without_results_is_a_failure(self):
        count = count_results.Count()
        count_results.count_folder(count, pathlib.Path("/nonexistent"))
        self.assertEqual((count.passed, count.failed), (0, 1))


if __name__ == "__main__":
    unittest.main()
