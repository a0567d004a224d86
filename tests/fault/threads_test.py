# SPDX-FileCopyrightText: 2026 The latchd authors
# SPDX-License-Identifier: Apache-2.0
"""Loops of one process are nodes: what two hosts survive, they survive, too."""

import unittest

from fleet_case import FleetCase
from harness import FULL, SLOWNESS


class EmbeddedLoops(FleetCase):
    """One table, two loops, clients that use both and send again what is not answered."""

    def start(self, *arguments):
        self.node_ = self.latchd("--threads", "2", "--log-level", "info", *arguments)
        self.fleet = [self.node_, self.node_]  # twice: a retry is a connection to either loop
        self.history.strict = set(self.resources)

    def judge(self):
        self.fault_is_over()
        self.crowds[-1].wait_for_grants(60)
        self.crowds[-1].stop()
        self.assert_all_is_well([self.node_])

    def test_a_crowd_is_kept_apart(self):
        self.start()
        crowd = self.crowd(24, locks=4)
        crowd.wait_for_grants(3000 if FULL else 600, deadline=60 * SLOWNESS)
        self.judge()

    def test_a_paused_process_loses_nothing(self):
        self.start()
        crowd = self.crowd(24, locks=4)
        for _ in range(5 if FULL else 2):
            crowd.wait_for_grants(100)
            self.pause(self.node_)
            self.some_time(0.5, 2.5)
            self.resume(self.node_)
        self.judge()

    def test_killed_and_started_again_with_any_number_of_loops(self):
        self.start()
        crowd = self.crowd(24, locks=8)
        for threads in ("2", "3", "1", "2") if FULL else ("3", "1"):
            crowd.wait_for_grants(150)
            self.some_time(0, 0.3)
            self.node_.kill()
            self.node_.arguments[self.node_.arguments.index("--threads") + 1] = threads
            self.node_.restart()
        self.judge()


class FleetOfLoops(FleetCase):
    """Two processes of two loops each: four nodes."""

    count = 2

    def test_redis_is_killed(self):
        self.start_fleet(extra="threads: 2\n")
        with self.under_load():
            self.redis_.kill()
            self.fleet.wait_for_tier("mysql", deadline=10 * SLOWNESS)
        self.assert_held_locks_go_on()
        self.assert_fleet_is_well()

    def test_a_process_is_killed_and_is_back(self):
        self.start_fleet(extra="threads: 2\n")
        with self.under_load():
            self.fleet["b"].kill()
            self.some_time(0, 0.5)
            self.fleet["b"].restart()
            self.fleet.wait_for_tier("redis", deadline=10 * SLOWNESS)
        self.assert_held_locks_go_on()
        self.assert_fleet_is_well()


if __name__ == "__main__":
    unittest.main()
