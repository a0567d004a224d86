# SPDX-FileCopyrightText: 2026 The latchd authors
# SPDX-License-Identifier: Apache-2.0
"""A store that is slow by design, with waits and leases of the same size: no ghosts."""

import threading
import time
import unittest
from random import Random

from fault_case import FaultCase
from harness import FULL


class SlowStore(FaultCase):
    def cycles(self, delay_ms, count, clients, ttls, waits, locks=12):
        """LOCK and UNLOCK against a store that answers after about twice the delay."""
        redis = self.redis()
        gate = self.gate(redis)
        nodes = [self.node(gate, "a"), self.node(gate, "b")]
        gate.delay(delay_ms)
        left = [count]
        guard = threading.Lock()

        def run(actor, seed):
            random = Random(seed)
            while True:
                with guard:
                    left[0] -= 1
                    if left[0] < 0:
                        return
                name = str(random.randrange(locks))
                grant = actor.lock("slow", name, PX=random.choice(ttls), WAIT=random.choice(waits),
                                   may_say=("ERR PX",))
                if isinstance(grant, list):
                    if random.random() < 0.3:  # works for so long, now and then past its lease
                        time.sleep(random.choice(ttls) / 1000 * random.random() * 1.5)
                    actor.unlock("slow", name, grant[0])

        threads = [threading.Thread(target=run, args=(self.actor(nodes[i % 2], f"client{i}"),
                                                      self.random.randrange(1 << 30)))
                   for i in range(clients)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        gate.pass_all()
        self.fault_is_over()
        granted = len(self.history.grants())
        self.assertGreater(granted, count / 20, "not the load that is meant")
        self.assert_no_ghosts(nodes, redis)
        self.assert_all_is_well(nodes, redis)

    def test_five_milliseconds(self):
        self.cycles(5, 20_000 if FULL else 2000, 24, ttls=(100, 110, 150, 300),
                    waits=(0, 1, 5, 20, 60))

    def test_fifty_milliseconds(self):
        self.cycles(50, 10_000 if FULL else 1000, 40, ttls=(150, 200, 300, 600),
                    waits=(0, 1, 50, 100, 200), locks=60)

    def test_two_hundred_milliseconds(self):
        self.cycles(200, 3000 if FULL else 300, 40, ttls=(100, 400, 500, 1000),
                    waits=(0, 100, 400, 800), locks=40)


if __name__ == "__main__":
    unittest.main()
