#!/usr/bin/python3
# SPDX-FileCopyrightText: 2026 The latchd authors
# SPDX-License-Identifier: Apache-2.0
"""Checks each source file's licence lines, white space, and that no work is left as a note."""

import argparse
import pathlib
import re
import sys

import lint_source

LICENCE = ("SPDX-FileCopyrightText: 2026 The latchd authors", "SPDX-License-Identifier: Apache-2.0")
SUFFIXES = {".hpp", ".cpp", ".py", ".lua", ".build", ".sh", ".yaml", ".service", ".socket", ""}
TOP = ("meson.build", "meson_options.txt", ".clang-format", ".clang-tidy", ".editorconfig")
# Their content is the tests' input, byte for byte.
DATA = re.compile(r"tests/.*/(corpus|regressions|data|transcripts)/")


def check_file(relative, text):
    found = []
    head = text.splitlines()[:4]
    if not all(any(line.endswith(wanted) for line in head) for wanted in LICENCE):
        found.append((1, "the two SPDX lines are missing"))
    if text and not text.endswith("\n"):
        found.append((text.count("\n") + 1, "no newline at the end"))
    for number, line in enumerate(text.splitlines(), 1):
        if "\t" in line:
            found.append((number, "a tab"))
        if line != line.rstrip():
            found.append((number, "white space at the end of the line"))
        if re.search(r"\b(TODO(?!\(#\d+\))|FIXME|XXX)\b", line) and relative.name != "check_text.py":
            found.append((number, "a note about work left to do names no issue"))
    return [f"{relative}:{number}: {what}" for number, what in found]


def check_tree(root):
    """Returns one line for each thing that is wrong below root."""
    paths = [root / name for name in TOP if (root / name).exists()]
    paths += lint_source.files(root, suffixes=SUFFIXES)
    problems = []
    for path in paths:
        relative = path.relative_to(root)
        if not DATA.match(relative.as_posix()):
            problems += check_file(relative, path.read_text(encoding="utf-8"))
    return problems


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("root", type=pathlib.Path)
    problems = check_tree(parser.parse_args().root.resolve())
    print("\n".join(problems))
    sys.exit(1 if problems else 0)


if __name__ == "__main__":
    main()
