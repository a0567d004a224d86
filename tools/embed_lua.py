#!/usr/bin/python3
# SPDX-FileCopyrightText: 2026 The latchd authors
# SPDX-License-Identifier: Apache-2.0
"""Writes a C++ header with one string constant per Lua script.

For `acquire.lua` the header has, in namespace latchd::store::redis::scripts,
`acquire` (the text) and `acquire_sha1` (the digest EVALSHA wants, of these very bytes).

A line `-- include: lib/record.lua` stands for that file's content, since Redis runs each script
alone. An included file includes nothing itself: what a script is made of shows in the script.
"""

import argparse
import hashlib
import pathlib
import re
import sys

HEAD = """\
// SPDX-FileCopyrightText: 2026 The latchd authors
// SPDX-License-Identifier: Apache-2.0
// Written by tools/embed_lua.py from lua/*.lua.
#pragma once

#include <string_view>

namespace latchd::store::redis::scripts {
"""
TAIL = "\n}  // namespace latchd::store::redis::scripts\n"
DELIMITER = "lua_text"


INCLUDE = re.compile(r"^-- include: *(\S+)[ \t]*$", re.MULTILINE)


def assemble(path, folder, used):
    """Returns a script with its includes in place; adds every file read to `used`."""

    def content(match):
        part = folder / match[1]
        if not part.is_file():
            raise ValueError(f"{path}: includes {match[1]}, which does not exist")
        used.append(part)
        text = part.read_bytes().decode("utf-8")
        if INCLUDE.search(text):
            raise ValueError(f"{part}: an included file may not include another")
        return text.rstrip("\n")

    used.append(path)
    return INCLUDE.sub(content, path.read_bytes().decode("utf-8"))


def constant(path, folder, used):
    """Returns the declarations for one script; raises ValueError on what C++ cannot hold."""
    name = path.stem
    if not re.fullmatch(r"[a-z][a-z0-9_]*", name) or name.endswith("_sha1"):
        raise ValueError(f"{path}: the name must be snake_case and not end in _sha1")
    text = assemble(path, folder, used)
    if f"){DELIMITER}\"" in text:
        raise ValueError(f"{path}: contains the raw string's delimiter")
    if "\r" in text:
        raise ValueError(f"{path}: has carriage returns, which C++ would change")
    digest = hashlib.sha1(text.encode("utf-8")).hexdigest()
    return (f"\ninline constexpr std::string_view {name} = R\"{DELIMITER}({text}){DELIMITER}\";\n"
            f"inline constexpr std::string_view {name}_sha1 = \"{digest}\";\n")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--folder", type=pathlib.Path, required=True)
    parser.add_argument("--output", type=pathlib.Path, required=True)
    parser.add_argument("--depfile", type=pathlib.Path, required=True)
    parser.add_argument("scripts", type=pathlib.Path, nargs="*")
    args = parser.parse_args()

    listed = {path.resolve() for path in args.scripts}
    present = {path.resolve() for path in args.folder.glob("*.lua")}
    for path in sorted(present - listed):
        sys.exit(f"{path}: not listed in lua/meson.build")
    used = []
    try:
        body = "".join(constant(path, args.folder, used) for path in sorted(args.scripts))
    except (ValueError, UnicodeDecodeError) as error:
        sys.exit(f"embed_lua: {error}")
    parts = " ".join(str(path).replace(" ", "\\ ") for path in used)
    args.depfile.write_text(f"{args.output}: {parts}\n", encoding="utf-8")
    args.output.write_text(HEAD + body + TAIL, encoding="utf-8")


if __name__ == "__main__":
    main()
