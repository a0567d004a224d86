# SPDX-FileCopyrightText: 2026 The latchd authors
# SPDX-License-Identifier: Apache-2.0
"""tools/bench_failover: its rows have figures, of a fleet and of the simulator."""

import importlib.machinery
import importlib.util
import os
import pathlib
import re
import subprocess
import sys

import harness

TOOL = pathlib.Path(harness.ROOT / "tools/bench_failover")
ROW = re.compile(r"^\| (.*) \| (\d+) \| ([\d.]+).* \| ([\d.]+).* \| ([\d.]+) \| (\d+) of (\d+).* \| "
                 r"(\d+) \|$", re.M)


class BenchFailover(harness.Case):
    def rows(self, only):
        ran = subprocess.run([sys.executable, str(TOOL), "--nodes", "3", "--runs", "1", "-k", only],
                             env=os.environ | {"LATCHD_TEST_FULL": "0"}, capture_output=True,
                             text=True, timeout=200, check=False)
        self.assertEqual(ran.returncode, 0, ran.stdout + ran.stderr)
        return ROW.findall(ran.stdout)

    def test_a_node_killed_with_redis_is_measured_for_both_kinds_of_resources(self):
        [row] = self.rows("one node")
        self.assertEqual(row[:2], ("Redis and one node are killed: into MySQL", "3"))
        available, strict = float(row[2]), float(row[3])
        self.assertGreater(available, 0)
        self.assertGreater(strict, available)
        # The others' locks, and what they renewed of that node's.
        self.assertGreaterEqual(int(row[7]), 667)

    def test_what_the_simulator_says_becomes_rows(self):
        said = ("nodes 2, killed Redis, first grant of available 731 ms, of strict 732 ms\n"
                "nodes 100, killed Redis and a node, first grant of available 1500 ms, of strict "
                "21000 ms, in more than one epoch\n")
        loader = importlib.machinery.SourceFileLoader("bench_failover", str(TOOL))
        spec = importlib.util.spec_from_loader("bench_failover", loader)
        tool = importlib.util.module_from_spec(spec)
        before, sys.argv = sys.argv, ["bench_failover"]
        self.addCleanup(setattr, sys, "argv", before)
        loader.exec_module(tool)
        self.assertEqual(
            tool.simulated(said),
            ["| simulated: Redis killed | 2 | 0.73 | 0.73 | | | |",
             "| simulated: Redis and a node killed, in more than one epoch | 100 | 1.50 | 21.00 | "
             "| | |"])


if __name__ == "__main__":
    harness.unittest.main()
