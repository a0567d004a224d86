# SPDX-FileCopyrightText: 2026 The latchd authors
# SPDX-License-Identifier: Apache-2.0
"""Memory of an idle connection after one command: latchd beside redis-server, in turns.

    LATCHD=build/run/src/app/latchd tests/bench/idle_memory.py [CONNECTIONS] [RUNS]

Prints the resident set per connection, right after the command and once the server has had time to
give back what it read into (latchd does after two seconds of silence); the median of the runs."""

import pathlib
import resource
import socket
import statistics
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
import harness

PING = b"*1\r\n$4\r\nPING\r\n"
SETTLED_SECONDS = 5


def resident(pid):
    with open(f"/proc/{pid}/status", encoding="ascii") as status:
        return 1024 * next(int(line.split()[1]) for line in status if line.startswith("VmRSS"))


def measure(program, count):
    """(bytes per connection after its command, the same when settled)."""
    program.client().ask("PING")
    before = resident(program.pid)
    clients = []
    for _ in range(count):
        client = socket.create_connection(program.address, timeout=20)
        client.sendall(PING)
        clients.append(client)
        if client.recv(64) != b"+PONG\r\n":
            raise AssertionError("no PONG")
    busy = resident(program.pid) - before
    time.sleep(SETTLED_SECONDS)  # what is measured, not waited for
    settled = resident(program.pid) - before
    for client in clients:
        client.close()
    return busy / count, settled / count


def servers(folder, run):
    yield "redis-server", lambda: harness.RedisServer(
        folder / f"redis{run}", {"maxclients": "20000"})
    for threads in "1", "2":
        yield f"latchd, {threads} event loop{'' if threads == '1' else 's'}", lambda t=threads: \
            harness.Latchd(folder / f"latchd{run}-{t}", ["--threads", t, "--log-level", "info"])


def main():
    if harness.REDIS_SERVER is None:
        sys.exit(77)
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 5000
    runs = int(sys.argv[2]) if len(sys.argv) > 2 else 5
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    if hard != resource.RLIM_INFINITY and hard < count + 500:
        sys.exit(f"{hard} file descriptors are too few for {count} connections")
    figures = {}
    with tempfile.TemporaryDirectory(prefix="latchd-bench-") as folder:
        for run in range(runs):
            for name, start in servers(pathlib.Path(folder), run):
                program = start()
                try:
                    figures.setdefault(name, []).append(measure(program, count))
                finally:
                    program.kill()
    print(f"bytes per idle connection after one command, {count} connections, "
          f"median of {runs} runs: at once, settled")
    for name, measured in figures.items():
        at_once, settled = (statistics.median(values) for values in zip(*measured))
        print(f"{name:24} {at_once:8.0f} {settled:8.0f}")


if __name__ == "__main__":
    main()
