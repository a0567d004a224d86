#!/usr/bin/python3
# SPDX-FileCopyrightText: 2026 The latchd authors
# SPDX-License-Identifier: Apache-2.0
"""Checks the lengths of files and functions; tools/sizes.allow lists the exceptions."""

import argparse
import pathlib
import re
import sys

import lint_source

HEADER_LINES_MAX = 300
SOURCE_LINES_MAX = 500
TEST_LINES_MAX = 800
FUNCTION_LINES_MAX = 70

# What may stand between a function's `)` and its `{`.
AFTER_PARAMETERS = re.compile(
    r"\)\s*((const|noexcept|override|final|mutable|try|&&?)\s*|noexcept\s*\([^()]*\)\s*"
    r"|->\s*[\w:<>,&*\s]+|requires\s.+|:\s.+)*$", re.DOTALL)
SCOPE = re.compile(r"\b(namespace|class|struct|union|enum|extern)\b")
NAME = re.compile(r"(operator\s*[^\s\w(]+|[\w:~]+)\s*\(")


def kind_of(head, stack):
    """Says what a brace after this head opens: a scope, a function, or anything else."""
    if any(kind in ("function", "initialiser") for kind, _, _ in stack):
        return "other"
    before = re.sub(r"template\s*<[^{;]*?>\s|operator\s*[^\s\w(]+", "", head).split("(")[0]
    if SCOPE.search(before):
        return "scope"
    return "function" if AFTER_PARAMETERS.search(head.strip()) and "=" not in before else "other"


def functions(text):
    """Yields (name, first line, lines) of each function that stands in a namespace or a class."""
    # Preprocessor lines have no terminator that separates them from the next declaration.
    code = re.sub(r"^[ \t]*#.*$", "", lint_source.blank(text, keep_includes=False), flags=re.M)
    stack = []
    start = 0
    for match in re.finditer(r"[;{}]", code):
        if match[0] == "{":
            head = code[start:match.start()]
            # clang-format puts a space before a body's brace and none before an initialiser's.
            kind = kind_of(head, stack) if head[-1:].isspace() else "initialiser"
            stack.append((kind, head.strip(), match.start() - len(head.lstrip())))
            if kind == "initialiser":
                continue
        elif match[0] == "}" and stack:
            kind, head, first = stack.pop()
            if kind == "initialiser":
                continue
            if kind == "function":
                name = NAME.search(head)
                line = code.count("\n", 0, first) + 1
                yield (name[1] if name else head[:40], line,
                       code.count("\n", 0, match.start()) + 2 - line)
        start = match.end()


def limit_of(relative):
    if relative.parts[0] == "tests":
        return TEST_LINES_MAX
    return HEADER_LINES_MAX if relative.suffix == ".hpp" else SOURCE_LINES_MAX


def read_allowed(path):
    """Returns {name: lines}; raises ValueError on an entry without a reason."""
    allowed = {}
    for line in path.read_text(encoding="utf-8").splitlines():
        if line.strip() and not line.startswith("#"):
            words = line.split(None, 2)
            if len(words) < 3:
                raise ValueError(f"{path}: `{line}` gives no reason")
            allowed[words[0]] = int(words[1])
    return allowed


def check_tree(root, allowed):
    """Returns one line for each thing that is too long below root, or allowed without need."""
    problems = []
    needed = set()

    def judge(name, where, lines, limit):
        if lines > limit:
            needed.add(name)
            if lines > allowed.get(name, limit):
                problems.append(f"{where}: {name} has {lines} lines, the limit is "
                                f"{allowed.get(name, limit)}")

    for path in lint_source.files(root, ["include", "src", "tests"], lint_source.CPP):
        relative = path.relative_to(root)
        text = path.read_text(encoding="utf-8")
        judge(str(relative), str(relative), text.count("\n"), limit_of(relative))
        for name, line, lines in functions(text):
            judge(f"{relative}:{name}", f"{relative}:{line}", lines, FUNCTION_LINES_MAX)
    problems += [f"tools/sizes.allow: {name} needs no exception" for name in
                 sorted(set(allowed) - needed)]
    return problems


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("root", type=pathlib.Path)
    root = parser.parse_args().root.resolve()
    problems = check_tree(root, read_allowed(root / "tools/sizes.allow"))
    print("\n".join(problems))
    sys.exit(1 if problems else 0)


if __name__ == "__main__":
    main()
