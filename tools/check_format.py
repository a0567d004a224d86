#!/usr/bin/python3
# SPDX-FileCopyrightText: 2026 The latchd authors
# SPDX-License-Identifier: Apache-2.0
"""Checks that clang-format would change nothing; `--fix [FILE...]` changes it."""

import argparse
import pathlib
import shutil
import subprocess
import sys

import lint_source

SKIPPED = 77  # Meson's word for a test that could not run
# The version is named because each formats a little differently.
PROGRAM = "clang-format-14"


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--fix", action="store_true")
    parser.add_argument("paths", type=pathlib.Path, nargs="*")
    args = parser.parse_args()
    if shutil.which(PROGRAM) is None:
        print(f"{PROGRAM} is not installed")
        sys.exit(SKIPPED)
    root = pathlib.Path(__file__).resolve().parents[1]
    paths = args.paths or list(
        lint_source.files(root, ["include", "src", "tests"], lint_source.CPP))
    mode = ["-i"] if args.fix else ["--dry-run", "-Werror"]
    run = subprocess.run([PROGRAM, "--style=file", *mode, *map(str, paths)], check=False)
    sys.exit(run.returncode)


if __name__ == "__main__":
    main()
