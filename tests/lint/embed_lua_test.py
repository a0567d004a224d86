#!/usr/bin/python3
# SPDX-FileCopyrightText: 2026 The latchd authors
# SPDX-License-Identifier: Apache-2.0
"""The embedded scripts are the files' very bytes under the digest that Redis computes."""

import hashlib
import pathlib
import subprocess
import sys
import tempfile
import unittest

TOOL = pathlib.Path(__file__).resolve().parents[2] / "tools/embed_lua.py"


class EmbedLua(unittest.TestCase):
    def setUp(self):
        self.scratch = tempfile.TemporaryDirectory()
        self.addCleanup(self.scratch.cleanup)
        self.folder = pathlib.Path(self.scratch.name)

    def embed(self, scripts, listed=None):
        """Returns the header, or None where the tool refuses."""
        for name, text in scripts.items():
            (self.folder / name).parent.mkdir(exist_ok=True)
            (self.folder / name).write_bytes(text)
        if listed is None:
            listed = [name for name in scripts if "/" not in name]
        output = self.folder / "out.hpp"
        run = subprocess.run(
            [sys.executable, str(TOOL), "--folder", str(self.folder), "--output", str(output),
             "--depfile", str(self.folder / "out.d"), *(str(self.folder / name) for name in listed)],
            stderr=subprocess.DEVNULL, check=False)
        return output.read_text(encoding="utf-8") if run.returncode == 0 else None

    def test_text_and_digest_of_each_script_are_embedded(self):
        text = b'-- a "quoted" \\n line\nreturn {1, ")"}\n'
        header = self.embed({"acquire.lua": text, "release.lua": b"return 1\n"})
        self.assertIn("std::string_view acquire = R\"lua_text(" + text.decode(), header)
        self.assertIn(f'acquire_sha1 = "{hashlib.sha1(text).hexdigest()}"', header)
        self.assertIn("std::string_view release = ", header)

    def test_no_script_is_a_header_too(self):
        self.assertIn("namespace latchd::store::redis::scripts", self.embed({}))

    def test_an_include_is_replaced_counts_in_the_digest_and_as_a_dependency(self):
        header = self.embed({"a.lua": b"-- include: lib/b.lua\nreturn f()\n",
                             "lib/b.lua": b"local function f() return 2 end\n"})
        whole = b"local function f() return 2 end\nreturn f()\n"
        self.assertIn(whole.decode(), header)
        self.assertIn(f'a_sha1 = "{hashlib.sha1(whole).hexdigest()}"', header)
        self.assertIn("lib/b.lua", (self.folder / "out.d").read_text(encoding="utf-8"))

    def test_an_include_that_is_missing_or_includes_more_is_refused(self):
        self.assertIsNone(self.embed({"a.lua": b"-- include: lib/none.lua\n"}))
        self.assertIsNone(self.embed({"a.lua": b"-- include: lib/b.lua\n",
                                      "lib/b.lua": b"-- include: lib/c.lua\n",
                                      "lib/c.lua": b"return 1\n"}))

    def test_a_script_that_is_not_listed_is_refused(self):
        self.assertIsNone(self.embed({"a.lua": b"return 1\n"}, listed=[]))

    def test_what_cannot_be_a_constant_is_refused(self):
        self.assertIsNone(self.embed({"Bad-Name.lua": b"return 1\n"}))
        self.assertIsNone(self.embed({"a.lua": b'return ")lua_text"'}))
        self.assertIsNone(self.embed({"a.lua": b"return '\xff'"}))


if __name__ == "__main__":
    unittest.main()
