# SPDX-FileCopyrightText: 2026 The latchd authors
# SPDX-License-Identifier: Apache-2.0
"""Moves the clocks of a process of a test, while it runs (clock_shift.cpp).

    clock = ClockShift(folder)
    redis = case.redis(environment=clock.environment)
    clock.step(-60)
"""

import os
import pathlib
import struct
import unittest

LIBRARY = os.environ.get("LATCHD_CLOCK_SHIFT")
_FORM = "=qqq"  # nanoseconds of CLOCK_REALTIME, CLOCK_MONOTONIC, CLOCK_BOOTTIME


class ClockShift:
    """One file of offsets; several processes may share it."""

    def __init__(self, folder, name="clock"):
        if not LIBRARY or not pathlib.Path(LIBRARY).is_file():
            raise unittest.SkipTest("LATCHD_CLOCK_SHIFT names no library")
        self._path = pathlib.Path(folder) / name
        self._offsets = [0, 0, 0]
        self._path.write_bytes(struct.pack(_FORM, 0, 0, 0))

    @property
    def environment(self):
        return {"LD_PRELOAD": str(pathlib.Path(LIBRARY).resolve()),
                "LATCHD_TEST_CLOCK": str(self._path)}

    def _add(self, seconds, *which):
        for each in which:
            self._offsets[each] += round(seconds * 1e9)
        with open(self._path, "r+b", buffering=0) as file:
            file.write(struct.pack(_FORM, *self._offsets))

    def step(self, seconds):
        """The wall clock is so much later (earlier) from now on."""
        self._add(seconds, 0)

    def skip(self, seconds):
        """A pause of so long that ends now was not seen by any clock, as in a stopped guest."""
        self._add(-seconds, 0, 1, 2)
