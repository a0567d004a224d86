#!/usr/bin/python3
# SPDX-FileCopyrightText: 2026 The latchd authors
# SPDX-License-Identifier: Apache-2.0
"""Compiles each header alone, so that none relies on what was included before it.

Usage: check_headers.py ROOT SCRATCH COMPILER [ARGUMENT...]
With ccache in front of the compiler an unchanged header costs next to nothing.
"""

import concurrent.futures
import os
import pathlib
import subprocess
import sys

import lint_source


def compile_alone(root, scratch, command, header):
    """Returns the compiler's words, empty when the header compiles."""
    relative = header.relative_to(root)
    if relative.parts[0] == "include":
        name = f"<{relative.relative_to('include')}>"
    else:
        name = f'"{header}"'
    unit = scratch / ("_".join(relative.parts) + ".cpp")
    # Twice: a header without its guard must not compile either.
    content = f"#include {name}\n#include {name}\n"
    if not unit.exists() or unit.read_text(encoding="utf-8") != content:
        unit.write_text(content, encoding="utf-8")
    run = subprocess.run([*command, "-O0", "-c", str(unit), "-o", str(unit.with_suffix(".o"))],
                         stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    return run.stdout or f"{relative}: exit {run.returncode}\n" if run.returncode else ""


def main():
    root = pathlib.Path(sys.argv[1]).resolve()
    scratch = pathlib.Path(sys.argv[2])
    scratch.mkdir(parents=True, exist_ok=True)
    command = [*sys.argv[3:], "-std=c++20", "-Wall", "-Wextra", "-Werror", f"-I{root / 'include'}"]
    headers = list(lint_source.files(root, ["include", "src"], [".hpp"]))
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        results = list(pool.map(lambda h: compile_alone(root, scratch, command, h), headers))
    failed = [text for text in results if text]
    print("".join(failed) + f"{len(headers)} headers, {len(failed)} do not compile alone")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
