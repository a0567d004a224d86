#!/usr/bin/python3
# SPDX-FileCopyrightText: 2026 The latchd authors
# SPDX-License-Identifier: Apache-2.0
"""Plants bad includes in a temporary tree: the layer check must find each, and nothing else."""

import pathlib
import sys
import tempfile
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "tools"))
import check_layers

GOOD = {
    "include/latchd/base/ids.hpp": "#include <string>\n",
    "include/latchd/core/lock/table.hpp": "#include <latchd/base/ids.hpp>\n#include <chrono>\n",
    "src/core/lock/table.cpp": '#include "slot.hpp"\n#include <latchd/core/lock/table.hpp>\n',
    "src/core/lock/slot.hpp": "// std::mutex, errno and Clock::now() in a comment are only words\n",
    "src/resp/decoder.cpp": '#include <hiredis/read.h>\nauto x = "errno";\n',
    "src/store/redis/dialect/replies.cpp": "#include <hiredis/read.h>\n",
    "src/store/redis/connection.cpp": "#include <boost/asio/ip/tcp.hpp>\n",
    "include/latchd/server/options.hpp": "#include <chrono>\n",
    "src/config/load.cpp": "#include <latchd/server/options.hpp>\n#include <yaml-cpp/yaml.h>\n",
    "src/third_party/asio.cpp": "#include <boost/asio/impl/src.hpp>\n",
}
BAD = [
    ("src/core/lock/bad.cpp", "#include <boost/asio/steady_timer.hpp>\n"),
    ("src/core/lock/bad.cpp", "  #  include <boost/beast.hpp>\n"),
    ("src/core/lock/bad.cpp", "#include <spdlog/spdlog.h>\n"),
    ("src/core/lock/bad.cpp", "#include <latchd/resp/decoder.hpp>\n"),
    ("src/core/lock/bad.cpp", "auto t = std::chrono::steady_clock::now();\n"),
    ("src/core/lock/bad.cpp", "#include <atomic>\n"),
    ("src/core/lock/bad.cpp", '#include "../../server/session.hpp"\n'),
    ("src/base/bad.cpp", "#include <mutex>\n"),
    ("src/base/bad.cpp", "int e() { return errno; }\n"),
    ("src/base/bad.cpp", "#include <thread>\n"),
    ("src/resp/bad.cpp", "#include <hiredis/hiredis.h>\n"),
    ("src/resp/bad.cpp", "#include <latchd/core/lock/table.hpp>\n"),
    ("src/command/bad.cpp", "#include <latchd/server/options.hpp>\n"),
    ("src/command/bad.cpp", "#include <yaml-cpp/yaml.h>\n"),
    ("src/command/bad.cpp", "#include <random>\n"),
    ("src/command/bad.cpp", "#include <hiredis/read.h>\n"),
    ("src/store/redis/dialect/bad.cpp", "#include <boost/asio.hpp>\n"),
    ("src/store/redis/dialect.cpp", "#include <mysql.h>\n"),
    ("include/latchd/store/redis/dialect.hpp", "#include <hiredis/hiredis.h>\n"),
    ("src/store/redis/bad.cpp", "#include <hiredis/hiredis.h>\n"),
    ("src/server/bad.cpp", "#include <latchd/store/redis/store.hpp>\n"),
    ("src/server/bad.cpp", "#include <spdlog/spdlog.h>\n"),
    ("src/journal/bad.cpp", "#include <boost/asio.hpp>\n"),
    ("src/config/bad.cpp", "#include <latchd/server/session.hpp>\n"),
    ("src/unknown/bad.cpp", "int x;\n"),
]


def plant(root, content):
    for name, text in content.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")


class CheckLayers(unittest.TestCase):
    def problems(self, extra):
        with tempfile.TemporaryDirectory() as folder:
            root = pathlib.Path(folder).resolve()
            plant(root, GOOD | extra)
            return check_layers.check_tree(root)

    def test_a_good_tree_passes(self):
        self.assertEqual(self.problems({}), [])

    def test_every_planted_breach_is_found_and_named(self):
        for name, text in BAD:
            with self.subTest(name=name, text=text):
                found = self.problems({name: text})
                self.assertEqual(len(found), 1, found)
                self.assertIn(name, found[0])


if __name__ == "__main__":
    unittest.main()
