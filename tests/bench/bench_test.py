# SPDX-FileCopyrightText: 2026 The latchd authors
# SPDX-License-Identifier: Apache-2.0
"""Cases of tools/bench that do more than put load on a server, with few of each."""

import os
import re

import bench_cases
import bench_many
import bench_pauses
import bench_peers
import harness

LOAD = os.environ.get("LATCHD_LOAD", "")


@harness.unittest.skipIf(not LOAD, "LATCHD_LOAD names the load generator")
class Bench(bench_peers.Peers):
    def setUp(self):
        super().setUp()
        self.cases = bench_cases.Cases(self, LOAD, rounds=1, seconds=0.2)

    def assert_figure(self, row, pattern=r"^[\d,.]+$"):
        self.assertRegex(row.ours, pattern)
        self.assertGreater(float(row.ours.replace(",", "")), 0)

    def test_waiters_are_spread_over_nodes_where_one_has_too_few_files(self):
        many = bench_many.Many(self.cases)
        row = many.measured("waiters", 50, many.wait, many.hold_and_sit, most=20)
        self.assertIn("50 waiters on 3 nodes", row.figure)
        self.assert_figure(row)

    def test_two_loops_are_measured_against_one(self):
        rows = self.cases.threads()
        self.assertEqual(len(rows), 3)
        for row in rows:
            self.assert_figure(row)
            self.assertGreater(row.ratio, 0)

    def test_the_depth_of_batches_is_a_distribution(self):
        redis = self.redis()
        node = self.node(redis, "a")
        peer = bench_peers.Peer("ours", "latchd", [node.port], {}, redis, node)
        runs = [peer.load(LOAD, connections=20, seconds=0.3, warm=0.1) for _ in range(2)]
        row = self.cases.batches(20, runs)
        self.assert_figure(row)
        shares = [float(share) for share in re.findall(r": ([\d.]+) %", row.note)]
        self.assertGreater(len(shares), 1)
        self.assertAlmostEqual(sum(shares), 100, delta=1)

    def pauses(self):
        pauses = bench_pauses.Pauses(self.cases)
        pauses.calm, pauses.before, pauses.out, pauses.after = 1, 0.5, 1.5, 1
        return pauses

    def test_the_herd_after_a_stores_return_is_measured(self):
        pauses = self.pauses()
        settings = {"poll": 50_000, "wait": 5_000, "locks": 20}
        row = pauses.herd("20 clients", 20, settings, pauses.stand_still, "Redis stands still")
        self.assert_figure(row)
        longest = float(re.search(r"longest LOCK ([\d.]+) s", row.note).group(1))
        self.assertGreater(longest, pauses.out - 0.2)

    def assert_all_carried(self, row):
        self.assert_figure(row)
        self.assertIn("of 30 locks that were looked at, another node renews 30, 30 have", row.note)

    @harness.needs("mariadbd")
    def test_a_change_of_epoch_is_measured_with_what_it_carries(self):
        for row in self.pauses().epochs_of_a_fleet(300):
            self.assert_all_carried(row)

    def test_a_restart_of_redis_alone_is_measured_with_what_it_carries(self):
        self.assert_all_carried(self.pauses().epoch_of_redis_alone(300))


if __name__ == "__main__":
    harness.unittest.main()
