# SPDX-FileCopyrightText: 2026 The latchd authors
# SPDX-License-Identifier: Apache-2.0
"""How long the machine kept a test and its processes waiting: what a limit does not count.

Two things are seen. A thread on each processor sleeps and looks at the clock, so a processor that was
taken away shows (whoever took it), and so does a lack of time for this process. And for each process
that the test started the kernel says for how long its threads could have run and were not let. A
process that waits of its own accord, for a lock or a disk, has no part in it, nor has one that was
stopped: its time counts."""

import bisect
import os
import threading
import time

STEP = 0.01  # of the threads that sleep
EVERY = 0.1  # between two looks at the processes


class _Sleeper:
    """A thread on one processor."""

    def __init__(self, cpu):
        self._cpu = cpu
        self._lock = threading.Lock()
        self._looked = time.monotonic()
        self._late = 0.0
        threading.Thread(target=self._run, daemon=True).start()

    def _run(self):
        try:
            os.sched_setaffinity(0, {self._cpu})
        except OSError:  # it is not one of ours any more: any processor will do
            pass
        while True:
            time.sleep(STEP)
            with self._lock:
                self._settle(time.monotonic())
                self._looked = time.monotonic()

    def _settle(self, now):
        over = now - self._looked - STEP
        if over > 0:
            self._late += over
            self._looked += over

    def late(self):
        """Seconds that it came too late, the present sleep included."""
        with self._lock:
            self._settle(time.monotonic())
            return self._late


class _Machine:
    def __init__(self):
        self._lock = threading.Lock()
        self._sleepers = [_Sleeper(cpu) for cpu in os.sched_getaffinity(0)]
        self._late = [0.0] * len(self._sleepers)
        self._delays = {}  # pid: {thread: nanoseconds that it waited for a processor}
        self._times, self._sums = [time.monotonic()], [0.0]
        threading.Thread(target=self._run, daemon=True).start()

    def _run(self):
        while True:
            time.sleep(EVERY)
            self.look()

    def watch(self, pid):
        with self._lock:
            self._delays.setdefault(pid, {})

    def _delay_of(self, pid):
        """Of the thread that waited longest since the last look: what a client waits for goes
        through one of them at a time."""
        before, after = self._delays[pid], {}
        for thread in os.scandir(f"/proc/{pid}/task"):
            with open(f"{thread.path}/schedstat", encoding="ascii") as file:
                after[thread.name] = int(file.read().split()[1])
        self._delays[pid] = after
        return max((waited - before.get(name, waited) for name, waited in after.items()),
                   default=0) / 1e9

    def look(self):
        """Returns the sum of all stalls so far."""
        with self._lock:
            now, stalled = time.monotonic(), 0.0
            for i, sleeper in enumerate(self._sleepers):
                late = sleeper.late()
                stalled = max(stalled, late - self._late[i])
                self._late[i] = late
            for pid in list(self._delays):
                try:
                    stalled += self._delay_of(pid)
                except (OSError, IndexError, ValueError):  # it ended
                    del self._delays[pid]
            self._sums.append(self._sums[-1] + min(stalled, now - self._times[-1]))
            self._times.append(now)
            return self._sums[-1]

    def between(self, begin, end):
        """Seconds of the looks that overlap with this time."""
        if self._times[-1] < end:
            self.look()
        with self._lock:
            first = max(bisect.bisect_right(self._times, begin) - 1, 0)
            last = min(bisect.bisect_left(self._times, end), len(self._times) - 1)
            return max(0.0, self._sums[last] - self._sums[first])


_guard = threading.Lock()
_machine = None


def machine():
    """The one that looks, from the first call on."""
    global _machine
    with _guard:
        if _machine is None:
            _machine = _Machine()
        return _machine


class Stalls:
    """The stalls since it was entered, in `seconds`: for the limit of what a test measures."""

    def __enter__(self):
        self._began = machine().look()
        self._ended = None
        return self

    def __exit__(self, *_):
        self._ended = machine().look()

    @property
    def seconds(self):
        return (machine().look() if self._ended is None else self._ended) - self._began
