# SPDX-FileCopyrightText: 2026 The latchd authors
# SPDX-License-Identifier: Apache-2.0
"""Reads tests/compat/answers.txt, whose head describes its form."""

import dataclasses
import pathlib
import re

from resp_client import Incomplete, parse

PATH = pathlib.Path(__file__).resolve().parents[1] / "compat/answers.txt"

_PLACEHOLDER = re.compile(r"\{(number|bulk|text|rest|close)\}")
_ESCAPE = re.compile(rb"\\(x([0-9a-f]{2})|.)", re.S)


@dataclasses.dataclass
class Step:
    line: int
    request: bytes
    reply: str = ""


@dataclasses.dataclass
class Case:
    name: str
    redis_too: bool
    password: bool
    alone: bool = False
    steps: list = dataclasses.field(default_factory=list)


def read(path=PATH):
    cases = []
    for number, line in enumerate(path.read_text("utf-8").splitlines(), 1):
        if line.startswith("["):
            words, name = re.fullmatch(r"\[([^\]]*)\] ?(.*)", line).groups()
            cases.append(Case(name, words.startswith("both"), words.endswith("password"),
                              words.startswith("alone")))
        elif line.startswith("> "):
            cases[-1].steps.append(Step(number, line[2:].encode() + b"\r\n"))
        elif line.startswith("<"):
            cases[-1].steps[-1].reply += line[2:]
        elif line and not line.startswith("#"):
            raise ValueError(f"answers.txt:{number}: {line}")
    return cases


def _literal(text):
    def unescape(match):
        if match.group(2):
            return bytes([int(match.group(2), 16)])
        return b"\r\n" if match.group(1) == b"n" else match.group(1)
    return _ESCAPE.sub(unescape, text.encode())


def _after(kind, data, at, closed):
    """Where the bytes of a placeholder end, or None: they are not all there, or wrong."""
    if kind == "number":
        match = re.compile(rb"-?\d+").match(data, at)
        return match.end() if match else None
    if kind == "text":
        end = data.find(b"\r\n", at)
        return end if end >= 0 else None
    if kind == "close":
        return at if closed and at == len(data) else None
    if kind == "bulk":
        if data[at:at + 1] not in (b"$", b"="):
            return None
        try:
            return parse(data, at)[1]
        except Incomplete:
            return None
    return len(data) if _is_whole(data) else None  # rest


def _is_whole(data):
    """Whether the bytes are replies without a part of another."""
    at = 0
    try:
        while at < len(data):
            at = parse(data, at)[1]
    except Incomplete:
        return False
    return at > 0


def matches(pattern, data, closed):
    """Whether these bytes are the reply, whole."""
    at = 0
    parts = _PLACEHOLDER.split(pattern)
    for index, part in enumerate(parts):
        if index % 2:
            at = _after(part, data, at, closed)
            if at is None:
                return False
        else:
            literal = _literal(part)
            if not data.startswith(literal, at):
                return False
            at += len(literal)
    return at == len(data)
