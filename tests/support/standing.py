# SPDX-FileCopyrightText: 2026 The latchd authors
# SPDX-License-Identifier: Apache-2.0
"""When a process of a test stood still, as its clients saw it: for tests of what is promised only
to a process that runs, such as a turn that a lock is reserved for during 200 ms."""

import selectors
import threading
import time

from resp_client import Client

PING = b"*1\r\n$4\r\nPING\r\n"
EVERY = 0.01  # seconds between an answer and the next question


class Watch(threading.Thread):
    """Asks programs (of the harness) for a PONG all the time, from its start until close(). Only for
    programs that serve without a password."""

    def __init__(self, programs):
        super().__init__(daemon=True)
        self._gaps = []  # (begin, end) between two answers of one program
        self._is_over = threading.Event()
        self._selector = selectors.DefaultSelector()
        for program in programs:
            client = Client(program.address)
            self._selector.register(client.socket, selectors.EVENT_READ, client)
        self._answered = {key.fd: time.monotonic() for key in self._selector.get_map().values()}
        self._asked = set()
        self.start()

    def run(self):
        while not self._is_over.is_set():
            for key in self._selector.get_map().values():
                if key.fd not in self._asked:
                    key.fileobj.sendall(PING)
                    self._asked.add(key.fd)
            for key, _ in self._selector.select(0.1):
                key.data.read()
                now = time.monotonic()
                self._gaps.append((self._answered[key.fd], now))
                self._answered[key.fd] = now
                self._asked.discard(key.fd)
            self._is_over.wait(EVERY)

    def stills(self, longer_than):
        """[(begin, end)] of every time in which one of them answered nothing for so many seconds;
        nobody can tell whether this thread itself was kept from running."""
        now = time.monotonic()
        gaps = self._gaps + [(answered, now) for answered in list(self._answered.values())]
        return sorted(gap for gap in gaps if gap[1] - gap[0] > longer_than)

    def close(self):
        self._is_over.set()
        self.join()
        for key in list(self._selector.get_map().values()):
            key.data.close()
        self._selector.close()
