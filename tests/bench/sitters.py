#!/usr/bin/python3
# SPDX-FileCopyrightText: 2026 The latchd authors
# SPDX-License-Identifier: Apache-2.0
"""Connections of a process of its own, of which each has one LOCK that waits.

    tests/bench/sitters.py PORT FIRST COUNT

Opens COUNT connections to 127.0.0.1, says PING on each and prints `open`. A line on standard input:
LOCK … WAIT on each, for the ids from FIRST on, and `asked`. The end of the input ends it.
"""

import socket
import sys

from bench_many import ID, NAME, raise_files
from resp_client import encode

PER_ADDRESS = 8_000  # the kernel is slow to find a port when half of an address's are taken
NO_PORT = 24          # IP_BIND_ADDRESS_NO_PORT: it is chosen when the other end is known


def connect(port, at):
    one = socket.socket()
    one.setsockopt(socket.IPPROTO_IP, NO_PORT, 1)
    one.bind((f"127.0.0.{1 + at // PER_ADDRESS}", 0))
    one.settimeout(60)
    one.connect(("127.0.0.1", port))
    one.sendall(encode("PING"))
    if one.recv(64) != b"+PONG\r\n":
        raise AssertionError("no PONG")
    return one


def main():
    port, first, count = map(int, sys.argv[1:])
    raise_files(count + 100)
    sockets = [connect(port, at) for at in range(count)]
    print("open", flush=True)
    for _ in sys.stdin:
        for at, one in enumerate(sockets):
            one.sendall(encode("LOCK", NAME, ID % (first + at), "WAIT", 60_000))
        print("asked", flush=True)


if __name__ == "__main__":
    main()
