# SPDX-FileCopyrightText: 2026 The latchd authors
# SPDX-License-Identifier: Apache-2.0
"""The checker finds what is planted, and nothing in a good history."""

import pathlib
import tempfile
import unittest

from history import History, Operation
from resp_client import Error

LOCK = ("order", "1")


def grant(called, returned, fence, ttl_ms=1000, token=None, **options):
    token = token or b"t%d" % fence
    return Operation("LOCK", LOCK, called, returned, [token, fence, ttl_ms, 1, b"redis"],
                     options=options)


def unlock(called, returned, token, reply=1):
    return Operation("UNLOCK", LOCK, called, returned, reply, token=token)


def refused(called, returned):
    return Operation("LOCK", LOCK, called, returned, None)


def complaints(*operations, told=(), faults_ended=0.0, **options):
    history = History()
    history.faults_ended = faults_ended
    for operation in operations:
        history.add(operation)
    for each in told:
        history.hear(*each)
    return history.complaints(**options)


class Checker(unittest.TestCase):
    def assert_finds(self, start, *operations, **options):
        found = complaints(*operations, **options)
        self.assertEqual(len(found), 1, found)
        self.assertIn(start, found[0])

    def assert_is_good(self, *operations, **options):
        self.assertEqual(complaints(*operations, **options), [])

    def test_a_planted_double_grant_is_found(self):
        self.assert_finds("granted twice", grant(0, 0.01, 1), grant(0.5, 0.51, 2))

    def test_a_double_grant_inside_a_longer_one_is_found(self):
        self.assert_finds("granted twice", grant(0, 0.01, 1, 5000), grant(1, 1.01, 2, 5000),
                          unlock(1.2, 1.21, b"t2"))

    def test_a_double_grant_during_a_renewed_lease_is_found(self):
        self.assert_finds("granted twice", grant(0, 0.01, 1),
                          Operation("RENEW", LOCK, 0.9, 0.91, 1000, token=b"t1"),
                          grant(1.5, 1.51, 2))

    def test_a_double_grant_of_a_kept_lock_is_found(self):
        self.assert_finds("granted twice", grant(0, 0.01, 1, KEEP=True), grant(9, 9.01, 2))

    def test_a_loss_that_is_told_first_excuses(self):
        self.assert_is_good(grant(0, 0.01, 1, KEEP=True), grant(9, 9.01, 2),
                            told=[("lost", LOCK, 1, 8.9)])

    def test_a_loss_that_is_told_excuses_nothing_of_a_strict_lock(self):
        history = History()
        history.faults_ended = 0.0
        history.strict = {"order"}
        for each in (grant(0, 0.01, 1, KEEP=True), grant(9, 9.01, 2)):
            history.add(each)
        history.hear("lost", LOCK, 1, 8.9)
        self.assertEqual(len(history.complaints()), 1)

    def test_a_loss_that_is_told_late_excuses_only_where_it_may(self):
        history = [grant(0, 0.01, 1, KEEP=True), grant(9, 9.01, 2)]
        told = [("lost", LOCK, 1, 9.5)]
        self.assert_finds("granted twice", *history, told=told)
        self.assert_is_good(*history, told=told, losses_are_told_late=1.0)
        self.assert_finds("granted twice", *history, told=told, losses_are_told_late=0.4)

    def test_one_lock_after_the_other_is_good(self):
        self.assert_is_good(grant(0, 0.01, 1), unlock(0.2, 0.21, b"t1"), grant(0.21, 0.22, 2),
                            grant(1.3, 1.31, 3))

    def test_a_grant_that_comes_while_the_unlock_is_under_way_is_good(self):
        self.assert_is_good(grant(0, 0.01, 1), unlock(0.2, 0.4, b"t1"),
                            grant(0.1, 0.3, 2, WAIT=500))

    def test_a_fence_that_falls_or_stays_is_found(self):
        self.assert_finds("the fence fell", grant(0, 0.01, 7), unlock(0.2, 0.21, b"t7"),
                          grant(0.5, 0.51, 6))
        self.assert_finds("the fence fell", grant(0, 0.01, 7), unlock(0.2, 0.21, b"t7"),
                          grant(0.5, 0.51, 7, token=b"other"))

    def test_a_fence_of_a_grant_that_was_under_way_at_the_same_time_may_be_smaller(self):
        self.assert_is_good(grant(0, 0.6, 7, WAIT=500), unlock(0.61, 0.62, b"t7"),
                            grant(0.1, 0.3, 6), unlock(0.4, 0.5, b"t6"))

    def test_one_request_that_was_sent_twice_is_one_grant(self):
        self.assert_is_good(grant(0, 0.01, 1, token=b"t", REQ="r"),
                            grant(0.3, 0.31, 1, token=b"t", REQ="r"))

    def test_a_stuck_lock_is_found(self):
        self.assert_finds("stuck", grant(0, 0.01, 1, 60_000), unlock(0.2, 0.21, b"t1"),
                          refused(3, 3.01))
        self.assert_finds("stuck", Operation("LOCK", LOCK, 0, 2, Error("UNCERTAIN max_ms=1 req=a")),
                          refused(4.5, 4.51))

    def test_a_lock_that_may_be_held_is_not_stuck(self):
        self.assert_is_good(grant(0, 0.01, 1, 60_000), refused(3, 3.01))
        self.assert_is_good(Operation("LOCK", LOCK, 0, 2, Error("UNCERTAIN max_ms=1 req=a")),
                            refused(4.5, 4.51), faults_ended=3.0)

    def test_a_late_answer_is_found(self):
        self.assert_finds("took", grant(0, 2.5, 1))
        self.assert_is_good(grant(0, 2.5, 1, WAIT=500))

    def test_a_late_answer_of_a_node_that_stood_still_is_no_complaint(self):
        history = History()
        history.faults_ended = 0.0
        history.add(grant(0, 5, 1))
        history.operations[0].node = "a"
        self.assertEqual(len(history.complaints()), 1)
        history.pauses.append(("b", 0, 5))
        self.assertEqual(len(history.complaints()), 1, "another node")
        history.pauses.append(("a", 0.5, 4.0))
        self.assertEqual(history.complaints(), [])

    def test_a_double_grant_in_a_stated_case_is_counted_and_its_overlap_told(self):
        history = History()
        history.faults_ended = 0.0
        for each in (grant(0, 0.01, 7), grant(0.4, 0.45, 6)):
            history.add(each)
        history.allow("(b)", "another")
        self.assertEqual(len(history.complaints()), 2, "another resource's case")
        history.allow("(a)", "order")
        self.assertEqual(history.complaints(), [])
        self.assertEqual(history.excuses(), [
            "case (a): 1 locks held twice, for at most 0.550 s; 1 fences fell",
            "case (b): 0 locks held twice, for at most 0.000 s; 0 fences fell"])

    def test_a_double_grant_that_a_crowd_wrote_is_found(self):
        lines = ("LOCK pay 3 c1 0 1000000 1010000 - r1 500 2000 G tok1 9 1950 1 redis",
                 "RENEW pay 3 c1 1 1500000 1510000 tok1 r1 0 2000 I 2000",
                 "LOCK pay 3 c2 1 3000000 3010000 - r2 0 2000 G tok2 10 1950 1 mysql",
                 "UNLOCK pay 3 c2 0 3100000 - tok2 r2 0 2000 -",
                 "LOCK pay 3 c3 0 3100000 3600000 - r3 500 2000 N",
                 "LOCK pay 4 c3 0 3100000 3600000 - r3 500 2000 E NOSTORE settling retry_ms=50")
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "crowd"
            path.write_text("\n".join(lines) + "\n", "utf-8")
            history = History()
            history.faults_ended = 10.0
            history.read_crowd(path, ["a", "b"])
        found = history.complaints()
        self.assertEqual(len(found), 1, found)
        self.assertIn("granted twice, for 0.090 s", found[0])
        self.assertEqual(history.operations[1].node, "b")

    def test_an_answer_that_says_nothing_is_found(self):
        self.assert_finds("no table", Operation("LOCK", LOCK, 0, 1, Error("LOADING wait")))
        self.assert_finds("without its req", Operation("LOCK", LOCK, 0, 1,
                                                       Error("UNCERTAIN max_ms=5")))
        self.assert_finds("lease was over", grant(0, 0.01, 1, ttl_ms=0))


if __name__ == "__main__":
    unittest.main()
