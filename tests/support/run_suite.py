#!/usr/bin/python3
# SPDX-FileCopyrightText: 2026 The latchd authors
# SPDX-License-Identifier: Apache-2.0
"""Runs the unittest cases of files and writes them as GoogleTest does, so that each counts.

    run_suite.py FILE... [-k PATTERN]... [--jobs N] [--gtest_output=xml:RESULTS]

Meson adds the last argument (protocol: 'gtest'). Exits 77 when every case was skipped. With --jobs
so many cases run at a time, each in a process of its own: for cases that mostly wait.
"""

import argparse
import concurrent.futures
import importlib.util
import os
import pathlib
import subprocess
import sys
import tempfile
import time
import unittest
import xml.etree.ElementTree

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import harness

SKIPPED = 77


class Result(unittest.TextTestResult):
    """Remembers name, seconds and outcome of each case."""

    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self.cases = []  # [class, method, seconds, {kind: text}]

    def startTest(self, test):
        super().startTest(test)
        self.cases.append([type(test).__name__, test._testMethodName, time.monotonic(), {}])

    def stopTest(self, test):
        super().stopTest(test)
        self.cases[-1][2] = time.monotonic() - self.cases[-1][2]

    def _note(self, test, kind, text):
        if not isinstance(test, unittest.TestCase):  # setUpClass and the like
            self.cases.append(["setup", str(test), 0.0, {}])
        self.cases[-1][3].setdefault(kind, text)

    def addFailure(self, test, error):
        super().addFailure(test, error)
        self._note(test, "failure", self._exc_info_to_string(error, test))

    def addError(self, test, error):
        super().addError(test, error)
        self._note(test, "failure", self._exc_info_to_string(error, test))

    def addSubTest(self, test, subtest, error):
        super().addSubTest(test, subtest, error)
        if error is not None:
            text = f"{subtest}\n{self._exc_info_to_string(error, test)}"
            self.cases[-1][3]["failure"] = self.cases[-1][3].get("failure", "") + text

    def addSkip(self, test, reason):
        super().addSkip(test, reason)
        self._note(test, "skipped", reason)

    def addUnexpectedSuccess(self, test):
        super().addUnexpectedSuccess(test)
        self._note(test, "failure", "was expected to fail")


def write_xml(cases, path):
    root = xml.etree.ElementTree.Element("testsuites", name="AllTests")
    suites = {}
    for group, name, seconds, outcome in cases:
        suite = suites.get(group)
        if suite is None:
            suite = suites[group] = xml.etree.ElementTree.SubElement(root, "testsuite", name=group)
        case = xml.etree.ElementTree.SubElement(
            suite, "testcase", name=name, classname=group, time=f"{seconds:.3f}", status="run")
        for kind, text in outcome.items():
            child = xml.etree.ElementTree.SubElement(case, kind, message=text[:200])
            child.text = "".join(c if c.isprintable() or c == "\n" else "?" for c in text)
    for suite in suites.values():
        suite.set("tests", str(len(suite)))
        suite.set("failures", str(len(suite.findall("testcase/failure"))))
    xml.etree.ElementTree.ElementTree(root).write(path, encoding="utf-8", xml_declaration=True)


def load(paths, patterns):
    loader = unittest.TestLoader()
    if patterns:
        loader.testNamePatterns = [p if "*" in p else f"*{p}*" for p in patterns]
    suite = unittest.TestSuite()
    for path in paths:
        sys.path.insert(0, str(path.parent))
        spec = importlib.util.spec_from_file_location(path.stem, path)
        module = importlib.util.module_from_spec(spec)
        sys.modules[path.stem] = module
        spec.loader.exec_module(module)
        suite.addTests(loader.loadTestsFromModule(module))
    return suite


def all_cases(suite):
    for each in suite:
        if isinstance(each, unittest.TestSuite):
            yield from all_cases(each)
        else:
            yield each


def run_alone(files, case):
    """Runs one case in a process of its own; returns its rows for write_xml."""
    group, name = type(case).__name__, case._testMethodName
    began = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="latchd-case-") as folder:
        path = pathlib.Path(folder) / "results.xml"
        ran = subprocess.run(
            [sys.executable, __file__, *map(str, files), "-k", f"*{case.id()}",
             f"--gtest_output=xml:{path}"],
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace",
            env=dict(os.environ) | {"LATCHD_TEST_SEED": str(harness.SEED)}, check=False)
        rows = []
        if path.is_file():
            for row in xml.etree.ElementTree.parse(path).getroot().iter("testcase"):
                outcome = {child.tag: child.text or "" for child in row}
                rows.append([row.get("classname"), row.get("name"), float(row.get("time")), outcome])
    if not rows or (ran.returncode not in (0, SKIPPED)
                    and not any("failure" in row[3] for row in rows)):
        rows.append([group, name, time.monotonic() - began,
                     {"failure": f"its process ended with {ran.returncode}"}])
    print(ran.stdout.strip(), flush=True)
    return rows


def run_side_by_side(files, suite, jobs):
    """Returns (rows, whether all is well)."""
    cases = list(all_cases(suite))
    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        rows = [row for rows in pool.map(lambda case: run_alone(files, case), cases)
                for row in rows]
    bad = [row for row in rows if "failure" in row[3]]
    for row in rows:
        word = "FAILED" if row in bad else "skipped" if row[3] else "ok"
        print(f"{row[0]}.{row[1]} ... {word} ({row[2]:.1f} s)")
    print(f"{len(rows)} cases, {len(bad)} failed", flush=True)
    return rows, not bad


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("files", type=lambda text: pathlib.Path(text).resolve(), nargs="+")
    parser.add_argument("-k", dest="patterns", action="append", metavar="PATTERN")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--gtest_output", metavar="xml:FILE")
    args = parser.parse_args()

    print(f"seed: LATCHD_TEST_SEED={harness.SEED}", flush=True)
    suite = load(args.files, args.patterns)
    if args.jobs > 1:
        rows, is_good = run_side_by_side(args.files, suite, args.jobs)
    else:
        runner = unittest.TextTestRunner(stream=sys.stdout, verbosity=2, resultclass=Result)
        result = runner.run(suite)
        rows, is_good = result.cases, result.wasSuccessful()
    if args.gtest_output:
        write_xml(rows, args.gtest_output.removeprefix("xml:"))
    if not is_good:
        sys.exit(1)
    if not rows:
        sys.exit("no case was found")
    sys.exit(SKIPPED if all("skipped" in row[3] for row in rows) else 0)


if __name__ == "__main__":
    main()
