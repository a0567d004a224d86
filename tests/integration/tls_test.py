# SPDX-FileCopyrightText: 2026 The latchd authors
# SPDX-License-Identifier: Apache-2.0
"""Locks in a MySQL over TLS."""

import os
import pathlib
import subprocess
import unittest

import harness
import mariadb
from harness import needs, wait_until


@needs("openssl", "mariadb")
class OverTls(harness.Case):
    def setUp(self):
        super().setUp()
        self.tls = pathlib.Path(self.folder) / "tls"
        self.tls.mkdir()
        script = os.environ.get("MAKE_CERTIFICATES",
                                str(harness.ROOT / "tests/support/make_certificates.sh"))
        subprocess.run([script, str(self.tls)], check=True, stderr=subprocess.DEVNULL)
        self.mysql = self.mariadb(f"--ssl-ca={self.tls}/ca.pem", f"--ssl-cert={self.tls}/server.pem",
                                  f"--ssl-key={self.tls}/server.key")
        self.mysql.sql(f"ALTER USER {mariadb.USER}@'%' REQUIRE SSL")

    def config(self, tls):
        return (f"stores:\n  - {{type: mysql, address: 'localhost:{self.mysql.port}', "
                f"username: {mariadb.USER}, password: {mariadb.PASSWORD}, "
                f"database: {mariadb.DATABASE}, connect_timeout: 5s{tls}}}\n")

    def verified_by(self, ca):
        return f", tls: {{mode: verified, ca: {self.tls}/{ca}.pem}}"

    def test_two_nodes_share_locks_over_verified_connections(self):
        a, b = (self.latchd("--node", name, config=self.config(self.verified_by("ca")))
                for name in "ab")
        token = self.lock(a.client(), "r", "1")[0]
        self.assertIsNone(b.client().ask("LOCK", "r", "1"))
        self.assertEqual(b.client().ask("UNLOCK", "r", "1", token), 1)
        self.mysql.kill()
        self.mysql.restart()
        for node in (a, b):
            node.wait_for_store()

    def test_a_server_that_a_stranger_vouches_for_gets_no_password(self):
        node = self.latchd("--node", "a", serves=False,
                           config=self.config(self.verified_by("stranger")))
        self.assert_error(node.client().ask("LOCK", "r", "1"), "NOSTORE")
        wait_until(lambda: "certificate" in node.said(), what="the reason in the log")

    def test_a_server_that_wants_tls_refuses_a_node_without(self):
        node = self.latchd("--node", "a", serves=False, config=self.config(""))
        self.assert_error(node.client().ask("LOCK", "r", "1"), "NOSTORE")


if __name__ == "__main__":
    unittest.main()
