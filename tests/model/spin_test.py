#!/usr/bin/python3
# SPDX-FileCopyrightText: 2026 The latchd authors
# SPDX-License-Identifier: Apache-2.0
"""Checks docs/authority.pml with spin: each shape of a fleet keeps what is promised, and each rule
that is left out breaks it (docs/model.md).

LATCHD_TEST_FULL=1 adds the shapes that take minutes.
"""

import pathlib
import re
import shutil
import subprocess
import tempfile
import unittest

import harness

MODEL = harness.ROOT / "docs/authority.pml"
QUIET = {"JOINS": 0, "FAULTS": 0, "LOSSES": 0}  # two nodes, nothing fails but the votes
SHORT = {"EPOCHS": 2, "MOVES": 1}
SECONDS = 240

# What the text of a violated assertion is about.
PROPERTIES = {
    "serving[0]": "no epoch is stuck",
    "held[i]==0": "exclusion",
    ">top": "fences rise",
    "fresh[epoch]": "no grant in a former epoch",
    ">=given[i]": "what was handed over is there",
    "<record[n]": "a late holder keeps its lock",
}

# Each rule that can be left out: where that shows soonest.
OMISSIONS = {
    "NO_HANDOVER": {**QUIET, **SHORT},
    "NO_ACK_WAIT": {**QUIET, **SHORT},
    "NO_NONCE": QUIET,
    "DROP_UNOPENED_CLAIMS": {**QUIET, "AVAILABLE": 1},
    "NO_EPOCH_CHECK": {**QUIET, **SHORT, "FAULTS": 1},
    "NO_IDENTITY": {**QUIET, **SHORT, "FAULTS": 1},
    "OPEN_BLIND": {**QUIET, **SHORT, "LOSSES": 1},
    "ACK_BEFORE_ASSERT": {**QUIET, **SHORT, "LOSSES": 1},
    "FORGET_OWED": QUIET,
    "NO_EVIDENCE": {**QUIET, "EPOCHS": 2, "MOVES": 0, "FAULTS": 1},
    "NEW_FENCE": {**QUIET, **SHORT, "JOINS": 1},
}


class Found:
    """What pan says about one shape."""

    def __init__(self, text):
        self.text = text
        self.errors = int(re.search(r"errors: (\d+)", text).group(1))
        self.states = int(re.search(r"(\d+) states, stored", text).group(1))
        self.is_complete = "Search not completed" not in text and "max search depth" not in text
        violated = re.search(r"assertion violated (.*) \(at depth", text)
        self.broken = None
        if violated:
            expression = violated.group(1).replace(" ", "")
            self.broken = next((name for part, name in PROPERTIES.items() if part in expression),
                               expression)


class Model(unittest.TestCase):
    def check(self, **shape):
        """Searches all that can happen in this shape."""
        with tempfile.TemporaryDirectory(prefix="latchd-model-") as folder:
            defines = [f"-D{name}={value}" for name, value in shape.items()]
            for command in (["spin", *defines, "-a", str(MODEL)],
                            ["gcc", "-O2", "-w", "-DSAFETY", "-DBITSTATE", "-o", "pan", "pan.c"]):
                done = subprocess.run(command, cwd=folder, capture_output=True, text=True,
                                      timeout=SECONDS, check=False)
                self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
            # 2^28 bits are 32 MB, some ten of them for each state.
            size = "-w31" if harness.FULL else "-w28"
            pan = subprocess.run([pathlib.Path(folder, "pan"), "-m100000", size], cwd=folder,
                                 capture_output=True, text=True, check=False,
                                 timeout=SECONDS * (20 if harness.FULL else 1))
        found = Found(pan.stdout)
        print(f"{' '.join(defines)}: {found.states} states, {found.errors} errors"
              f"{', broken: ' + found.broken if found.broken else ''}", flush=True)
        return found

    def check_holds(self, **shape):
        found = self.check(**shape)
        self.assertEqual(found.errors, 0, found.text)
        self.assertTrue(found.is_complete, found.text)

    def setUp(self):
        for program in ("spin", "gcc"):
            if not shutil.which(program):
                self.skipTest(f"no {program}")

    def test_three_epochs_of_two_nodes_keep_a_strict_lock(self):
        self.check_holds(**QUIET)

    def test_what_was_handed_over_is_there_when_an_epoch_opens(self):
        self.check_holds(**QUIET, AVAILABLE=1)

    def test_a_lost_node_and_a_redis_that_loses_its_locks_together(self):
        self.check_holds(**SHORT, JOINS=0)

    def test_every_rule_is_missed_when_it_is_left_out(self):
        for omission, shape in OMISSIONS.items():
            with self.subTest(omission):
                found = self.check(**shape, **{omission: 1})
                self.assertEqual(found.errors, 1, found.text)
                self.assertIn(found.broken, PROPERTIES.values(), found.text)

    @unittest.skipUnless(harness.FULL, "minutes: LATCHD_TEST_FULL=1")
    def test_larger_shapes(self):
        for shape in ({"JOINS": 0, "FAULTS": 0}, {"JOINS": 0, "LOSSES": 0},
                      {"JOINS": 0, "FAULTS": 0, "AVAILABLE": 1},
                      {**SHORT, "FAULTS": 0, "LOSSES": 0}):
            with self.subTest(str(shape)):
                self.check_holds(**shape)


if __name__ == "__main__":
    unittest.main()
