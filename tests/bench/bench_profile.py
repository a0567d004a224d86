# SPDX-FileCopyrightText: 2026 The latchd authors
# SPDX-License-Identifier: Apache-2.0
"""Where the time goes: perf over each server of a case while the load runs."""

import re
import shutil
import subprocess

SYMBOLS = 10


def shortened(symbol):
    """Without template arguments and parameters."""
    symbol = re.sub(r"[\s-]+$", "", symbol)  # and the columns that have nothing
    while (plain := re.sub(r"<[^<>]*>", "", symbol)) != symbol:
        symbol = plain
    plain = symbol.replace("(anonymous namespace)::", "").split("(")[0]
    return (plain or symbol)[:60]


def report(path):
    """[(share, symbol, object)] of a recording, the dearest first."""
    ran = subprocess.run(
        ["perf", "report", "-i", str(path), "--stdio", "--no-children", "--percent-limit", "0.05",
         "--sort", "dso,symbol"], capture_output=True, text=True, check=False)
    rows = re.findall(r"^\s+([\d.]+)%\s+(\S+)\s+\[[.k]\]\s+(.*)$", ran.stdout, flags=re.M)
    return [(float(share), shortened(symbol), dso) for share, dso, symbol in rows]


def profile_one(title, peers, make, program, **settings):
    """A table of one case."""
    peer = make()
    recorders = {}
    for name, process in peer.processes.items():
        path = peers.folder / f"perf-{name.replace(' ', '-')}"
        recorders[name] = (path, subprocess.Popen(
            ["perf", "record", "-q", "-F", "1999", "-o", str(path), "-p", str(process.pid), "--",
             "sleep", "4"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL))
    peer.load(program, seconds=3.5, cpu=peers.client, **settings)
    lines = [f"### {title}", ""]
    for name, (path, recorder) in recorders.items():
        recorder.wait()
        rows = report(path)
        by_object = {}
        for share, _, dso in rows:
            by_object[dso] = by_object.get(dso, 0) + share
        lines += [f"{name}: " + ", ".join(f"{dso} {share:.0f} %" for dso, share in
                                          sorted(by_object.items(), key=lambda it: -it[1])[:4]),
                  "", "| % | where | object |", "|---|---|---|"]
        lines += [f"| {share:.1f} | `{symbol}` | {dso} |" for share, symbol, dso in rows[:SYMBOLS]]
        lines.append("")
    return "\n".join(lines)


def profile(cases):
    """Markdown of all main cases."""
    if shutil.which("perf") is None:
        raise AssertionError("perf is not installed (Debian: linux-perf)")
    peers = cases.peers
    runs = [("Embedded table, 50 connections", peers.embedded, {}),
            ("Embedded table, 50 connections, pipeline 16", peers.embedded, {"pipeline": 16}),
            ("Embedded table, one hot lock, 50 clients", peers.embedded,
             {"locks": 1, "wait": 30_000}),
            ("Redis tier, 50 clients", peers.over_redis, {}),
            ("Redis tier, one hot lock, 50 clients", peers.over_redis,
             {"locks": 1, "wait": 30_000})]
    return "\n".join(profile_one(title, peers, make, cases.program, connections=50, **settings)
                     for title, make, settings in runs)
