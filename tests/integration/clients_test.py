# SPDX-FileCopyrightText: 2026 The latchd authors
# SPDX-License-Identifier: Apache-2.0
"""Stock clients: redis-cli in all its ways, redis-benchmark, Debian's python3-redis, and the
newest node-redis and ioredis where they are installed (LATCHD_TEST_NODE_MODULES names them)."""

import json
import os
import pathlib
import pty
import re
import select
import subprocess
import sys
import time
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
import harness

try:
    import redis as redis_py
except ImportError:
    redis_py = None

NODE_MODULES = os.environ.get("LATCHD_TEST_NODE_MODULES")


def cli(latchd, *arguments, text=None):
    """Runs redis-cli to its end; returns what it printed."""
    done = subprocess.run([harness.REDIS_CLI, "-p", str(latchd.port), *arguments], input=text,
                          capture_output=True, text=True, timeout=30, check=False)
    return done.stdout + done.stderr


class Terminal:
    """An interactive program behind a terminal."""

    def __init__(self, *command):
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            os.environ["TERM"] = "dumb"
            os.execv(command[0], command)
        self.text = ""

    def read_until(self, pattern, seconds=10.0):
        deadline = time.monotonic() + seconds * harness.SLOWNESS
        while not re.search(pattern, self.text):
            if not select.select([self.fd], [], [], max(0, deadline - time.monotonic()))[0]:
                raise AssertionError(f"no {pattern!r} in {self.text!r}")
            try:
                self.text += os.read(self.fd, 65536).decode("utf-8", "replace")
            except OSError:
                raise AssertionError(f"ended before {pattern!r}: {self.text!r}") from None
        seen, self.text = self.text, ""
        return seen

    def type(self, text):
        os.write(self.fd, text.encode())

    def close(self):
        os.close(self.fd)
        os.waitpid(self.pid, 0)


@harness.needs("redis-cli")
class RedisCli(harness.Case):
    def test_the_first_steps_of_the_readme(self):
        latchd = self.latchd()
        token, fence, ttl, holds, tier = cli(
            latchd, "LOCK", "order:settle", "1001", "PX", "30000").split()
        self.assertEqual((holds, tier), ("1", "local"))
        self.assertGreater(int(fence), 1 << 32)
        self.assertEqual(int(ttl), 30000)
        self.assertEqual(cli(latchd, "LOCK", "order:settle", "1001", "PX", "30000").strip(), "")
        self.assertEqual(cli(latchd, "UNLOCK", "order:settle", "1001", token).strip(), "1")

    def test_a_lock_in_redis_is_readable_there(self):
        redis = self.redis()
        latchd = self.node(redis, "n1")
        token = cli(latchd, "LOCK", "order:settle", "1001", "PX", "30000").split()[0]
        key = "lock:order:settle:1001"
        value = json.loads(cli(redis, "GET", key))
        self.assertIn(token, json.dumps(value))
        self.assertLessEqual(int(cli(redis, "PTTL", key)), 31000)
        cli(latchd, "UNLOCK", "order:settle", "1001", token)
        self.assertEqual(cli(redis, "GET", key).strip(), "")

    def test_resp3_and_login(self):
        latchd = self.latchd(password="secret")
        self.assertIn("NOAUTH", cli(latchd, "PING"))
        self.assertEqual(cli(latchd, "--no-auth-warning", "-a", "secret", "PING"), "PONG\n")
        self.assertEqual(cli(latchd, "--no-auth-warning", "--user", "default", "--pass", "secret",
                             "-n", "2", "-3", "CLIENT", "GETNAME").strip(), "")
        self.assertIn("local", cli(latchd, "--no-auth-warning", "-a", "secret", "-3",
                                   "LOCK", "r", "1"))

    def test_the_pipe_mode_counts_every_reply(self):
        latchd = self.latchd()
        requests = "".join(f"LOCK pipe {number} PX 60000\n" for number in range(1000))
        self.assertIn("errors: 0, replies: 1000", cli(latchd, "--pipe", text=requests))
        self.assertEqual(int(latchd.info("locks")["locks_held"]), 1000)
        wrong = cli(latchd, "--pipe", text="PING\nNOSUCHCOMMAND\nPING\n")
        self.assertIn("errors: 1, replies: 3", wrong)

    def test_a_terminal_shows_help_and_hints(self):
        latchd = self.latchd()
        terminal = Terminal(harness.REDIS_CLI, "-p", str(latchd.port))
        self.addCleanup(terminal.close)
        terminal.read_until(r"127\.0\.0\.1:\d+> ")
        terminal.type("help LOCK\n")
        shown = terminal.read_until(r"group:[^\n]*\n")
        self.assertRegex(shown, r"LOCK\S* \S*resource id")
        self.assertIn("[WAIT ms]", shown)
        self.assertRegex(shown, r"summary:\S* Takes a lock")
        terminal.type("LOCK r 1 PX 20000\n")
        terminal.read_until(r"5\) \"local\"")
        terminal.type("LOCK r 1\n")
        terminal.read_until(r"\(nil\)")

    def test_statistics_and_latency_modes_work(self):
        latchd = self.latchd()
        self.assertIn("PONG", cli(latchd, "-r", "3", "-i", "0.01", "PING"))
        self.assertRegex(cli(latchd, "INFO", "server"), r"redis_version:\d")
        self.assertIn("clients", cli(latchd, "INFO"))


@harness.needs("redis-benchmark")
class RedisBenchmark(harness.Case):
    def run_benchmark(self, latchd, *arguments):
        done = subprocess.run(
            ["redis-benchmark", "-p", str(latchd.port), "-q", *arguments],
            capture_output=True, text=True, timeout=60, check=False)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        return done.stdout + done.stderr

    def test_its_handshake_and_ping(self):
        shown = self.run_benchmark(self.latchd(), "-n", "2000", "-c", "20", "-t", "ping")
        self.assertEqual(len(re.findall(r"PING_\w+: [\d.]+ requests per second", shown)), 2, shown)

    def test_locks_of_its_own_ids_pipelined(self):
        latchd = self.latchd()
        shown = self.run_benchmark(latchd, "-n", "2000", "-c", "10", "-P", "16", "-r", "1000000",
                                   "LOCK", "bench", "__rand_int__", "PX", "60000")
        self.assertNotIn("rror", shown)
        self.assertGreater(int(latchd.info("locks")["locks_held"]), 1000)


@unittest.skipIf(redis_py is None, "python3-redis is not installed")
class RedisPy(harness.Case):
    def connect(self, latchd, **options):
        client = redis_py.Redis(host="127.0.0.1", port=latchd.port, socket_timeout=10, **options)
        self.addCleanup(client.close)
        return client

    def test_name_database_and_password(self):
        latchd = self.latchd(password="secret")
        client = self.connect(latchd, password="secret", client_name="worker", db=2)
        self.assertTrue(client.ping())
        self.assertEqual(client.client_getname(), "worker")
        self.assertIn("worker", [row["name"] for row in client.client_list()])
        with self.assertRaisesRegex(redis_py.exceptions.ResponseError, "WRONGPASS"):
            self.connect(latchd, password="wrong").ping()
        with self.assertRaises(redis_py.exceptions.AuthenticationError):
            self.connect(latchd).ping()
        with self.assertRaises(redis_py.exceptions.ResponseError):
            client.execute_command("SELECT", 99)
        self.assertTrue(self.connect(self.latchd(), password="unneeded", username="default").ping())

    def test_lock_renew_unlock(self):
        client = self.connect(self.node(self.redis(), "n1"))
        token, fence, ttl, holds, tier = client.execute_command("LOCK", "r", "1", "PX", 5000)
        self.assertEqual((holds, tier), (1, b"redis"))
        self.assertGreater(fence, 1 << 32)
        self.assertLessEqual(ttl, 5000)
        self.assertIsNone(client.execute_command("LOCK", "r", "1"))
        self.assertGreater(client.execute_command("RENEW", "r", "1", token, "PX", 9000), 5000)
        self.assertEqual(client.execute_command("UNLOCK", "r", "1", token), 1)
        with self.assertRaisesRegex(redis_py.exceptions.ResponseError, "PX '0'"):
            client.execute_command("LOCK", "r", "1", "PX", 0)
        self.assertEqual(int(client.info("locks")["locks_held"]), 0)

    def test_a_pipeline_without_transaction(self):
        client = self.connect(self.latchd())
        with client.pipeline(transaction=False) as pipeline:
            for number in range(50):
                pipeline.execute_command("LOCK", "r", number)
            replies = pipeline.execute()
        self.assertEqual(len({reply[0] for reply in replies}), 50)

    def test_events_by_its_publish_and_subscribe(self):
        latchd = self.latchd()
        listener = self.connect(latchd).pubsub(ignore_subscribe_messages=True)
        self.addCleanup(listener.close)
        listener.subscribe("latchd:events:r")
        harness.wait_until(lambda: self.connect(latchd).pubsub_numsub("latchd:events:r")[0][1])
        latchd.ask("LOCK", "r", "1", "OWNER", "me")
        latchd.ask("FORCEUNLOCK", "r", "1")
        message = harness.wait_until(lambda: listener.get_message(timeout=1))
        self.assertRegex(message["data"].decode(), r"^revoked r/1#\d+ owner=me ")
        listener.ping("still there")
        harness.wait_until(lambda: listener.get_message(timeout=1))

    def test_a_lock_lost_with_its_connection_is_met_by_its_request_id(self):
        latchd = self.latchd()
        client = self.connect(latchd, retry_on_timeout=True)
        first = client.execute_command("LOCK", "r", "1", "REQ", "wish")
        client.connection_pool.disconnect()
        self.assertEqual(client.execute_command("LOCK", "r", "1", "REQ", "wish")[:2], first[:2])


@unittest.skipUnless(NODE_MODULES, "LATCHD_TEST_NODE_MODULES names no node_modules")
class NodeClients(harness.Case):
    SCRIPTS = {
        "ioredis": """
            const Redis = require('ioredis');
            const c = new Redis({port, password: 'secret', connectionName: 'worker', db: 1});
            const call = (...words) => c.call(...words);
            const end = () => c.quit();
        """,
        "redis": """
            const {createClient} = require('redis');
            const c = createClient(
                {socket: {port}, password: 'secret', name: 'worker', database: 1});
            c.on('error', (e) => { console.log(String(e)); process.exit(1); });
            const ready = c.connect();
            const call = async (...words) => { await ready; return c.sendCommand(words); };
            const end = () => (c.close ? c.close() : c.quit());
        """,
    }
    BODY = """
        (async () => {
            const g = await call('LOCK', 'r', '1', 'PX', '5000');
            const busy = await call('LOCK', 'r', '1');
            const left = await call('RENEW', 'r', '1', g[0]);
            const released = await call('UNLOCK', 'r', '1', g[0]);
            const name = await call('CLIENT', 'GETNAME');
            console.log(JSON.stringify([g.length, busy, left > 0, released, name]));
            await end();
        })().catch((e) => { console.log(String(e)); process.exit(1); });
    """

    def test_each_client_locks_and_releases(self):
        latchd = self.latchd(password="secret")
        for name, script in self.SCRIPTS.items():
            if not (pathlib.Path(NODE_MODULES) / name).is_dir():
                continue
            with self.subTest(client=name):
                done = subprocess.run(
                    ["node", "-e", f"const port = {latchd.port};{script}{self.BODY}"],
                    capture_output=True, text=True, timeout=30, check=False,
                    env=os.environ | {"NODE_PATH": NODE_MODULES})
                self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
                self.assertEqual(json.loads(done.stdout), [5, None, True, 1, "worker"])


if __name__ == "__main__":
    unittest.main()
