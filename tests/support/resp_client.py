# SPDX-FileCopyrightText: 2026 The latchd authors
# SPDX-License-Identifier: Apache-2.0
"""A RESP client that keeps every byte in the test's hands.

Replies become str-like Python values: bytes for simple and bulk strings (Simple tells them apart),
int, None, list, dict (RESP3 maps), bool, float; Error and Push are values, too: nothing is raised
for what a server answers.
"""

import socket
import time


class Simple(bytes):
    """A simple string, such as +OK."""


class Error(str):
    """An error reply; its first word says what to do."""

    @property
    def word(self):
        return self.split(" ", 1)[0]


class Push(list):
    """A RESP3 push."""


class Incomplete(Exception):
    """More bytes are needed."""


class Closed(ConnectionError):
    """The server ended the connection; what it sent before is in `rest`."""

    def __init__(self, rest=b""):
        super().__init__(f"closed by the server after {bytes(rest)[-200:]!r}")
        self.rest = bytes(rest)


def encode(*words):
    """Returns a request: an array of bulk strings."""
    out = [b"*%d\r\n" % len(words)]
    for word in words:
        data = word if isinstance(word, (bytes, bytearray)) else str(word).encode()
        out.append(b"$%d\r\n%b\r\n" % (len(data), data))
    return b"".join(out)


def _many(data, at, count, kind):
    values = kind()
    for _ in range(count):
        value, at = parse(data, at)
        values.append(value)
    return values, at


def parse(data, at=0):
    """Returns (value, where the next reply begins); raises Incomplete."""
    end = data.find(b"\r\n", at)
    if end < 0:
        raise Incomplete
    kind, head, at = data[at:at + 1], bytes(data[at + 1:end]), end + 2
    if kind == b"+":
        return Simple(head), at
    if kind == b"-":
        return Error(head.decode("utf-8", "backslashreplace")), at
    if kind == b":":
        return int(head), at
    if kind in (b"$", b"=", b"!"):
        size = int(head)
        if size < 0:
            return None, at
        if len(data) < at + size + 2:
            raise Incomplete
        body = bytes(data[at:at + size])
        if kind == b"!":
            return Error(body.decode("utf-8", "backslashreplace")), at + size + 2
        return (body[4:] if kind == b"=" else body), at + size + 2
    if kind in (b"*", b"~", b">"):
        if int(head) < 0:
            return None, at
        return _many(data, at, int(head), Push if kind == b">" else list)
    if kind == b"%":
        flat, at = _many(data, at, 2 * int(head), list)
        return dict(zip(flat[::2], flat[1::2])), at
    if kind == b"_":
        return None, at
    if kind == b"#":
        return head == b"t", at
    if kind == b",":
        return float(head), at
    if kind == b"(":
        return int(head), at
    raise ValueError(f"no RESP type: {kind + head!r}")


class Client:
    """One connection. `address` is (host, port) or the path of a Unix socket."""

    def __init__(self, address, timeout=10.0):
        self.address = address
        self.timeout = timeout
        self.buffer = bytearray()
        family = socket.AF_UNIX if isinstance(address, str) else socket.AF_INET
        self.socket = socket.socket(family, socket.SOCK_STREAM)
        self.socket.settimeout(timeout)
        try:
            self.socket.connect(address)
        except OSError:
            self.socket.close()
            raise
        if family == socket.AF_INET:
            self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def close(self):
        self.socket.close()

    def reset(self):
        """Ends the connection by RST, as a host that died and came back would."""
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
        self.socket.close()

    def send_bytes(self, data):
        self.socket.settimeout(self.timeout)
        self.socket.sendall(data)

    def send(self, *words):
        self.send_bytes(encode(*words))

    def _receive(self, deadline):
        left = deadline - time.monotonic()
        if left <= 0:
            raise TimeoutError(f"no reply in time; so far {bytes(self.buffer[-200:])!r}")
        self.socket.settimeout(left)
        data = self.socket.recv(1 << 18)
        if not data:
            raise Closed(self.buffer)
        self.buffer += data

    def read(self, timeout=None):
        """Returns the next reply or push."""
        return self.read_many(1, timeout)[0]

    def read_many(self, count, timeout=None):
        deadline = time.monotonic() + (self.timeout if timeout is None else timeout)
        values, at = [], 0
        try:
            while len(values) < count:
                try:
                    value, at = parse(self.buffer, at)
                    values.append(value)
                except Incomplete:
                    del self.buffer[:at]
                    at = 0
                    self._receive(deadline)
        finally:
            del self.buffer[:at]
        return values

    def read_bytes(self, count=1, timeout=None):
        """Returns the bytes of the next `count` replies."""
        deadline = time.monotonic() + (self.timeout if timeout is None else timeout)
        while True:
            try:
                at = 0
                for _ in range(count):
                    at = parse(self.buffer, at)[1]
                data = bytes(self.buffer[:at])
                del self.buffer[:at]
                return data
            except Incomplete:
                self._receive(deadline)

    def read_to_end(self, timeout=None):
        """Returns what comes before the server ends the connection."""
        deadline = time.monotonic() + (self.timeout if timeout is None else timeout)
        try:
            while True:
                self._receive(deadline)
        except (Closed, ConnectionResetError):
            data = bytes(self.buffer)
            self.buffer.clear()
            return data

    def is_silent(self, seconds):
        """Says whether nothing comes for so long."""
        try:
            deadline = time.monotonic() + seconds
            if not self.buffer:
                self._receive(deadline)
        except TimeoutError:
            return True
        return False

    def ask(self, *words, timeout=None):
        self.send(*words)
        return self.read(timeout)

    def pipeline(self, requests, timeout=None):
        """Sends all requests (tuples of words) at once and returns their replies."""
        self.send_bytes(b"".join(encode(*request) for request in requests))
        return self.read_many(len(requests), timeout)
