# SPDX-FileCopyrightText: 2026 The latchd authors
# SPDX-License-Identifier: Apache-2.0
"""A process of a test, a port for it, and waiting with a deadline. Tests import it from harness."""

import ctypes
import os
import pathlib
import random
import re
import signal
import socket
import subprocess
import time

import stalls
from stalls import Stalls  # noqa: F401 (for the tests)

FULL = os.environ.get("LATCHD_TEST_FULL", "") not in ("", "0")
SLOWNESS = float(os.environ.get("LATCHD_TEST_SLOWNESS", "1"))
_PR_SET_PDEATHSIG = 1


def wait_until(predicate, deadline=10.0, what="the condition"):
    """Returns the first true value of predicate(); fails after `deadline` seconds, of which those do
    not count that the machine kept the test waiting.

    A refused connection counts as not yet."""
    began, stalled = time.monotonic(), stalls.machine().look()
    limit, pause, last = deadline * SLOWNESS, 0.001, None
    while True:
        try:
            last = predicate()
            if last:
                return last
        except (ConnectionError, TimeoutError, FileNotFoundError) as error:
            last = error
        took = time.monotonic() - began
        if took > limit and took > limit + stalls.machine().look() - stalled:
            raise AssertionError(f"{what} did not come true in {deadline} s; last: {last!r}")
        time.sleep(pause)  # between two looks
        pause = min(pause * 1.5, 0.05)


_reserved = []  # sockets whose names are ports of this process


def free_port():
    """A port that nobody listens on, below those that the kernel hands out for connections, and that
    is no other test's as long as this process lives: a server that was killed leaves its port free,
    and the nodes that look for it would find whoever starts there."""
    while True:
        port = random.SystemRandom().randrange(10_000, 30_000)
        name = socket.socket(socket.AF_UNIX)
        with socket.socket() as probe:
            try:
                name.bind(f"\0latchd-test-port-{port}")
                probe.bind(("127.0.0.1", port))
                _reserved.append(name)
                return port
            except OSError:
                name.close()


def die_with_parent():
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)


class Program:
    """A process of a test; what it writes is in the file `log`, of all its starts."""

    def __init__(self, name, folder):
        self.name = name
        self.folder = pathlib.Path(folder)
        self.folder.mkdir(parents=True, exist_ok=True)
        self.log = self.folder / "log"
        self.process = None
        self.frozen_at = 0.0
        self.started_at = 0  # where in the log the present start begins

    def spawn(self, command, **options):
        with open(self.log, "ab") as log:
            self.started_at = log.tell()
            self.process = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, cwd=self.folder,
                preexec_fn=die_with_parent, **options)
        stalls.machine().watch(self.pid)

    @property
    def pid(self):
        return self.process.pid

    def is_running(self):
        return self.process is not None and self.process.poll() is None

    def said(self):
        """What it wrote since its present start."""
        with open(self.log, "rb") as log:
            log.seek(self.started_at)
            return log.read().decode("utf-8", "backslashreplace")

    def wait_for(self, pattern, deadline=10.0):
        """Returns the match of the pattern in what it wrote since its start."""
        def look():
            match = re.search(pattern, self.said())
            if match is None and not self.is_running():
                raise AssertionError(f"{self.name} ended with {self.process.returncode} before it "
                                     f"said {pattern!r}:\n{self.said()[-2000:]}")
            return match
        return wait_until(look, deadline, f"{self.name} saying {pattern!r}")

    def signal(self, number):
        os.kill(self.pid, number)

    def freeze(self):
        """Stops it (SIGSTOP); returns once all its threads stand still."""
        self.signal(signal.SIGSTOP)
        wait_until(self.is_frozen, what=f"{self.name} standing still")
        self.frozen_at = time.monotonic()

    def thaw(self):
        self.signal(signal.SIGCONT)

    def wait_until_frozen_for(self, seconds):
        """Returns so long after freeze(): the only thing to wait for is the time."""
        time.sleep(max(0.0, self.frozen_at + seconds - time.monotonic()))

    def is_frozen(self):
        """Whether all its threads are what ps shows as T: a thread on another processor may run
        for a moment after its first one has stopped."""
        for thread in pathlib.Path(f"/proc/{self.pid}/task").iterdir():
            try:
                stat = (thread / "stat").read_text(encoding="ascii")
            except (FileNotFoundError, ProcessLookupError):  # it ends just now
                return False
            if stat.rsplit(")", 1)[1].split()[0] != "T":
                return False
        return True

    def rss_bytes(self):
        status = pathlib.Path(f"/proc/{self.pid}/status").read_text(encoding="ascii")
        return 1024 * int(re.search(r"VmRSS:\s+(\d+)", status).group(1))

    def descriptors(self):
        return len(os.listdir(f"/proc/{self.pid}/fd"))

    def kill(self):
        """kill -9; returns once it is gone."""
        if self.is_running():
            self.process.kill()
        if self.process is not None:
            self.process.wait()

    def stop(self, deadline=10.0):
        """SIGTERM; returns the exit code."""
        if self.is_running():
            self.process.terminate()
        return self.wait(deadline)

    def wait(self, deadline=10.0):
        """Returns the exit code of a process that is about to end."""
        try:
            return self.process.wait(deadline * SLOWNESS)
        except subprocess.TimeoutExpired:
            raise AssertionError(f"{self.name} did not end in {deadline} s") from None
