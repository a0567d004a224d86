#!/usr/bin/python3
# SPDX-FileCopyrightText: 2026 The latchd authors
# SPDX-License-Identifier: Apache-2.0
"""Plants files and functions at and past the limits, and sources without their licence lines."""

import pathlib
import sys
import tempfile
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "tools"))
import check_sizes
import check_text


def function(head, lines, indent=""):
    body = "".join(f"{indent}    call({i}, {{}});\n" for i in range(lines - 2))
    return f"{indent}{head} {{\n{body}{indent}}}\n"


class CheckSizes(unittest.TestCase):
    def problems(self, name, text, allowed=None):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder).resolve() / name
            path.parent.mkdir(parents=True)
            path.write_text(text, encoding="utf-8")
            return check_sizes.check_tree(pathlib.Path(folder).resolve(), allowed or {})

    def test_a_file_may_reach_its_limit_and_not_pass_it(self):
        for name, limit in [("include/latchd/a.hpp", 300), ("src/a.cpp", 500), ("tests/a.cpp", 800)]:
            self.assertEqual(self.problems(name, "\n" * limit), [])
            self.assertEqual(len(self.problems(name, "\n" * (limit + 1))), 1)

    def test_a_function_may_reach_its_limit_and_not_pass_it(self):
        for head in ["int f(int a)", "auto Table::f(Key k) const noexcept -> int", "TEST(A, b)",
                     "Table::Table(int a) : a_(a), b_{a}", "bool operator==(A a, B b)",
                     "template <class T>\n    requires std::integral<T>\nvoid f(T t)"]:
            extra = head.count("\n")
            with self.subTest(head=head):
                for lines, count in [(70, 0), (71, 1)]:
                    text = "namespace a {\n" + function(head, lines - extra) + "}\n"
                    self.assertEqual(len(self.problems("src/a.cpp", text)), count)

    def test_functions_of_a_class_count_and_the_class_does_not(self):
        method = function("int f()", 60, "    ")
        text = "class A {\n" + method * 3 + function("int g()", 71, "    ") + "    int a_{};\n};\n"
        found = self.problems("src/a.cpp", text)
        self.assertEqual(len(found), 1, found)
        self.assertIn("src/a.cpp:g", found[0])

    def test_a_long_table_is_no_function(self):
        text = "constexpr A table[] = {\n" + "    {1, f(2)},\n" * 100 + "};\n"
        self.assertEqual(self.problems("src/a.cpp", text), [])

    def test_an_exception_holds_up_to_its_number_and_must_be_needed(self):
        text = function("int f(int a)", 80)
        self.assertEqual(self.problems("src/a.cpp", text, {"src/a.cpp:f": 80}), [])
        self.assertEqual(len(self.problems("src/a.cpp", text, {"src/a.cpp:f": 79})), 1)
        self.assertEqual(len(self.problems("src/a.cpp", "int a;\n", {"src/a.cpp:f": 80})), 1)


class CheckText(unittest.TestCase):
    GOOD = "// " + "\n// ".join(check_text.LICENCE) + "\n"

    def count(self, text):
        return len(check_text.check_file(pathlib.PurePath("src/a.cpp"), text))

    def test_licence_lines_are_asked_for(self):
        self.assertEqual(self.count(self.GOOD), 0)
        self.assertEqual(self.count("int a;\n"), 1)

    def test_blanks_and_notes_are_found(self):
        for line in ["\tint a;\n", "int a; \n", "// TO" "DO later\n", "int a;"]:
            self.assertEqual(self.count(self.GOOD + line), 1, line)
        self.assertEqual(self.count(self.GOOD + "// TO" "DO(#12) when it is there\n"), 0)


if __name__ == "__main__":
    unittest.main()
