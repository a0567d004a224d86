# SPDX-FileCopyrightText: 2026 The latchd authors
# SPDX-License-Identifier: Apache-2.0
"""The load generator of tools/bench: it measures, it sees what is wrong, it refuses other hosts."""

import itertools
import json
import os
import socketserver
import subprocess
import threading

import bench_peers
import harness
import resp_client

LOAD = os.environ.get("LATCHD_LOAD", "")


def run(*words, code=0):
    """The program's figures; with another exit code than 0, what it complained of."""
    ran = subprocess.run([LOAD, *map(str, words)], capture_output=True, text=True, timeout=60,
                         check=False)
    if ran.returncode != code:
        raise AssertionError(f"exit code {ran.returncode}, not {code}: {ran.stderr}")
    return json.loads(ran.stdout) if code == 0 else ran.stderr


class Fake(socketserver.ThreadingTCPServer):
    """Grants every LOCK at once, each with the next of `fences`."""

    allow_reuse_address = True
    daemon_threads = True

    def __init__(self, fences):
        self.fences = iter(fences)
        super().__init__(("127.0.0.1", 0), self.Connection)
        threading.Thread(target=self.serve_forever, daemon=True).start()

    class Connection(socketserver.BaseRequestHandler):
        def handle(self):
            data = b""
            while more := self.request.recv(65536):
                data += more
                while True:
                    try:
                        words, size = resp_client.parse(data)
                    except resp_client.Incomplete:
                        break
                    data = data[size:]
                    self.request.sendall(self.reply(words[0]))

        def reply(self, verb):
            if verb != b"LOCK":
                return b":1\r\n"
            fence = next(self.server.fences)
            return b"*5\r\n$3\r\ntok\r\n:%d\r\n:30000\r\n:1\r\n$5\r\nredis\r\n" % fence


@harness.unittest.skipIf(not LOAD, "LATCHD_LOAD names the load generator")
class Load(harness.Case):
    def fake(self, fences):
        server = Fake(fences)
        self.addCleanup(server.server_close)
        self.addCleanup(server.shutdown)
        return f"127.0.0.1:{server.server_address[1]}"

    def test_a_planted_double_grant_is_seen(self):
        said = run("--at", self.fake(itertools.count(1)), "--connections", 2, "--locks", 1,
                   "--hold", 1000, "--cycles", 200, "--seconds", 10, code=3)
        self.assertIn("was granted to client", said)

    def test_a_planted_fence_that_goes_back_is_seen(self):
        fences = itertools.chain(range(1000, 1020), itertools.repeat(1019))
        said = run("--at", self.fake(fences), "--connections", 1, "--locks", 1, "--cycles", 100,
                   "--seconds", 10, "--warm", 0, code=3)
        self.assertIn("fence 1019 of lock 0 came after 1019", said)

    def test_other_hosts_are_refused_before_anything_is_sent(self):
        for address in ("10.0.0.1:6379", "192.168.0.1:6379", "0.0.0.0:6379", "localhost:6379"):
            self.assertIn("only 127.x.x.x:port", run("--at", address, code=2))

    def test_a_peer_that_refuses_is_a_failure(self):
        redis = self.redis()
        figures = run("--at", f"127.0.0.1:{redis.port}", "--as", "latchd", "--connections", 1,
                      "--cycles", 10, "--seconds", 10)
        self.assertGreater(figures["failed"], 0)
        self.assertIn("unknown command", figures["first_failure"])

    def check(self, peer, cycles=300, **settings):
        figures = peer.load(LOAD, cycles=cycles, seconds=20, warm=0.05, **settings)
        self.assertGreaterEqual(figures["cycles"], cycles)
        self.assertEqual(figures["not_released"], 0)
        self.assertEqual(figures["doubles"] + figures["fences_back"], 0)
        self.assertGreater(figures["lock"]["p99"], 0)
        return figures

    def test_latchd_is_measured_in_each_way(self):
        node = self.latchd()
        peer = bench_peers.Peer("embedded", "latchd", [node.port], {"server": node})
        # Some kernels count a process' time in ticks of 10 ms: enough cycles for several of them.
        figures = self.check(peer, cycles=5000, connections=5, pipeline=4, idle=20, held=100)
        self.assertGreater(figures["processes"]["server"]["cpu_us"], 0)
        self.assertGreater(figures["processes"]["server"]["bytes_held"], 0)
        figures = self.check(peer, connections=10, locks=1, wait=20_000)
        self.assertGreater(figures["hand_over"]["count"], 0)
        self.assertLessEqual(figures["client_grants_max"] - figures["client_grants_min"], 1)
        self.assertLessEqual(figures["passed_max"], 10)
        figures = self.check(peer, connections=10, rate=3000, hold=100)
        self.assertGreater(figures["unlock"]["count"], 0)

    def test_latchd_over_redis_is_measured_with_its_store(self):
        redis = self.redis()
        nodes = [self.node(redis, name) for name in ("a", "b")]
        peer = bench_peers.Peer("fleet", "latchd", [node.port for node in nodes],
                                {"redis": redis}, redis)
        figures = self.check(peer, connections=4)
        # How many scripts they come in is up to the nodes.
        self.assertGreaterEqual(figures["store"]["calls"]["hincrby"], 300)
        self.assertGreaterEqual(figures["store"]["calls"]["del"], 300)
        self.assertGreater(figures["store"]["calls"]["evalsha"], 0)

    def test_a_patient_run_goes_through_a_fault_of_the_store(self):
        redis = self.redis()
        node = self.node(redis, "a")
        peer = bench_peers.Peer("herd", "latchd", [node.port], {"node": node})
        load = peer.begin(LOAD, connections=10, poll=1000, patient=1, slice=100, warm=0, seconds=60)
        harness.wait_until(lambda: int(node.info("locks")["locks_acquired"]) > 100)
        redis.kill()
        harness.wait_until(lambda: "state=down" in node.info("stores")["store0"])
        redis.restart()
        acquired = int(node.info("locks")["locks_acquired"])
        harness.wait_until(lambda: int(node.info("locks")["locks_acquired"]) > acquired + 100)
        load.end()
        figures = load.figures()
        self.assertEqual(len(figures["epochs"]), 2)
        self.assertGreater(figures["epochs"][1][1], figures["epochs"][0][1])
        self.assertLess(figures["gap"]["end"], figures["seconds"] * 1e6)
        self.assertGreater(sum(one["granted"] for one in figures["slices"]), 200)

    def test_an_impatient_run_fails_by_a_store_that_is_away(self):
        redis = self.redis()
        node = self.node(redis, "a")
        redis.kill()
        harness.wait_until(lambda: "state=down" in node.info("stores")["store0"])
        said = run("--at", f"127.0.0.1:{node.port}", "--connections", 1, "--cycles", 1, "--warm", 0,
                   "--poll", 1000, "--seconds", 3)
        self.assertGreater(said["failed"], 0)
        self.assertIn("NOSTORE", said["first_failure"])

    def test_the_scripts_and_set_are_measured_on_redis(self):
        redis = self.redis()
        for language in ("scripts", "set"):
            peer = bench_peers.Peer(language, language, [redis.port], {"redis": redis}, redis)
            self.check(peer, connections=3, pipeline=2)
            figures = self.check(peer, connections=3, locks=1, poll=500)
            self.assertGreater(figures["refused"], 0)

    @harness.needs("nutcracker")
    def test_twemproxy_passes_set_on(self):
        redis = self.redis()
        proxy = self.add(bench_peers.Twemproxy(self.folder / "proxy", redis))
        self.check(bench_peers.Peer("proxy", "set", [proxy.port], {"proxy": proxy}, redis),
                   connections=3)


if __name__ == "__main__":
    harness.unittest.main()
