# SPDX-FileCopyrightText: 2026 The latchd authors
# SPDX-License-Identifier: Apache-2.0
"""mariadbd for tests: installed once, copied for each start, with replicas by GTID.

    mysql = mariadb.MariaDb(folder)
    mysql.sql("CREATE DATABASE other")
    mysql.kill(); mysql.restart()
"""

import fcntl
import os
import pathlib
import shutil
import subprocess
import tempfile
import unittest

from program import Program, free_port, wait_until

MARIADBD = shutil.which("mariadbd", path=os.environ.get("PATH", "") + ":/usr/sbin")
INSTALL = shutil.which("mariadb-install-db")
CLIENT = shutil.which("mariadb")
USER, PASSWORD, DATABASE = "latchd", "open-sesame", "latchd"

# Small and quick to start; what it promises about commits is a server's default.
_OPTIONS = ["--bind-address=127.0.0.1", "--skip-name-resolve", "--innodb-log-file-size=8M",
            "--innodb-buffer-pool-size=24M", "--innodb-flush-log-at-trx-commit=1",
            "--innodb-buffer-pool-dump-at-shutdown=0", "--innodb-fast-shutdown=2",
            "--performance-schema=0", "--max-connections=200", "--character-set-server=utf8mb4",
            "--log-warnings=2"]


def _as_root():
    return ["--user=root"] if os.geteuid() == 0 else []


def template():
    """A data directory as mariadb-install-db makes it, made by the first who asks."""
    if None in (MARIADBD, INSTALL, CLIENT):
        raise unittest.SkipTest("mariadb-server is not installed")
    version = subprocess.run([MARIADBD, "--version"], capture_output=True, text=True, check=True)
    name = "".join(c if c.isalnum() else "-" for c in version.stdout.split("for")[0].split()[-1])
    folder = pathlib.Path(tempfile.gettempdir()) / f"latchd-test-mariadb-{os.getuid()}-{name}"
    folder.mkdir(mode=0o700, exist_ok=True)
    if folder.stat().st_uid != os.getuid():
        raise AssertionError(f"{folder} is another user's")
    with open(folder / "lock", "w", encoding="ascii") as guard:
        fcntl.flock(guard, fcntl.LOCK_EX)
        data = folder / "data"
        if not data.is_dir():
            making = folder / "making"
            shutil.rmtree(making, ignore_errors=True)
            options = folder / "options.cnf"
            options.write_text("[mariadbd]\ninnodb_log_file_size=8M\n", encoding="ascii")
            made = subprocess.run(
                [INSTALL, f"--defaults-file={options}", f"--datadir={making}", *_as_root(),
                 "--auth-root-authentication-method=normal", "--skip-test-db",
                 "--skip-name-resolve"], env=os.environ | {"TMPDIR": str(folder)},
                capture_output=True, text=True, check=False)
            if made.returncode != 0:
                raise AssertionError(f"mariadb-install-db: {made.stdout[-800:]}{made.stderr}")
            making.rename(data)
    return data


class MariaDb(Program):
    """mariadbd on a port of its own, with the user and the empty database of latchd.

    `options` are arguments (--name=value); `preload` is a library of LD_PRELOAD."""

    def __init__(self, folder, options=(), environment=None, server_id=1):
        super().__init__("mariadbd", folder)
        self.port = free_port()
        self.options = [f"--server-id={server_id}", "--log-basename=db", *options]
        self.environment = environment or {}
        self.socket = f"/tmp/latchd-{os.getpid()}-{self.port}.sock"  # a path of at most 107 bytes
        shutil.copytree(template(), self.data, dirs_exist_ok=True)
        self.start()
        self.sql(f"CREATE DATABASE IF NOT EXISTS {DATABASE};"
                 f"CREATE USER IF NOT EXISTS {USER}@'%' IDENTIFIED BY '{PASSWORD}';"
                 f"GRANT ALL ON {DATABASE}.* TO {USER}@'%'")

    @property
    def data(self):
        return self.folder / "data"

    @property
    def address(self):
        return ("127.0.0.1", self.port)

    def start(self, keep_port=False):
        """Starts it, on another port when somebody took this one in between."""
        for _ in range(20):
            self.begin_to_start()
            wait_until(lambda: "ready for connections" in self.said() or not self.is_running(),
                       20, "mariadbd starting")
            if self.is_running():
                return
            if keep_port or "in use" not in self.said():
                break
            self.port = free_port()
        raise AssertionError(f"mariadbd ended:\n{self.said()[-3000:]}")

    def begin_to_start(self):
        """As start(), without waiting."""
        pathlib.Path(self.socket).unlink(missing_ok=True)
        environment = {name: value for name, value in os.environ.items() if name != "MYSQL_HOST"}
        self.spawn([MARIADBD, "--no-defaults", f"--datadir={self.data}", f"--port={self.port}",
                    f"--socket={self.socket}", f"--pid-file={self.folder}/pid",
                    # It deletes the temporary tables of others that it finds as it starts.
                    f"--tmpdir={self.folder}", *_as_root(),
                    *_OPTIONS, *self.options], env=environment | self.environment)

    def restart(self):
        """After kill() or stop(): on the same port, with its data."""
        self.start(keep_port=True)

    def kill(self):
        super().kill()
        pathlib.Path(self.socket).unlink(missing_ok=True)

    def sql(self, text, database="", deadline=15):
        """Runs statements as root; returns the rows of text."""
        ran = subprocess.run(
            [CLIENT, "--no-defaults", f"--socket={self.socket}", "--user=root", "--batch",
             "--skip-column-names", "--raw", "--execute", text, *([database] if database else [])],
            capture_output=True, text=True, timeout=deadline, check=False)
        if ran.returncode != 0:
            raise AssertionError(f"mariadb refused {text[:200]!r}: {ran.stderr.strip()}")
        return [line.split("\t") for line in ran.stdout.splitlines()]

    def value(self, text, database=""):
        """The first field of the first row, or None."""
        rows = self.sql(text, database)
        return rows[0][0] if rows else None

    # ---- replication

    def copy_of(self, folder, server_id, options=()):
        """A replica of this server, made from its data as it is: it stops for a moment.

        This server needs --log-bin and --log-slave-updates for it."""
        self.stop(20)
        replica = MariaDb.__new__(MariaDb)
        Program.__init__(replica, "mariadbd-replica", folder)
        replica.port = free_port()
        replica.options = [f"--server-id={server_id}", "--log-basename=db", "--log-bin",
                           "--log-slave-updates", *options]
        replica.environment = {}
        replica.socket = f"/tmp/latchd-{os.getpid()}-{replica.port}.sock"
        shutil.copytree(self.data, replica.data, dirs_exist_ok=True)
        self.restart()
        replica.start()
        return replica

    def follow(self, master):
        """Replicates from it, asynchronously, by GTID."""
        self.sql(f"CHANGE MASTER TO MASTER_HOST='127.0.0.1', MASTER_PORT={master.port}, "
                 f"MASTER_USER='replica', MASTER_PASSWORD='{PASSWORD}', "
                 "MASTER_USE_GTID=current_pos, MASTER_CONNECT_RETRY=1; START SLAVE;"
                 "SET GLOBAL read_only=1")
        wait_until(lambda: self.replication().get("Slave_IO_Running") == "Yes", 10,
                   "the replica following")

    def allow_replicas(self):
        self.sql(f"CREATE USER IF NOT EXISTS replica@'%' IDENTIFIED BY '{PASSWORD}';"
                 "GRANT REPLICATION SLAVE ON *.* TO replica@'%'")

    def replication(self):
        rows = subprocess.run(
            [CLIENT, "--no-defaults", f"--socket={self.socket}", "--user=root", "--execute",
             "SHOW SLAVE STATUS\\G"], capture_output=True, text=True, timeout=15, check=False)
        return {name.strip(): value.strip() for name, _, value in
                (line.partition(":") for line in rows.stdout.splitlines())}

    def catch_up(self, master):
        """Returns once everything that the master committed is here."""
        wanted = master.value("SELECT @@gtid_binlog_pos")
        self.sql(f"SELECT MASTER_GTID_WAIT('{wanted}', 10)")

    def fall_behind(self):
        """What the master commits from now on never comes here."""
        self.sql("STOP SLAVE")

    def promote(self):
        """Takes over as it is."""
        self.sql("STOP SLAVE; RESET SLAVE ALL; SET GLOBAL read_only=0")
