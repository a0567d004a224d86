# SPDX-FileCopyrightText: 2026 The latchd authors
# SPDX-License-Identifier: Apache-2.0
"""latchd as a process: start, configuration, listeners, drain, restart; and its events."""

import os
import pathlib
import re
import signal
import subprocess
import sys
import time
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
import harness
import resp_client

USAGE, CONFIGURATION, UNAVAILABLE = 64, 78, 69


def run(*arguments, env=None):
    """Runs latchd to its end; returns (exit code, standard output, standard error)."""
    done = subprocess.run([harness.latchd_program(), *arguments], capture_output=True, text=True,
                          timeout=30, check=False, stdin=subprocess.DEVNULL,
                          env=harness.clean_environment() | (env or {}))
    return done.returncode, done.stdout, done.stderr


class Configuration(harness.Case):
    def file(self, text):
        path = self.folder / "latchd.yaml"
        path.write_text(text, encoding="utf-8")
        path.chmod(0o600)
        return str(path)

    def test_a_good_file_is_valid_and_dumped_with_its_origins(self):
        path = self.file("version: 1\nlocks: {ttl: 5s}\n")
        self.assertEqual(run("--config", path, "--check-config"), (0, f"{path} is valid\n", ""))
        path = self.file("version: 1\nlocks: {ttl: 5s}\nauth: {password: topsecret}\n")
        code, shown, complaints = run("--config", path, "--listen", "127.0.0.1:7000",
                                      "--dump-config")
        self.assertEqual(code, 0)
        self.assertRegex(complaints, r"^\S+:3:\d+: warning: auth\.password: ")
        self.assertNotIn("topsecret", complaints)
        self.assertRegex(shown, r"ttl: 5s +# .*latchd\.yaml:2")
        self.assertRegex(shown, r"address: 127\.0\.0\.1:7000 +# command line")
        self.assertNotIn("topsecret", shown)
        # What was dumped is a file again.
        self.assertEqual(run("--config", self.file(shown), "--check-config")[0], 0)

    def test_all_errors_are_told_at_once_with_their_place(self):
        path = self.file("version: 1\nlocks:\n  tll: 5s\n  ttl_max: 30\n  ttl: 5s\n  ttl: 6s\n")
        code, shown, complaints = run("--config", path, "--check-config")
        self.assertEqual((code, shown), (CONFIGURATION, ""))
        for wanted in [r"latchd\.yaml:3:3: .*tll.*ttl", r"latchd\.yaml:4:\d+: ",
                       r"latchd\.yaml:6:3: "]:
            self.assertRegex(complaints, wanted)
        self.assertEqual(run("--config", path)[0], CONFIGURATION)

    def test_wrong_usage_has_an_exit_code_of_its_own(self):
        for arguments in [("--nosuch",), ("--check-config", "--dump-config"), ("stray",),
                          ("--config", "")]:
            with self.subTest(arguments=arguments):
                code, shown, complaints = run(*arguments)
                self.assertEqual((code, shown), (USAGE, ""))
                self.assertIn("--help", complaints)
        self.assertEqual(run("--config", str(self.folder / "none.yaml"))[0], CONFIGURATION)
        self.assertEqual(run("--store", "local:", "--store", "redis://127.0.0.1", "--check-config")[0], CONFIGURATION)
        self.assertEqual(run("--threads", "0", "--check-config")[0], CONFIGURATION)

    def test_help_and_version(self):
        code, shown, _ = run("--help")
        self.assertEqual(code, 0)
        for option in ["--listen", "--store", "--cluster", "--node", "--state-dir",
                       "--runtime-dir", "--threads", "--check-config", "--dump-config"]:
            self.assertIn(option, shown)
        self.assertRegex(run("--version")[1], r"^latchd \d+\.\d+\.\d+\n$")

    def test_the_example_files_are_valid(self):
        for path in sorted((harness.ROOT / "conf").glob("*.yaml")):
            with self.subTest(file=path.name):
                self.assertEqual(run("--config", str(path), "--check-config")[0::2], (0, ""))


class Start(harness.Case):
    def test_a_second_instance_is_refused_by_the_pid_of_the_first(self):
        first = self.latchd()
        name = f"{os.uname().nodename}:{first.port}"
        code, _, said = run("--listen", "127.0.0.1:0", "--node", name,
                            "--state-dir", str(first.folder / "state"),
                            "--runtime-dir", str(first.folder / "run"), "--log-target", "stderr")
        self.assertEqual(code, UNAVAILABLE, said)
        self.assertRegex(said, rf"\b{first.pid}\b")
        self.assertEqual(first.ask("PING"), b"PONG")

    def test_a_port_in_use_is_refused(self):
        first = self.latchd()
        code, _, said = run("--listen", f"127.0.0.1:{first.port}", "--state-dir",
                            str(self.folder / "s"), "--runtime-dir", str(self.folder / "r"),
                            "--log-target", "stderr")
        self.assertEqual(code, UNAVAILABLE, said)
        self.assertIn(str(first.port), said)

    def test_a_unix_socket_serves_and_is_cleared_away(self):
        path = str(self.folder / "latchd.sock")
        latchd = self.latchd("--listen", f"unix:{path}")
        self.assertEqual(latchd.address, path)
        token = latchd.ask("LOCK", "r", "1")[0]
        self.assertIn(path, latchd.ask("CLIENT", "LIST").decode())
        # What a killed process left is no obstacle.
        latchd.kill()
        latchd.restart()
        self.assertEqual(latchd.ask("UNLOCK", "r", "1", token), 1)
        self.assertEqual(latchd.stop(), 0)
        self.assertFalse(os.path.exists(path))

    def test_two_listeners_share_the_locks(self):
        path = str(self.folder / "latchd.sock")
        latchd = self.latchd("--listen", "127.0.0.1:0", "--listen", f"unix:{path}")
        with harness.Client(path) as client:
            self.lock(client, "r", "1")
            self.assertIsNone(latchd.ask("LOCK", "r", "1"))

    def test_unwritable_folders_are_a_warning_and_no_refusal(self):
        blocker = self.folder / "file"
        blocker.write_text("")
        latchd = self.latchd("--state-dir", str(blocker / "s"), "--runtime-dir",
                             str(blocker / "r"))
        self.assertIn("warning", latchd.said())
        self.assertEqual(len(latchd.ask("LOCK", "r", "1")), 5)

    @harness.needs("redis-cli")
    def test_the_programs_that_the_readme_names_serve(self):
        page = (harness.ROOT / "README.md").read_text("utf-8")
        commands = re.findall(r"\$ (redis-cli -p 6385 .*?)(?:\n|   )", page)
        self.assertGreaterEqual(len(commands), 3)
        latchd, token, shown = self.latchd(), None, []
        for command in commands[:3]:
            words = command.replace("6385", str(latchd.port)).split()
            if words[3] == "UNLOCK":
                words[-1] = token
            done = subprocess.run(words, capture_output=True, text=True, timeout=20, check=True)
            token = token or done.stdout.split()[0]
            shown.append(done.stdout.split())
        self.assertEqual((len(shown[0]), shown[1], shown[2]), (5, [], ["1"]))


class Ends(harness.Case):
    def test_sigterm_tells_waiters_renews_kept_locks_and_flushes_replies(self):
        redis = self.redis()
        latchd = self.node(redis, "n1")
        client, waiter = latchd.client(), latchd.client()
        kept, closing, plain = client.pipeline([
            ("LOCK", "r", "kept", "PX", 20000, "KEEP"),
            ("LOCK", "r", "closing", "PX", 20000, "KEEP", "ONCLOSE", "RELEASE"),
            ("LOCK", "r", "plain", "PX", 20000)])
        waiter.send("LOCK", "r", "kept", "WAIT", 60000)
        harness.wait_until(lambda: latchd.info("locks")["locks_waiting"] == "1")
        ends = self.ends(redis)
        latchd.signal(signal.SIGTERM)
        reply = waiter.read()
        self.assertIsInstance(reply, harness.Error, reply)
        self.assertEqual(reply.word, "NOSTORE", reply)
        self.assertEqual(latchd.wait(), 0)
        self.assertEqual(client.read_to_end(), b"")
        self.assertEqual(redis.keys("lock:*"), [b"lock:r:kept", b"lock:r:plain"])
        after = self.ends(redis)
        self.assertGreater(after[b"lock:r:kept"], ends[b"lock:r:kept"])
        self.assertEqual(after[b"lock:r:plain"], ends[b"lock:r:plain"])
        self.assertEqual(len({kept[0], closing[0], plain[0]}), 3)
        self.assertIn("node.ended", latchd.said())

    def test_a_drain_leaves_onclose_locks_to_their_connections(self):
        redis = self.redis()
        latchd = self.node(redis, "n1")
        client = latchd.client()
        self.lock(client, "r", "closing", "PX", 20000, "KEEP", "ONCLOSE", "RELEASE")
        self.assertEqual(latchd.client().ask("LATCHD", "DRAIN"), b"OK")
        self.assertEqual(client.ask("PING"), b"PONG")
        self.assertEqual(redis.keys("lock:*"), [b"lock:r:closing"])
        client.close()
        harness.wait_until(lambda: redis.keys("lock:*") == [])

    @staticmethod
    def ends(redis):
        """When the leases end, by the server's clock."""
        return {key: redis.ask("PEXPIRETIME", key) for key in redis.keys("lock:*")}

    def test_a_pipeline_in_flight_is_answered_before_the_end(self):
        latchd = self.node(self.redis(), "n1")
        client = latchd.client()
        client.send_bytes(b"".join(b"LOCK r %d PX 60000\r\n" % n for n in range(500)))
        replies = client.read_many(1)
        latchd.signal(signal.SIGTERM)
        data = client.read_to_end()
        at = 0
        while at < len(data):
            value, at = resp_client.parse(data, at)
            replies.append(value)
        self.assertEqual(latchd.wait(), 0)
        for reply in replies:
            if isinstance(reply, harness.Error):
                self.assertIn(reply.word, ("NOSTORE", "ERR"))
            else:
                self.assertEqual(len(reply), 5)

    def test_sigterm_with_a_stopped_store_ends_in_time(self):
        redis = self.redis()
        latchd = self.node(redis, "n1")
        client = latchd.client()
        self.lock(client, "r", "1", "PX", 20000, "KEEP")
        redis.freeze()
        client.send("LOCK", "r", "2", "WAIT", 60000)
        with harness.Stalls() as stalls:
            begin = time.monotonic()
            latchd.signal(signal.SIGTERM)
            self.assertIsInstance(client.read(), harness.Error)
            self.assertEqual(latchd.wait(), 0)
            self.assertLess(time.monotonic() - begin, 6 * harness.SLOWNESS + stalls.seconds)

    def test_shutdown_ends_it_as_sigterm_does(self):
        latchd = self.latchd()
        client = latchd.client()
        client.send("SHUTDOWN")
        client.read_to_end()
        self.assertEqual(latchd.wait(), 0)

    def test_grants_survive_kill_9_and_fences_rise(self):
        latchd = self.latchd()
        client = latchd.client()
        grants = {n: self.lock(client, "r", n, "PX", 60000) for n in range(50)}
        latchd.kill()
        latchd.restart()
        client = latchd.client()
        top = max(grant[1] for grant in grants.values())
        for number, grant in grants.items():
            self.assertIsNone(client.ask("LOCK", "r", number))
            self.assertGreater(client.ask("RENEW", "r", number, grant[0]), 0)
            self.assertEqual(client.ask("UNLOCK", "r", number, grant[0]), 1)
        self.assertGreater(self.lock(client, "r", "new")[1], top)

    def test_what_was_cancelled_stays_so_after_kill_9(self):
        latchd = self.latchd()
        client = latchd.client()
        token = self.lock(client, "r", "kept", "REQ", "first", "PX", 60000)[0]
        self.lock(client, "r", "told", "REQ", "wish", "PX", 60000)
        self.assertEqual(client.ask("CANCEL", "r", "told", "wish"), 1)
        self.assertEqual(client.ask("CANCEL", "r", "late", "wish"), 0)
        for _ in range(2):
            latchd.kill()
            latchd.restart()
            client = latchd.client()
            for name in "told", "late":
                self.assert_error(client.ask("LOCK", "r", name, "REQ", "wish"), "ERR cancelled")
                other = self.lock(client, "r", name, "REQ", "another")
                self.assertEqual(client.ask("UNLOCK", "r", name, other[0]), 1)
            self.assertGreater(client.ask("RENEW", "r", "kept", token), 0)

    def test_a_node_on_redis_speaks_for_its_former_self_after_kill_9(self):
        redis = self.redis()
        latchd = self.node(redis, "n1")
        client = latchd.client()
        token, fence, *_ = self.lock(client, "r", "1", "PX", 30000)
        latchd.kill()
        latchd.restart()
        latchd.wait_for_store()
        self.assertIsNone(latchd.ask("LOCK", "r", "1"))
        self.assertGreater(latchd.ask("RENEW", "r", "1", token), 0)
        self.assertEqual(latchd.ask("UNLOCK", "r", "1", token), 1)
        self.assertGreater(latchd.ask("LOCK", "r", "1")[1], fence)


class Events(harness.Case):
    def test_pushes_come_only_to_connections_that_asked(self):
        latchd = self.latchd()
        asked, silent, old = latchd.client(), latchd.client(), latchd.client()
        for client in (asked, silent):
            self.assertEqual(client.ask("HELLO", 3)[b"proto"], 3)
        self.assertEqual(asked.ask("LATCHD", "EVENTS", "ON"), b"OK")
        for number, client in enumerate((asked, silent, old)):
            self.lock(client, "r", number, "OWNER", "o")
            self.assertEqual(latchd.ask("FORCEUNLOCK", "r", number), 1)
        push = asked.read()
        self.assertIsInstance(push, harness.Push)
        self.assertEqual(push[:4], [b"latchd", b"revoked", b"r", b"0"])
        self.assertEqual(push[5], b"o")
        for client in (silent, old):
            self.assertTrue(client.is_silent(0.1))
            self.assertEqual(client.ask("PING"), b"PONG")
        asked.ask("LATCHD", "EVENTS", "OFF")
        self.lock(asked, "r", 9)
        latchd.ask("FORCEUNLOCK", "r", 9)
        self.assertEqual(asked.ask("PING"), b"PONG")
        self.assertTrue(asked.is_silent(0.1))

    def test_a_push_never_lands_inside_a_reply(self):
        latchd = self.latchd()
        client, other = latchd.client(), latchd.client()
        client.ask("HELLO", 3)
        client.ask("LATCHD", "EVENTS", "ON")
        client.ask("SUBSCRIBE", "latchd:events:r")
        events, replies = 0, 0
        for number in range(200):
            self.lock(other, "r", number)
            client.send_bytes(b"ECHO 0123456789\r\n" * 5)
            self.assertEqual(other.ask("FORCEUNLOCK", "r", number), 1)
        while replies < 1000 or events < 200:
            value = client.read()
            if isinstance(value, harness.Push):
                events += 1
            else:
                self.assertEqual(value, b"0123456789")
                replies += 1
        self.assertEqual((replies, events), (1000, 200))

    def test_events_name_what_happened_to_subscribers_by_pattern(self):
        redis = self.redis()
        latchd = self.node(redis, "n1")
        listener, holder = latchd.client(), latchd.client()
        listener.ask("PSUBSCRIBE", "latchd:events:*")
        self.lock(holder, "r", "expired", "PX", 1000)
        message = listener.read()
        self.assertEqual(message[:3], [b"pmessage", b"latchd:events:*", b"latchd:events:r"])
        self.assertRegex(message[3].decode(), r"^lost r/expired#\d+ owner=- ")
        self.lock(holder, "r", "a b", "OWNER", "x\r\ny")
        latchd.ask("FORCEUNLOCK", "r", "a b")
        self.assertRegex(listener.read()[3].decode(), r"^revoked r/a%20b#\d+ owner=x%0D%0Ay ")
        listener.ask("PUNSUBSCRIBE")
        self.lock(holder, "r", "unheard")
        latchd.ask("FORCEUNLOCK", "r", "unheard")
        self.assertEqual(listener.ask("PING"), b"PONG")


class Seen(harness.Case):
    def test_no_log_line_shows_a_whole_token(self):
        latchd = self.latchd()
        client = latchd.client()
        tokens = []
        for number in range(10):
            grant = self.lock(client, "r", number, "REQ", f"request-{number}-{'q' * 20}", "KEEP")
            tokens.append(grant[0].decode())
            client.ask("RENEW", "r", number, grant[0])
        client.ask("UNLOCK", "r", "0", tokens[0])
        client.ask("FORCEUNLOCK", "r", "1")
        client.ask("UNLOCK", "r", "1", "not-a-token-of-anybody")
        shown = latchd.said() + client.ask("SLOWLOG", "GET", "-1").__repr__()
        for secret in tokens + [f"request-{n}-{'q' * 20}" for n in range(10)]:
            self.assertNotIn(secret, shown)
        self.assertRegex(shown, r"lock\.granted: r/3#\d+ .*client 127")
        self.assertRegex(shown, r"lock\.released: r/0#\d+ ")

    def test_info_counts_what_was_done(self):
        latchd = self.latchd()
        client = latchd.client()
        before = latchd.info("locks")
        token = self.lock(client, "r", "1")[0]
        client.ask("LOCK", "r", "1")
        client.ask("LOCK", "r", "1", "WAIT", 20)
        client.ask("RENEW", "r", "1", token)
        client.ask("UNLOCK", "r", "1", token)
        after = latchd.info("locks")
        for name, more in [("acquired", 1), ("released", 1), ("renewed", 1), ("wait_timeouts", 1)]:
            key = f"locks_{name}"
            self.assertEqual(int(after[key]) - int(before[key]), more, name)
        self.assertGreaterEqual(int(after["locks_contended"]) - int(before["locks_contended"]), 1)
        self.assertEqual((after["locks_held"], after["locks_waiting"]), ("0", "0"))
        info = latchd.info()
        self.assertEqual(info["process_id"], str(latchd.pid))
        self.assertEqual(info["tcp_port"], str(latchd.port))


if __name__ == "__main__":
    unittest.main()
