# SPDX-FileCopyrightText: 2026 The latchd authors
# SPDX-License-Identifier: Apache-2.0
"""What clients asked and were told, and a checker that knows nothing else.

Each operation has CLOCK_MONOTONIC at its call and at its return. On one host all clients share that
clock, so exclusion is an exact scan: the holder of a grant relies on it from the moment it read the
reply until (the moment it sent the request + the ttl that it was told), which is what a careful
client counts, or until it sends UNLOCK, or is told that the lock is lost. Two such intervals of one
lock never overlap.

Resources of the safety `available` may break that, and the rise of fences, in the cases (a)-(f) of
docs/promises.md. A test says which of them its fault is (allow()); such overlaps are no complaints,
they are counted and the longest is printed.

The checker is proven by histories with planted faults: history_test.py.
"""

import dataclasses
import threading
import time

from resp_client import Error

NOISE = 0.3  # seconds that a machine may add to a reply without a stall that can be measured


@dataclasses.dataclass
class Operation:
    verb: str  # LOCK UNLOCK RENEW CANCEL
    lock: tuple  # (resource, id)
    called: float
    returned: float | None = None  # None: its client was gone before a reply
    reply: object = None
    token: bytes | None = None  # of UNLOCK and RENEW
    options: dict = dataclasses.field(default_factory=dict)  # of LOCK, in upper case
    actor: str = ""
    node: str = ""  # whom it asked

    @property
    def is_granted(self):
        return self.verb == "LOCK" and isinstance(self.reply, list)

    @property
    def fence(self):
        return self.reply[1]

    @property
    def ttl(self):
        """Seconds that a grant or a renewal told."""
        return (self.reply[2] if self.verb == "LOCK" else self.reply) / 1000

    @property
    def is_error(self):
        return isinstance(self.reply, str)

    @property
    def is_doubtful(self):
        return self.returned is None or (self.is_error and self.reply.startswith("UNCERTAIN"))

    @property
    def deadline(self):
        """Seconds that it may take (design 2)."""
        return 2.0 + int(self.options.get("WAIT", 0)) / 1000

    def __str__(self):
        took = "…" if self.returned is None else f"{self.returned - self.called:.3f} s"
        return (f"{self.actor} {self.verb} {'/'.join(map(str, self.lock))} {self.options or ''} at "
                f"{self.called:.3f} ({took}) -> {self.reply!r}")


@dataclasses.dataclass
class Told:
    """An event of latchd: lost, expiring, revoked, failover."""
    kind: str
    lock: tuple
    fence: int
    at: float


@dataclasses.dataclass
class Interval:
    """How long a holder relied on a grant."""
    grant: Operation
    begin: float
    end: float
    is_kept: bool
    why: str = "lease"


def _crowd_operation(line, nodes):
    verb, resource, name, actor, node, called, returned, token, request, wait, ttl, kind, *rest = \
        line.split(" ")
    operation = Operation(verb, (resource, name), int(called) / 1e6, actor=actor,
                          node=nodes[int(node)])
    if verb == "LOCK":
        operation.options = {"REQ": request, "WAIT": int(wait), "PX": int(ttl)}
    else:
        operation.token = token.encode()
    if returned != "-":
        operation.returned = int(returned) / 1e6
        operation.reply = _crowd_reply(kind, rest)
    return operation


def _crowd_reply(kind, rest):
    if kind == "G":
        token, fence, ttl, holds, tier = rest
        return [token.encode(), int(fence), int(ttl), int(holds), tier.encode()]
    if kind == "I":
        return int(rest[0])
    return Error(" ".join(rest)) if kind == "E" else None


@dataclasses.dataclass
class Excused:
    """What a resource's safety allows in the fault of this test."""
    case: str  # (a)-(f)
    seconds: float  # of an overlap; 0: a fence that fell
    text: str


class History:
    """Thread safe; operations are listed by the order of their calls."""

    def __init__(self):
        self._lock = threading.Lock()
        self.operations = []
        self.told = []
        self.faults_ended = time.monotonic()  # what was in doubt before may last until then
        self.recovery = 2.0  # seconds after that until every lock can be had
        self.pauses = []  # (node, begin, end): it stood still and could not answer
        self.clocks_paused = False  # with it: what it tells then is to be counted from the call
        self.stalled = lambda begin, end: 0.0  # seconds that the machine took of this time
        self.cases = {}  # resource: the case in which it may be granted twice
        self.strict = set()  # resources of which being told a loss excuses nothing
        self.excused = []

    def begin(self, verb, lock, token=None, options=None, actor="", node=""):
        operation = Operation(verb, lock, time.monotonic(), token=token, options=options or {},
                              actor=actor, node=node)
        with self._lock:
            self.operations.append(operation)
        return operation

    @staticmethod
    def end(operation, reply):
        operation.returned = time.monotonic()
        operation.reply = reply

    def add(self, operation):
        with self._lock:
            self.operations.append(operation)

    def hear(self, kind, lock, fence, at=None):
        with self._lock:
            self.told.append(Told(kind, lock, fence, time.monotonic() if at is None else at))

    def fault_ended(self):
        self.faults_ended = time.monotonic()

    def allow(self, case, *resources):
        """These may be granted twice: `case` is one of (a)-(f)."""
        self.cases |= {resource: case for resource in resources}

    def read_crowd(self, path, nodes):
        """Adds what tests/fault/crowd.cpp wrote; `nodes` are the names for its numbers."""
        with open(path, encoding="utf-8") as lines:
            for line in lines:
                self.add(_crowd_operation(line.rstrip("\n"), nodes))

    # ---- what a test asks

    def grants(self, lock=None):
        return [o for o in self.operations if o.is_granted and lock in (None, o.lock)]

    def unreleased(self):
        """Grants without a definite answer to an UNLOCK, by token."""
        released = {o.token for o in self.operations
                    if o.verb == "UNLOCK" and o.reply in (1, 0, -1, 2) and not o.is_error}
        left = {}
        for grant in self.grants():
            if grant.reply[0] not in released:
                left[grant.reply[0]] = grant
        return list(left.values())

    def count(self, verb, matches):
        return sum(1 for o in self.operations if o.verb == verb and matches(o))

    # ---- the checker

    def complaints(self, losses_are_told_late=0.0, slowness=1.0):
        """Everything that was promised and not kept.

        losses_are_told_late: seconds after another's grant within which `lost` may be told. Not 0
        only for two nodes on a Redis that restarted (docs/redis.md)."""
        self.excused = []
        found = self._late(slowness) + self._mistold()
        for lock in sorted({o.lock for o in self.operations}, key=str):
            operations = sorted((o for o in self.operations if o.lock == lock),
                                key=lambda o: o.called)
            told = sorted((t for t in self.told if t.lock == lock and lock[0] not in self.strict),
                          key=lambda t: t.at)
            intervals = self.intervals(operations, told)
            doubles = self._overlaps(intervals, losses_are_told_late)
            doubles += [(0.0, text) for text in self._falling(operations)]
            case = self.cases.get(lock[0])
            if case is None:
                found += [text for _, text in doubles]
            else:
                self.excused += [Excused(case, over, text) for over, text in doubles]
            found += self._stuck(operations)
        return found

    def excuses(self):
        """One line per case: how long two clients held one lock at most."""
        lines = []
        for case in sorted({*self.cases.values()}):
            overlaps = [e.seconds for e in self.excused if e.case == case and e.seconds]
            falls = sum(1 for e in self.excused if e.case == case and not e.seconds)
            lines.append(f"case {case}: {len(overlaps)} locks held twice, for at most "
                         f"{max(overlaps, default=0):.3f} s; {falls} fences fell")
        return lines

    def _paused(self, operation):
        """Seconds of it in which the asked node stood still."""
        return sum(max(0.0, min(end, operation.returned) - max(begin, operation.called))
                   for node, begin, end in self.pauses if node == operation.node)

    def _late(self, slowness):
        return [f"took {o.returned - o.called:.3f} s of {o.deadline:.1f} s: {o}"
                for o in self.operations
                if o.returned is not None
                and o.returned - o.called > o.deadline + NOISE * slowness + self._paused(o)
                and o.returned - o.called > (o.deadline + NOISE * slowness + self._paused(o)
                                             + self.stalled(o.called, o.returned))]

    # What each command may say on a bad day.
    _errors = {"LOCK": ("NOSTORE ", "UNCERTAIN max_ms=", "DEGRADED "),
               "UNLOCK": ("NOSTORE ", "UNCERTAIN max_ms="),
               "RENEW": ("NOSTORE ", "UNCERTAIN max_ms=", "LOST maxhold", "LIMIT maxrenew"),
               "CANCEL": ("NOSTORE ", "UNCERTAIN max_ms=")}

    def _mistold(self):
        """Replies that say nothing which a client could act on."""
        found = []
        for o in self.operations:
            if o.returned is None:
                continue
            if o.is_error:
                allowed = self._errors[o.verb]
                if "REQ" in o.options:
                    allowed += ("ERR cancelled", "ERR superseded")
                if not o.reply.startswith(allowed + tuple(o.options.get("may_say", ()))):
                    found.append(f"an answer that no table has: {o}")
                if o.verb == "LOCK" and o.reply.startswith("UNCERTAIN") and " req=" not in o.reply:
                    found.append(f"UNCERTAIN without its req: {o}")
            elif o.verb == "LOCK" and not (o.reply is None or len(o.reply) == 5):
                found.append(f"no reply of LOCK: {o}")
            elif o.verb == "LOCK" and o.reply is not None and o.reply[2] <= 0:
                found.append(f"a grant whose lease was over was told: {o}")
        return found

    def intervals(self, operations, told):
        """One per hold: sendings of one REQ that were answered with one token are one."""
        by_token = {}
        for o in operations:
            if o.is_granted and o.returned is not None:
                kept = "KEEP" in o.options
                # What it told was so when it was sent: it may have been read later.
                on_its_way = NOISE + self.stalled(max(o.called, o.returned - 1), o.returned)
                if self.clocks_paused:
                    on_its_way += self._paused(o)
                end = max(o.called + o.ttl, o.returned + o.ttl - on_its_way)
                interval = by_token.get(o.reply[0])
                if interval is None:
                    by_token[o.reply[0]] = Interval(o, o.returned, end, kept)
                else:
                    interval.begin = min(interval.begin, o.returned)
                    interval.end = max(interval.end, end)
                    interval.is_kept |= kept
        for o in operations:
            interval = by_token.get(o.token)
            if interval is None or o.verb != "RENEW" or o.returned is None or o.is_error:
                continue
            if o.reply > 0 and o.returned >= interval.begin:
                interval.end = max(interval.end, o.called + o.ttl)
                interval.is_kept |= "KEEP" in o.options
        for interval in by_token.values():
            if interval.is_kept:  # relied on until it ends it, or its connection ends, or `lost`
                interval.end = interval.grant.options.get("kept_until", float("inf"))
        for o in operations:
            interval = by_token.get(o.token)
            if interval is None:
                continue
            if o.verb == "UNLOCK" and o.called < interval.end:
                interval.end, interval.why = o.called, "UNLOCK"
        for t in told:
            if t.kind not in ("lost", "revoked"):
                continue
            for interval in by_token.values():
                if interval.begin <= t.at < interval.end:
                    interval.end, interval.why = t.at, t.kind
        return sorted(by_token.values(), key=lambda i: i.begin)

    def _overlaps(self, intervals, late):
        found, longest = [], None
        for interval in intervals:
            if longest is not None and interval.begin < longest.end - 0.001:
                owner = interval.grant.options.get("OWNER")
                same_owner = owner is not None and owner == longest.grant.options.get("OWNER")
                over = min(longest.end, interval.end) - interval.begin
                told_late = longest.end - interval.begin
                excused = same_owner or (
                    late and longest.why in ("lost", "revoked")
                    and told_late <= late + self.stalled(interval.begin, longest.end))
                if not excused and over > 0.001:
                    found.append((over, f"granted twice, for {over:.3f} s:\n    {longest.grant}\n"
                                        f"      until {longest.end:.3f} ({longest.why})\n"
                                        f"    {interval.grant}"))
            if longest is None or interval.end > longest.end:
                longest = interval
        return found

    @staticmethod
    def _falling(operations):
        """A grant whose call came after another's return has a greater fence, unless it is the
        same grant (REQ, OWNER)."""
        found, highest = [], None
        ended = sorted((o for o in operations if o.is_granted), key=lambda o: o.returned)
        at = 0
        for o in sorted((o for o in operations if o.is_granted), key=lambda o: o.called):
            while at < len(ended) and ended[at].returned < o.called:
                if highest is None or ended[at].fence > highest.fence:
                    highest = ended[at]
                at += 1
            if highest is None:
                continue
            shared = any(o.options.get(name) is not None
                         and o.options.get(name) == highest.options.get(name)
                         for name in ("REQ", "OWNER"))
            if o.fence < highest.fence or (o.fence == highest.fence and not shared):
                found.append(f"the fence fell:\n    {highest}\n    {o}")
        return found

    def _is_within_two_seconds(self, end, called):
        return end + 2 > called or (end + 10 > called and end + 2 + self.stalled(end, called) > called)

    def _stuck(self, operations):
        """A LOCK was refused although for 2 s nobody could have held it."""
        windows = []
        released = {}
        for o in operations:
            if o.verb == "UNLOCK" and o.returned is not None and not o.is_error:
                released[o.token] = min(o.returned, released.get(o.token, float("inf")))
        for o in operations:
            if o.verb == "RENEW" and not o.is_error and o.reply and o.reply > 0:
                windows.append((o.called, o.returned + o.ttl, o.token))
            if o.verb != "LOCK":
                continue
            if o.is_granted:
                end = o.returned + o.ttl
                if "KEEP" in o.options:
                    end = o.options.get("kept_until", float("inf")) + o.ttl
                windows.append((o.called, end + int(o.options.get("DELAY", 0)) / 1000, o.reply[0]))
            elif o.is_doubtful:
                ended = o.returned or o.called + o.deadline
                windows.append((o.called, max(ended, self.faults_ended), None))
            else:
                windows.append((o.called, o.returned, None))
        windows = [(begin, min(end, released.get(token, end)), token)
                   for begin, end, token in windows]
        found = []
        for o in operations:
            if o.verb != "LOCK" or o.returned is None or o.reply is not None:
                continue
            if o.called < self.faults_ended + self.recovery + self.stalled(self.faults_ended,
                                                                           o.called):
                continue
            if not any(begin < o.returned and self._is_within_two_seconds(end, o.called)
                       for begin, end, _ in windows if (begin, end) != (o.called, o.returned)):
                found.append(f"stuck, refused though nobody holds it: {o}")
        return found
