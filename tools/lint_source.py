# SPDX-FileCopyrightText: 2026 The latchd authors
# SPDX-License-Identifier: Apache-2.0
"""What the lint tools share: which files there are, and C++ text without its comments."""

import pathlib
import re

FOLDERS = ("include", "src", "tests", "lua", "conf", "systemd", "tools", ".ci", "docs")
CPP = (".hpp", ".cpp")

# Raw strings come first: their content may look like anything.
TOKEN = re.compile(
    r'R"(?P<mark>[^\s()\\]{0,16})\(.*?\)(?P=mark)"'
    r'|//[^\n]*'
    r'|/\*.*?\*/'
    r'|"(?:[^"\\\n]|\\.)*"'
    r"|(?<![0-9a-fA-F])'(?:[^'\\\n]|\\.)+'",
    re.DOTALL)


def files(root, folders=FOLDERS, suffixes=None):
    """Yields the project's files below the folders, sorted, without hidden and generated ones."""
    for folder in folders:
        for path in sorted((root / folder).rglob("*")):
            parts = path.relative_to(root / folder).parts
            if not path.is_file() or any(part.startswith(".") for part in parts):
                continue
            if "__pycache__" in parts:
                continue
            if suffixes is None or path.suffix in suffixes:
                yield path


def blank(text, keep_includes):
    """Replaces comments and string contents by blanks; lines keep their numbers."""

    def hide(match):
        return re.sub(r"[^\n]", " ", match.group(0))

    if not keep_includes:
        return TOKEN.sub(hide, text)

    def hide_unless_include(match):
        start = text.rfind("\n", 0, match.start()) + 1
        if re.match(r"\s*#\s*include\s*$", text[start:match.start()]):
            return match.group(0)
        return hide(match)

    return TOKEN.sub(hide_unless_include, text)
