# SPDX-FileCopyrightText: 2026 The latchd authors
# SPDX-License-Identifier: Apache-2.0
"""What goes wrong around latchd is told where an operator looks, and costs no more than it must."""

import pathlib
import signal
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
import harness
import mariadb
from fleet import config_text
from harness import Client, Program, wait_until


def status(node):
    """LATCHD STATUS as a dict of strings."""
    with node.client() as client:
        return status_of(client)


def status_of(client):
    flat = client.ask("LATCHD", "STATUS")
    return {key.decode(): value.decode() if isinstance(value, bytes) else value
            for key, value in zip(flat[::2], flat[1::2])}


def complaints(node):
    """LATCHD DOCTOR as a text."""
    return b"\n".join(node.ask("LATCHD", "DOCTOR")).decode()


def lines(node, event):
    return node.said().count(f" {event}: ")


class FileLog(harness.Case):
    """The harness reads the port from standard error: these are asked at a socket."""

    def start(self, target, *arguments):
        path = str(self.folder / "latchd.sock")
        program = self.add(Program("latchd", self.folder / "latchd"))
        program.spawn([harness.latchd_program(), "--listen", f"unix:{path}",
                       "--state-dir", str(self.folder / "s"), "--runtime-dir",
                       str(self.folder / "r"), "--log-target", f"file:{target}", *arguments],
                      env=harness.clean_environment())
        wait_until(lambda: pathlib.Path(path).exists() or not program.is_running(),
                   what="latchd listening")
        self.assertTrue(program.is_running(), program.said())
        client = Client(path)
        self.addCleanup(client.close)
        return program, client

    def test_a_full_disk_costs_lines_and_nothing_else(self):
        program, client = self.start("/dev/full", "--threads", "2")
        for i in range(20):
            grant = self.lock(client, "r", str(i))
            self.assertEqual(client.ask("FORCEUNLOCK", "r", str(i)), 1, grant)
        shown = status_of(client)
        self.assertEqual(shown["state"], "ok")
        self.assertIn("/dev/full: lines cannot be written (No space left on device)", shown["warnings"])
        self.assertIn("/dev/full", b"\n".join(client.ask("LATCHD", "DOCTOR")).decode())
        self.assertGreater(int(harness.fields(client.ask("INFO", "latchd"))["latchd_log_dropped"]), 20)
        self.assertEqual(program.said().count("No space left on device"), 1, program.said())
        self.assertEqual(program.stop(), 0)

    def test_sighup_opens_a_renamed_file_anew(self):
        log = self.folder / "latchd.log"
        program, client = self.start(str(log))
        wait_until(lambda: log.exists() and "node.started" in log.read_text("utf-8"))
        log.rename(self.folder / "latchd.log.1")
        program.signal(signal.SIGHUP)
        wait_until(lambda: log.exists() and "log.reopened" in log.read_text("utf-8"),
                   what="the new file")
        self.assertNotIn("log.reopened", (self.folder / "latchd.log.1").read_text("utf-8"))
        self.lock(client, "r", "1")
        self.assertEqual(client.ask("FORCEUNLOCK", "r", "1"), 1)
        self.assertIn("audit.forceunlock", log.read_text("utf-8"))


class NoJournal(harness.Case):
    def assert_told(self, node, client):
        shown = status_of(client)
        self.assertEqual(shown["state"], "ok")
        for text in (shown["warnings"], complaints(node), node.info("latchd")["latchd_warnings"]):
            self.assertIn("grants are not written down", text)
            self.assertIn("runtime_dir", text)

    def test_a_folder_that_cannot_be_used(self):
        blocker = self.folder / "file"
        blocker.write_text("")
        node = self.latchd("--runtime-dir", str(blocker / "r"), "--threads", "2")
        for loop in (1, 2):
            self.assert_told(node, node.client_of_loop(loop))

    def test_a_journal_that_cannot_be_made(self):
        (self.folder / "r" / "a" / "journal.new" / "x").mkdir(parents=True)
        for folder in (self.folder / "r", self.folder / "r" / "a"):
            folder.chmod(0o700)
        node = self.latchd("--node", "a", "--runtime-dir", str(self.folder / "r"))
        self.assert_told(node, node.client())

    def test_epochs_that_are_not_written_down(self):
        blocker = self.folder / "file"
        blocker.write_text("")
        node = self.latchd("--state-dir", str(blocker / "s"))
        self.assertIn("state_dir", status(node)["warnings"])

    def test_a_state_that_is_there_and_can_t_be_written(self):
        state = self.folder / "s"
        node = self.latchd("--node", "a", "--state-dir", str(state))
        node.stop()
        (state / "a" / "state.new").unlink()
        (state / "a" / "state.new").mkdir()
        node.restart()
        node.wait_for_store()
        self.assertIn("state_dir", status(node)["warnings"])
        self.assertIn("state_dir", complaints(node))

    def test_a_node_that_writes_has_no_warning(self):
        node = self.latchd()
        self.assertEqual(status(node)["warnings"], "-")
        self.assertEqual(complaints(node), "nothing to complain about")

    def test_a_table_that_is_full_names_its_limit(self):
        node = self.latchd(config="stores: [{type: local, max_locks: 100}]\n")
        with node.client() as client:
            replies = client.pipeline([("LOCK", "m", str(i), "PX", 60_000) for i in range(103)])
        self.assertEqual([len(reply) for reply in replies[:100]], [5] * 100)
        self.assert_error(replies[100], "LIMIT journal: 100 locks are held")
        self.assertIn("max_locks", replies[100])
        self.assertIn("max_locks", complaints(node))


class FullDisks(harness.Case):
    """Both folders are on a file system of the test's own."""

    def setUp(self):
        super().setUp()
        place = self.folder / "disk"
        place.mkdir()
        holder = self.add(Program("disk", self.folder / "holder"))
        holder.spawn(["unshare", "--map-root-user", "--mount", "sh", "-c",
                      'mount -t tmpfs -o size=2m none "$0" && exec sleep 600', str(place)])
        self.disk = pathlib.Path(f"/proc/{holder.pid}/root{place}")
        wait_until(lambda: self.disk.is_mount() or not holder.is_running(), what="a file system")
        if not holder.is_running():
            self.skipTest(f"no mounts here: {holder.said()}")

    def fill(self):
        with open(self.disk / "filler", "wb", buffering=0) as filler:
            with self.assertRaisesRegex(OSError, "No space left"):
                while filler.write(bytes(4096)):
                    pass

    def started_several_times(self):
        """So its epoch is ahead of the 5-minute periods of the clock."""
        node = self.latchd("--node", "a", "--state-dir", str(self.disk / "s"),
                           "--runtime-dir", str(self.disk / "r"))
        for _ in range(3):
            node.kill()
            node.restart()
        return node

    def fence(self, node):
        return node.ask("LOCK", "r", "1", "PX", 100, "WAIT", 5000)[1]

    def test_fences_rise_over_restarts(self):
        node = self.started_several_times()
        self.fill()
        fences = [self.fence(node)]
        for _ in range(4):
            node.kill()
            node.restart()
            self.assertIn("grants are not written down", status(node)["warnings"])
            fences.append(self.fence(node))
        self.assertEqual(fences, sorted(set(fences)))
        self.assertNotIn("the epoch is not written down", status(node)["warnings"])

    def test_who_can_write_down_nothing_does_not_give_the_same_fences_again(self):
        node = self.started_several_times()
        before = self.fence(node)
        node.kill()
        (self.disk / "s" / "a" / "state.new").unlink(missing_ok=True)
        self.fill()
        with self.assertRaisesRegex(AssertionError, "ended with 69 "):
            node.restart()
        self.assertRegex(node.said(), "would give the fences of epoch [0-9]+ again")
        for text in ("runtime_dir", "state_dir", str(self.disk / "s" / "a"), " minutes"):
            self.assertIn(text, node.said())
        (self.disk / "filler").unlink()
        node.restart()
        self.assertGreater(self.fence(node), before)


@harness.needs("redis-server")
class RedisSaysNo(harness.Case):
    def assert_is_one_line(self, redis, url):
        redis.ask("CONFIG", "RESETSTAT")
        node = self.latchd("--store", url, "--log-level", "info", serves=False)
        wait_until(lambda: int(redis.info("stats")["total_connections_received"]) > 30, 30, "tries to connect")
        self.assertEqual(lines(node, "store.connection_lost"), 1, node.said())
        self.assertLessEqual(lines(node, "store.no_permission"), 1, node.said())
        return node

    def test_a_missing_password_is_one_line(self):
        redis = self.redis(requirepass="pw")
        self.assert_is_one_line(redis, f"redis://127.0.0.1:{redis.port}")

    def test_a_replica_is_one_line(self):
        redis = self.redis(replicaof="127.0.0.1 1")
        self.assert_is_one_line(redis, redis.url)

    def test_rights_without_scripts_are_one_line(self):
        redis = self.redis()
        redis.ask("ACL", "SETUSER", "lim", "on", ">pw", "~*", "&*", "+@all", "-script")
        node = self.assert_is_one_line(redis, f"redis://lim:pw@127.0.0.1:{redis.port}")
        self.assertIn("+script", node.said())

    def test_rights_without_evalsha_name_the_rule(self):
        redis = self.redis()
        redis.ask("ACL", "SETUSER", "lim", "on", ">pw", "~*", "&*", "+@all", "-evalsha")
        node = self.latchd("--store", f"redis://lim:pw@127.0.0.1:{redis.port}", serves=False)
        wait_until(lambda: "+evalsha" in node.said(), what="the log naming the rule")
        self.assertIn("ACL SETUSER lim +evalsha", status(node)["reason"])
        reply = node.ask("LOCK", "r", "1")
        self.assert_error(reply, "NOSTORE")
        self.assertIn("ACL SETUSER lim +evalsha", reply)
        self.assertEqual(lines(node, "authority.arbiter"), 1, node.said())
        redis.ask("ACL", "SETUSER", "lim", "+evalsha")
        node.wait_for_store()

    def test_rights_without_channels_are_told_once_and_by_doctor(self):
        redis = self.redis()
        redis.ask("ACL", "SETUSER", "lim", "on", ">pw", "~*", "resetchannels", "+@all")
        node = self.latchd("--store", f"redis://lim:pw@127.0.0.1:{redis.port}", serves=False)
        wait_until(lambda: lines(node, "store.messages_lost") > 3, 20, "tries to subscribe")
        self.assertEqual(lines(node, "store.messages_refused"), 1, node.said())
        self.assertIn("&*latchd:*", complaints(node))
        self.assertIn("&*latchd:*", status(node)["warnings"])
        redis.ask("ACL", "SETUSER", "lim", "&*latchd:*")
        wait_until(lambda: status(node)["warnings"] == "-", 20, "the warning ending")

    def test_rights_without_the_keys_of_locks_are_told_by_who_is_refused(self):
        redis = self.redis()
        for kind in ("lock", "bar", "queue"):
            user = f"no{kind}"
            keys = [f"~{each}:*" for each in ("lock", "bar", "queue", "latchd") if each != kind]
            redis.ask("ACL", "SETUSER", user, "on", ">pw", *keys, "&*", "+@all")
            node = self.latchd("--store", f"redis://{user}:pw@127.0.0.1:{redis.port}",
                               "--node", user, serves=False)
            wait_until(lambda node=node: status(node)["state"] == "ok", 10, "a store")
            for _ in range(3):
                self.assert_error(node.ask("LOCK", "r", "1"), "NOSTORE NOPERM")
            self.assertIn(f"ACL SETUSER {user} ~*lock:*", status(node)["warnings"])
            self.assertIn(f"ACL SETUSER {user} ~*lock:*", complaints(node))
            self.assertEqual(lines(node, "store.no_permission"), 1, node.said())
            redis.ask("ACL", "SETUSER", user, f"~{kind}:*")
            node.wait_for_store()

    def test_rights_that_a_script_lacks_lead_to_the_rules(self):
        redis = self.redis()
        redis.ask("ACL", "SETUSER", "lim", "on", ">pw", "~*", "&*", "+@all", "-hset")
        node = self.latchd("--store", f"redis://lim:pw@127.0.0.1:{redis.port}", serves=False)
        wait_until(lambda: "ACL SETUSER lim " in complaints(node), 10, "the rules")
        self.assertIn("+@write", complaints(node))

    def test_rights_without_publish_are_told_once_and_by_doctor(self):
        redis = self.redis()
        redis.ask("ACL", "SETUSER", "lim", "on", ">pw", "~*", "&*", "+@all", "-publish")
        node = self.latchd("--store", f"redis://lim:pw@127.0.0.1:{redis.port}")
        wait_until(lambda: "+publish" in status(node)["warnings"], 10, "the warning")
        self.assertIn("ACL SETUSER lim +publish", complaints(node))
        probes = redis.commands()["time"]
        wait_until(lambda: redis.commands()["time"] > probes + 3, 20, "some probes more")
        self.assertEqual(lines(node, "store.messages_unsent"), 1, node.said())
        redis.ask("ACL", "SETUSER", "lim", "+publish")
        wait_until(lambda: status(node)["warnings"] == "-", 20, "the warning ending")

    def test_rights_without_client_kill_are_told(self):
        redis = self.redis()
        redis.ask("ACL", "SETUSER", "lim", "on", ">pw", "~*", "&*", "+@all", "-client|kill")
        node = self.latchd("--store", f"redis://lim:pw@127.0.0.1:{redis.port}")
        wait_until(lambda: "+client|kill" in status(node)["warnings"], 10, "the warning")
        self.assertEqual(complaints(node).count("ACL SETUSER lim +client|kill"), 1)
        self.assertEqual(lines(node, "store.kill_refused"), 1, node.said())
        redis.ask("ACL", "SETUSER", "lim", "+@all")
        redis.ask("CLIENT", "KILL", "USER", "lim")
        wait_until(lambda: status(node)["warnings"] == "-", 20, "the warning ending")

    def test_rights_without_the_channels_of_others_are_told(self):
        redis = self.redis()
        redis.ask("ACL", "SETUSER", "lim", "on", ">pw", "~*", "resetchannels",
                  "&latchd:node:a", "&latchd:nodes", "+@all")
        node = self.latchd("--store", f"redis://lim:pw@127.0.0.1:{redis.port}", "--node", "a")
        wait_until(lambda: "&*latchd:*" in status(node)["warnings"], 10, "the warning")


@harness.needs("mariadbd")
class MySqlSaysNo(harness.Case):
    def test_who_waits_is_told_that_a_table_is_gone_as_who_does_not(self):
        mysql = self.mariadb()
        node = self.latchd(config=config_text(None, mysql.address, resources=""))
        mysql.sql("RENAME TABLE lock_floor TO gone", mariadb.DATABASE)
        client = node.client()
        for words in [(), ("WAIT", 500)]:
            reply = client.ask("LOCK", "r", "1", *words)
            self.assert_error(reply, "NOSTORE")
            self.assertIn("lock_floor' doesn't exist", reply)

    def test_a_table_that_is_gone_is_no_good_health(self):
        mysql = self.mariadb()
        node = self.latchd(config=config_text(None, mysql.address, resources=""))
        self.assertEqual(status(node)["state"], "ok")
        for table in ("lock_record", "lock_floor"):
            mysql.sql(f"RENAME TABLE {table} TO gone", mariadb.DATABASE)
            wait_until(lambda: status(node)["state"] == "no_store", 10, "a table that is missed")
            self.assertIn(f"{table}' doesn't exist", status(node)["reason"])
            self.assertIn(f"{table}' doesn't exist", complaints(node))
            mysql.sql(f"RENAME TABLE gone TO {table}", mariadb.DATABASE)
            wait_until(lambda: status(node)["state"] == "ok", 10, "the table that is back")
            self.assertIsInstance(node.client().ask("LOCK", "r", table), list)


if __name__ == "__main__":
    unittest.main()
