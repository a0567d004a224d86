#!/usr/bin/python3
# SPDX-FileCopyrightText: 2026 The latchd authors
# SPDX-License-Identifier: Apache-2.0
"""A source or a folder that the build forgot is found."""

import pathlib
import sys
import tempfile
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "tools"))
import check_build

GOOD = {
    "meson.build": "# Don't count words\nsubdir('src')\nsubdir('tests')\n",
    "src/meson.build": "foreach module : ['core', 'store/redis']\n",
    "src/core/meson.build": "static_library('core', 'lock/table.cpp', 'a.cpp')\n",
    "src/core/lock/table.cpp": "",
    "src/core/a.cpp": "",
    "src/store/redis/meson.build": "",
    "tests/meson.build": "foreach suite : ['unit']\n",
    "tests/unit/meson.build": "foreach module : ['core']\n",
    "tests/unit/core/meson.build": "foreach name : ['table']\n",
    "tests/unit/core/table_test.cpp": "",
}


class CheckBuild(unittest.TestCase):
    def problems(self, extra):
        with tempfile.TemporaryDirectory() as folder:
            root = pathlib.Path(folder).resolve()
            for name, text in (GOOD | extra).items():
                (root / name).parent.mkdir(parents=True, exist_ok=True)
                (root / name).write_text(text, encoding="utf-8")
            return check_build.check_tree(root)

    def test_a_whole_build_passes(self):
        self.assertEqual(self.problems({}), [])

    def test_what_was_forgotten_is_found(self):
        for name in ["src/core/b.cpp", "src/core/lock/a.cpp", "tests/unit/core/other_test.cpp",
                     "src/server/meson.build", "tests/unit/other/meson.build"]:
            with self.subTest(name=name):
                self.assertEqual(len(self.problems({name: ""})), 1)

    def test_a_program_whose_cases_would_not_count_is_found(self):
        for end, wanted in [(")\n", 1), (",\n  protocol: 'gtest')\n", 0)]:
            text = "test('table', executable('table', 'table_test.cpp', gtest_dep)" + end
            self.assertEqual(len(self.problems({"tests/unit/core/meson.build": text})), wanted)


if __name__ == "__main__":
    unittest.main()
