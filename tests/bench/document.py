# SPDX-FileCopyrightText: 2026 The latchd authors
# SPDX-License-Identifier: Apache-2.0
"""Where figures were taken, and docs/performance.md, where they are written."""

import os
import pathlib
import platform
import subprocess
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]


def where():
    commit = subprocess.run(["git", "-C", str(ROOT), "describe", "--always", "--dirty"],
                            capture_output=True, text=True, check=False).stdout.strip()
    model = next((line.split(":", 1)[1].strip() for line in
                  pathlib.Path("/proc/cpuinfo").read_text(encoding="ascii").splitlines()
                  if line.startswith("model name")), platform.machine())
    load = os.getloadavg()[0]
    return f"Commit {commit}, {time.strftime('%Y-%m-%d', time.gmtime())}, {model}, " \
           f"{os.cpu_count()} processors, load {load:.1f} before"


def write(command, text):
    """Replaces what that command wrote before."""
    path = ROOT / "docs/performance.md"
    begin, end = (f"<!-- {command}: {mark} -->" for mark in ("begin", "end"))
    head, rest = path.read_text(encoding="utf-8").split(begin)
    tail = rest.split(end)[1]
    path.write_text(f"{head}{begin}\n\n{text}\n\n{end}{tail}", encoding="utf-8")
