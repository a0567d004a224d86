# SPDX-FileCopyrightText: 2026 The latchd authors
# SPDX-License-Identifier: Apache-2.0
"""Real processes for tests: latchd, redis-server, their folders, ports, logs and ends.

A test is a method of a Case. Whatever it starts ends with it, also when it fails; the end of the
log of each process is then printed. Nothing waits for a time to pass that could wait for an event:
use wait_until(). Tests may run side by side with others.

    class Locks(harness.Case):
        def test_a_lock_is_exclusive(self):
            latchd = self.latchd("--store", self.redis().url)
            self.assertEqual(latchd.client().ask("LOCK", "r", "1")[3], 1)

Environment: LATCHD names the program; LATCHD_TEST_SEED repeats a run; LATCHD_TEST_FULL=1 asks for
the long forms; LATCHD_TEST_SLOWNESS multiplies deadlines (sanitizers); LATCHD_TEST_KEEP=1 keeps
the folder, and so all logs, of a test that failed.
"""

import functools
import os
import pathlib
import random
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

import mariadb
from program import (  # noqa: F401 (for the tests)
    FULL, SLOWNESS, Program, Stalls, die_with_parent, free_port, wait_until)
from resp_client import Client, Closed, Error, Push, Simple  # noqa: F401 (for the tests)

ROOT = pathlib.Path(__file__).resolve().parents[2]
SEED = int(os.environ.get("LATCHD_TEST_SEED", "0")) or random.SystemRandom().randrange(1, 1 << 32)
KEEPS = os.environ.get("LATCHD_TEST_KEEP", "") not in ("", "0")
REDIS_SERVER = shutil.which("redis-server")
REDIS_CLI = shutil.which("redis-cli")

_REPORTS = re.compile(r"ERROR: \w+Sanitizer|WARNING: ThreadSanitizer|: runtime error: ")


def latchd_program():
    """The program under test."""
    named = os.environ.get("LATCHD")
    path = pathlib.Path(named) if named else ROOT / "build/test/src/app/latchd"
    if not path.is_file():
        raise unittest.SkipTest(f"no program {path}: LATCHD names it")
    return str(path.resolve())


class RedisServer(Program):
    """redis-server on a port of its own, without saving; `options` as in redis.conf."""

    def __init__(self, folder, options, environment=None):
        super().__init__("redis-server", folder)
        self.environment = environment or {}
        self.port = free_port()
        self.password = options.get("requirepass", "")
        # A replica gets its data at once, not in 5 s, together with others that may come.
        self.options = {"bind": "127.0.0.1", "save": "", "appendonly": "no", "daemonize": "no",
                        "repl-diskless-sync-delay": "0", "dir": str(self.folder)} | options
        self.start()

    @property
    def address(self):
        return ("127.0.0.1", self.port)

    @property
    def url(self):
        login = f":{self.password}@" if self.password else ""
        return f"redis://{login}127.0.0.1:{self.port}"

    def start(self, keep_port=False):
        """Starts it, on another port when somebody took this one in between."""
        for _ in range(20):
            self.begin_to_start()
            wait_until(lambda: "Ready to accept connections" in self.said()
                       or not self.is_running(), what="redis-server starting")
            if self.is_running():
                self._check_it_is_ours()
                return
            if keep_port or "in use" not in self.said():
                break
            self.port = free_port()
        raise AssertionError(f"redis-server ended:\n{self.said()[-2000:]}")

    def begin_to_start(self):
        """As start(), without waiting until it has loaded its dump."""
        command = [REDIS_SERVER, "--port", str(self.port)]
        for name, value in self.options.items():
            command += [f"--{name}", *str(value).split(" ")]
        self.spawn(command, env=dict(os.environ) | self.environment)

    def _check_it_is_ours(self):
        info = wait_until(lambda: self.info("server"), what="redis-server answering")
        if int(info["process_id"]) != self.pid:
            raise AssertionError(f"port {self.port} is another server's")

    def restart(self):
        """After kill() or stop(): on the same port, with the data of the dump if there is one."""
        self.start(keep_port=True)

    def drop_dump(self):
        (self.folder / "dump.rdb").unlink(missing_ok=True)

    def client(self, **options):
        client = Client(self.address, **options)
        if self.password and client.ask("AUTH", self.password) != b"OK":
            raise AssertionError("the password of the test's own redis-server is refused")
        return client

    def ask(self, *words):
        """One command on a connection of its own."""
        with self.client() as client:
            return client.ask(*words)

    def info(self, section):
        return fields(self.ask("INFO", section))

    def commands(self):
        """{command in lower case: calls since CONFIG RESETSTAT}."""
        return {name.removeprefix("cmdstat_"): int(re.search(r"calls=(\d+)", value).group(1))
                for name, value in self.info("commandstats").items()}

    def keys(self, pattern="*"):
        return sorted(self.ask("KEYS", pattern))


class Latchd(Program):
    """latchd; the port is its own choice unless the arguments name a --listen.

    `config` is the text of a configuration file without its version, with or without a `listen`;
    the address in that has port 0, too."""

    def __init__(self, folder, arguments, environment=None, open_files=None, config=None,
                 password=None):
        super().__init__("latchd", folder)
        self.arguments = list(arguments)
        self.password = password
        self.config = self._config_file(config)
        self.environment = environment or {}
        self.open_files = open_files
        self.address = None
        self.port = None
        self.clients = []
        self.start()

    def _config_file(self, text):
        """The file of this YAML (without its version) and of the password; None: neither."""
        if text is None and self.password is None:
            return None
        if self.password is not None:
            text = (text or "") + f"\nauth: {{password: {self.password}}}\n"
        path = self.folder / "latchd.yaml"
        path.write_text("version: 1\n" + text, encoding="utf-8")
        path.chmod(0o600)
        return str(path)

    def command(self):
        defaults = {"--listen": "127.0.0.1:0", "--state-dir": str(self.folder / "state"),
                    "--runtime-dir": str(self.folder / "run"), "--log-target": "stderr",
                    "--log-level": "debug"}
        if self.config:
            defaults["--config"] = self.config
            if "listen:" in pathlib.Path(self.config).read_text("utf-8"):
                del defaults["--listen"]
        command = [latchd_program()]
        for name, value in defaults.items():
            if name not in self.arguments:
                command += [name, value]
        return command + self.arguments

    def start(self):
        command = self.command()
        if self.open_files:
            command = ["/usr/bin/prlimit", f"--nofile={self.open_files}"] + command
        self.spawn(command, env=clean_environment() | self.environment)
        said = self.wait_for(r"node\.started: .* serves locks on (\S+?),? ").group(1)
        if said.startswith("unix:"):
            self.address, self.port = said.removeprefix("unix:"), None
        else:
            host, port = said.rsplit(":", 1)
            self.address, self.port = (host, int(port)), int(port)

    def restart(self):
        """After kill() or stop(): as the same node, on the same port."""
        if self.port and "--listen" not in self.arguments:
            self.arguments += ["--listen", f"127.0.0.1:{self.port}"]
        self.start()

    def client(self, **options):
        """A new connection, closed with the test at the latest."""
        client = Client(self.address, **options)
        self.clients.append(client)
        return client

    def client_of_loop(self, loop, **options):
        """A new connection to that event loop (from 1): the kernel chooses, so until it is one."""
        for _ in range(200):
            client = Client(self.address, **options)
            if self.password is not None:
                client.ask("AUTH", self.password)
            if f" loop={loop} " in client.ask("CLIENT", "INFO").decode():
                self.clients.append(client)
                return client
            client.close()
        raise AssertionError(f"no connection of 200 came to loop {loop}")

    def ask(self, *words, **options):
        """One command on a connection of its own."""
        with Client(self.address) as client:
            if self.password is not None:
                client.ask("AUTH", self.password)
            return client.ask(*words, **options)

    def info(self, section="everything"):
        return fields(self.ask("INFO", section))

    def wait_for_store(self, deadline=10.0):
        """Returns once it grants: a lock of a resource that no test uses."""
        def granted():
            reply = self.ask("LOCK", "harness", "ready", "PX", 1000, "OWNER", "harness")
            return isinstance(reply, list) and self.ask("UNLOCK", "harness", "ready", reply[0]) == 1
        wait_until(granted, deadline, "latchd serving from its store")
        return self

    def close_clients(self):
        for client in self.clients:
            client.close()
        self.clients.clear()


def clean_environment():
    """The environment without what would configure latchd or send its log elsewhere."""
    return {name: value for name, value in os.environ.items()
            if not name.startswith("LATCHD_") and name not in
            ("JOURNAL_STREAM", "NOTIFY_SOCKET", "STATE_DIRECTORY", "RUNTIME_DIRECTORY",
             "WATCHDOG_USEC", "LISTEN_FDS", "XDG_RUNTIME_DIR")}


def fields(info):
    """INFO's text as a dict."""
    return dict(line.split(":", 1) for line in info.decode().splitlines()
                if ":" in line and not line.startswith("#"))


class Case(unittest.TestCase):
    """A test with a folder, processes that end with it, and a seed that is printed."""

    maxDiff = None

    def setUp(self):
        super().setUp()
        self.programs = []
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="latchd-test-"))
        self.seed = SEED
        self.random = random.Random(f"{SEED} {self.id()}")
        self.addCleanup(self._remove_folder)
        self.addCleanup(self._end_all)

    def _remove_folder(self):
        if KEEPS and _has_failed(self):
            print(f"\nkept: {self.folder}", file=sys.stderr)
        else:
            shutil.rmtree(self.folder, ignore_errors=True)

    def _end_all(self):
        """Ends everything; a latchd that SIGTERM doesn't end, or was reported, fails the test."""
        complaints = []
        for program in reversed(self.programs):
            if isinstance(program, Latchd):
                program.close_clients()
                complaints += self._end_latchd(program)
            program.kill()
        failed = bool(complaints) or _has_failed(self)
        if failed:
            print(f"\nseed of {self.id()}: LATCHD_TEST_SEED={self.seed}", file=sys.stderr)
            for program in self.programs:
                print(f"--- log of {program.name} in {program.folder.name}:\n"
                      f"{program.log.read_text('utf-8', 'replace')[-4000:]}", file=sys.stderr)
        if complaints:
            self.fail("; ".join(complaints))

    @staticmethod
    def _end_latchd(program):
        complaints = []
        if program.is_running():
            program.thaw()
            try:
                code = program.stop()
                if code != 0:
                    complaints.append(f"latchd ended with {code} after SIGTERM")
            except AssertionError as error:
                complaints.append(str(error))
        if _REPORTS.search(program.log.read_text("utf-8", "replace")):
            complaints.append("a sanitizer reported")
        return complaints

    def add(self, program):
        self.programs.append(program)
        return program

    def _folder_of(self, kind):
        return self.folder / f"{kind}{len(self.programs)}"

    def redis(self, environment=None, **options):
        """Starts a redis-server; options as in redis.conf with _ for -."""
        if REDIS_SERVER is None:
            self.skipTest("redis-server is not installed")
        options = {name.replace("_", "-"): value for name, value in options.items()}
        return self.add(RedisServer(self._folder_of("redis"), options, environment))

    def mariadb(self, *options, environment=None, server_id=1):
        """Starts a mariadbd; options are its arguments."""
        return self.add(mariadb.MariaDb(self._folder_of("mariadb"), options, environment,
                                        server_id))

    def mariadb_replica(self, master, server_id=2):
        """Starts a replica of a mariadbd that has --log-bin and --log-slave-updates."""
        master.allow_replicas()
        replica = self.add(master.copy_of(self._folder_of("mariadb"), server_id))
        replica.follow(master)
        return replica

    def latchd(self, *arguments, serves=True, **options):
        """Starts a latchd; with `serves`, returns once its store grants."""
        program = Latchd.__new__(Latchd)
        self.programs.append(program)
        try:
            program.__init__(self._folder_of("latchd"), arguments, **options)
        except BaseException:
            if program.__dict__.get("process") is None:
                self.programs.remove(program)
            raise
        return program.wait_for_store() if serves else program

    def node(self, redis, name, *arguments, **options):
        """Starts a latchd over the redis-server under a node name."""
        return self.latchd("--store", redis.url, "--node", name, *arguments, **options)

    def lock(self, client, *words, **options):
        """Asks for a lock that must be granted; returns [token, fence, ttl, holds, tier]."""
        reply = client.ask("LOCK", *words, **options)
        self.assertIsInstance(reply, list, f"LOCK {words} was answered {reply!r}")
        self.assertEqual(len(reply), 5, reply)
        return reply

    def assert_error(self, reply, start):
        self.assertIsInstance(reply, Error, f"wanted -{start}…, got {reply!r}")
        self.assertTrue(reply.startswith(start), f"wanted -{start}…, got -{reply}")


def _has_failed(case):
    outcome = getattr(case, "_outcome", None)
    result = getattr(outcome, "result", None)
    if result is None:
        return False
    known = [test for test, _ in getattr(result, "failures", []) + getattr(result, "errors", [])]
    return not getattr(outcome, "success", True) or case in known


def full_only(reason):
    """A test of tools/test --full only."""
    return unittest.skipUnless(FULL, f"{reason}; LATCHD_TEST_FULL=1 runs it")


def needs(*programs):
    """Skips the test unless these programs are installed."""
    missing = [name for name in programs if shutil.which(name) is None]
    return unittest.skipIf(missing, f"not installed: {', '.join(missing)}")


@functools.lru_cache(maxsize=None)
def is_sanitized():
    """Whether the program under test is slowed by a sanitizer."""
    with open(latchd_program(), "rb") as program:
        data = program.read()
    return b"__asan_init" in data or b"__tsan_init" in data
