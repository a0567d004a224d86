#!/usr/bin/python3
# SPDX-FileCopyrightText: 2026 The latchd authors
# SPDX-License-Identifier: Apache-2.0
"""Checks that the build knows every source and folder: what it doesn't know is not tested.

Also that GoogleTest programs are registered as such, without which their cases are not counted.
"""

import argparse
import pathlib
import re
import sys

import lint_source

QUOTED = re.compile(r"'([^']*)'")
# A list of tests may leave out the end that all of them share.
ENDINGS = ("", "_test", "_fuzz")


def names_in(path):
    """Returns what a meson.build has in quotes, none when there is no such file."""
    if not path.is_file():
        return set()
    return set(QUOTED.findall(re.sub(r"#.*", "", path.read_text(encoding="utf-8"))))


def is_known(root, path, spellings):
    """Says whether a meson.build from the path's folder up to root names it, relative to itself."""
    folder = path.parent
    while True:
        relative = path.relative_to(folder)
        names = names_in(folder / "meson.build")
        if any(str(relative.with_name(spelling)) in names for spelling in spellings):
            return True
        if folder == root:
            return False
        folder = folder.parent


def check_tree(root):
    """Returns one line for each source and folder that no meson.build names."""
    problems = []
    for path in lint_source.files(root, ["src", "tests"], [".cpp"]):
        spellings = [path.name] + [path.stem.removesuffix(end) for end in ENDINGS]
        if not is_known(root, path, spellings):
            problems.append(f"{path.relative_to(root)}: no meson.build names it")
    for path in lint_source.files(root, ["src", "tests", "lua"], [".build"]):
        folder = path.parent
        parent = folder.parent
        if not is_known(root, parent / folder.name, [folder.name]):
            problems.append(f"{folder.relative_to(root)}: no meson.build enters it")
        text = path.read_text(encoding="utf-8")
        if re.search(r"^\s*test\(", text, re.M) and "gtest_dep" in text and "'gtest'" not in text:
            problems.append(f"{path.relative_to(root)}: a test lacks protocol: 'gtest'")
    return problems


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("root", type=pathlib.Path)
    problems = check_tree(parser.parse_args().root.resolve())
    print("\n".join(problems))
    sys.exit(1 if problems else 0)


if __name__ == "__main__":
    main()
