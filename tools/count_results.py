#!/usr/bin/python3
# SPDX-FileCopyrightText: 2026 The latchd authors
# SPDX-License-Identifier: Apache-2.0
"""Counts what passed and failed in the build folders named, ending in `N passed, N failed`.

A GoogleTest program counts by its cases, any other test as one. A program that failed without a
failed case (a crash, a time-out, a leak, a report of a sanitizer at exit) counts as one failure
more, and so does a folder without results. Exits 1 when something failed or nothing passed.
"""

import argparse
import json
import pathlib
import sys
import xml.etree.ElementTree

GOOD = ("OK", "EXPECTEDFAIL")
SKIPPED = "SKIP"


class Count:
    def __init__(self):
        self.passed = 0
        self.failed = 0
        self.skipped = 0
        self.remarks = []

    def fail(self, remark):
        self.failed += 1
        self.remarks.append(f"failed: {remark}")

    def skip(self, remark):
        self.skipped += 1
        self.remarks.append(f"skipped: {remark}")


def plain(name):
    """Returns a test's own name: Meson writes `latchd:unit / table`."""
    return name.split(" / ")[-1]


def find_log(logs):
    """The log of the last run: with a wrapper, Meson puts the wrapper's name into the log's."""
    found = sorted(logs.glob("testlog*.json"))
    if len(found) != 1:
        raise FileNotFoundError(f"{len(found)} logs in {logs}")
    return found[0]


def read_cases(path):
    """Returns {program: [(case, "passed" | "failed" | "skipped")]} of Meson's JUnit file."""
    programs = {}
    for suite in xml.etree.ElementTree.parse(path).getroot().iter("testsuite"):
        # Meson names a program's suites PROJECT.PROGRAM.SUITE, and all others together PROJECT.
        parts = suite.get("name", "").split(".", 2)
        if len(parts) < 3:
            continue
        for case in suite.iter("testcase"):
            result = "passed"
            if case.find("failure") is not None or case.find("error") is not None:
                result = "failed"
            elif case.find("skipped") is not None or case.get("status") == "notrun":
                result = "skipped"
            programs.setdefault(plain(parts[1]), []).append((f"{parts[2]}.{case.get('name')}", result))
    return programs


def count_program(count, label, result, cases):
    failed_before = count.failed
    for case, outcome in cases:
        if outcome == "passed":
            count.passed += 1
        elif outcome == "failed":
            count.fail(f"{label}: {case}")
        else:
            count.skip(f"{label}: {case}")
    if result == SKIPPED:
        if not cases:
            count.skip(label)
    elif result not in GOOD:
        if count.failed == failed_before:
            count.fail(f"{label}: {result}")
    elif not cases:
        count.passed += 1


def count_folder(count, folder):
    logs = folder / "meson-logs"
    try:
        log = find_log(logs)
        lines = log.read_text(encoding="utf-8").splitlines()
        cases = read_cases(log.with_suffix(".junit.xml"))
    except (OSError, xml.etree.ElementTree.ParseError) as error:
        count.fail(f"{folder.name}: no results ({error})")
        return
    seen = set()
    for line in lines:
        test = json.loads(line)
        name = plain(test["name"])
        if name in seen:
            # Programs write their results to NAME.xml: two of one name hide each other.
            count.fail(f"{folder.name}: two tests are called {name}")
        seen.add(name)
        count_program(count, f"{folder.name}: {name}", test["result"], cases.get(name, []))


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--failed-step", action="append", default=[], metavar="NAME",
                        help="a step outside the suites that failed, such as a build")
    parser.add_argument("folders", type=pathlib.Path, nargs="*")
    args = parser.parse_args()

    count = Count()
    for folder in args.folders:
        count_folder(count, folder)
    for step in args.failed_step:
        count.fail(step)
    print("\n".join(count.remarks + [f"{count.passed} passed, {count.failed} failed"]))
    sys.exit(1 if count.failed or not count.passed else 0)


if __name__ == "__main__":
    main()
