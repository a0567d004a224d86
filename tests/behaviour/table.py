# SPDX-FileCopyrightText: 2026 The latchd authors
# SPDX-License-Identifier: Apache-2.0
"""Reads the table of lock behaviour, *.txt in this folder, whose form FORM.md describes."""

import ast
import dataclasses
import re

from harness import SLOWNESS
from resp_client import Error, Push

# What a lease told may lack: the request's way, the store's clock margin, a busy machine.
TTL_SLACK_MS = 1500 * SLOWNESS

_WORD = re.compile(r'"(?:[^"\\]|\\.)*"|[^\s"]+')
_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|[\[\]{}]|[^\s\[\]{}"]+')


class WrongTable(ValueError):
    """The table itself is wrong."""


@dataclasses.dataclass
class Step:
    line: int
    kind: str  # ask, read, wait, close
    connection: str = ""
    words: tuple = ()
    expected: str = ""
    ms: int = 0
    in_the_end: bool = False  # asked again until the reply is as expected


@dataclasses.dataclass
class Case:
    name: str
    conditions: frozenset
    where: str
    steps: list = dataclasses.field(default_factory=list)


TIERS = frozenset({"redis", "mysql", "local"})
CONDITIONS = TIERS | {"one node", "alone", "core not"}


def parse(text, where):
    """Returns the cases of a file."""
    cases = []
    for number, line in enumerate(text.splitlines(), 1):
        line = line.strip()
        try:
            if not line or line.startswith("#"):
                continue
            if line.startswith("case "):
                cases.append(_header(line, f"{where}:{number}"))
            else:
                cases[-1].steps.append(_step(line, number))
        except (IndexError, ValueError, SyntaxError) as error:
            raise WrongTable(f"{where}:{number}: {line}: {error}") from None
    return cases


def _header(line, where):
    conditions, name = re.fullmatch(r"case (?:\[([^\]]*)\] )?(.+)", line).groups()
    conditions = frozenset(part.strip() for part in (conditions or "").split(",") if part)
    if not conditions <= CONDITIONS:
        raise ValueError(f"conditions are {sorted(CONDITIONS)}")
    return Case(name, conditions, where)


def _step(line, number):
    if match := re.fullmatch(r"wait (\d+)ms", line):
        return Step(number, "wait", ms=int(match.group(1)))
    if match := re.fullmatch(r"close ([A-Z]\d?)", line):
        return Step(number, "close", match.group(1))
    in_the_end = " ~> " in line
    request, arrow, expected = line.partition(" ~> " if in_the_end else " -> ")
    if not arrow:
        raise ValueError("' -> ' is needed")
    connection, *words = _WORD.findall(request)
    if not re.fullmatch(r"[A-Z]\d?", connection):
        raise ValueError(f"{connection!r} is no connection")
    if in_the_end and (not words or expected.strip() == "waits"):
        raise ValueError("' ~> ' is for requests that are answered")
    return Step(number, "ask" if words else "read", connection, tuple(words), expected.strip(),
                in_the_end=in_the_end)


def words_of(step, names, resource):
    """The request's words as bytes: @ is the case's resource, $x a value bound before."""
    return [_bytes(word, names, resource) for word in step.words]


def _bytes(word, names, resource):
    if word.startswith('"'):
        return ast.literal_eval("b" + word)
    if match := re.fullmatch(r"(.)\*(\d+)", word):
        return match.group(1).encode() * int(match.group(2))
    if word.startswith("$"):
        value = names[word[1:]]
        return value if isinstance(value, bytes) else str(value).encode()
    return word.replace("@", resource).encode()


class Matcher:
    """Compares replies with expectations; remembers what they bind."""

    def __init__(self, tier, resource):
        self.tier = tier
        self.resource = resource
        self.names = {}

    def mismatch(self, expected, reply):
        """Returns what is wrong, or an empty string."""
        if expected.startswith("-") and not re.fullmatch(r"-\d+", expected):
            wanted = expected[1:].replace("@", self.resource)
            good = isinstance(reply, Error) and reply.startswith(wanted)
            return "" if good else f"wanted the error {wanted}"
        tokens = _TOKEN.findall(expected)
        wrong = self._value(tokens, reply)
        return wrong or (f"{tokens} are left over in the table" if tokens else "")

    def _value(self, tokens, reply):
        token = tokens.pop(0)
        if token == "[":
            return self._array(tokens, reply)
        if token == "{":
            return self._map(tokens, reply)
        return self._plain(token, reply)

    def _array(self, tokens, reply):
        if isinstance(reply, Error) or not isinstance(reply, list):
            return "wanted an array"
        for index, item in enumerate(reply):
            if tokens[0] == "...":
                break
            if tokens[0] == "]":
                return "the array is too long"
            if wrong := self._value(tokens, item):
                return f"item {index}: {wrong}"
        if tokens[0] == "...":
            tokens.pop(0)
        return "" if tokens.pop(0) == "]" else "the array is too short"

    def _map(self, tokens, reply):
        if not isinstance(reply, (list, dict)) or isinstance(reply, Push):
            return "wanted a map"
        pairs = reply if isinstance(reply, dict) else dict(zip(reply[::2], reply[1::2]))
        while tokens[0] != "}":
            name = tokens.pop(0)
            key = name.removesuffix(":").encode()
            if key not in pairs:
                return f"there is no {name}"
            if wrong := self._value(tokens, pairs[key]):
                return f"{name} {wrong}"
        tokens.pop(0)
        return ""

    def _plain(self, token, reply):
        if token == "*":
            return ""
        if token == "nil":
            return "" if reply is None else "wanted nil"
        if token == "TIER":
            token = self.tier
        if token.startswith(("ttl:", ">", "$")):
            return self._named(token, reply)
        if re.fullmatch(r"-?\d+", token):
            return "" if reply == int(token) and isinstance(reply, int) else f"wanted {token}"
        if token.startswith('"'):
            wanted = ast.literal_eval("b" + token)
        else:
            wanted = token.replace("@", self.resource).encode()
            for name, value in self.names.items():
                wanted = wanted.replace(b"<" + name.encode() + b">", str(value).encode())
        return "" if reply == wanted and not isinstance(reply, Error) else f"wanted {wanted!r}"

    def _named(self, token, reply):
        if token.startswith("ttl:"):
            most = int(token[4:])
            good = isinstance(reply, int) and most - TTL_SLACK_MS <= reply <= most and reply > 0
            return "" if good else f"wanted a lease of at most {most} ms and little less"
        if token.startswith(">$"):
            least = self.names[token[2:]]
            return "" if isinstance(reply, int) and reply > least else f"wanted more than {least}"
        name = token[1:]
        if not isinstance(reply, (bytes, int)):
            return f"wanted a value for {token}"
        return "" if self.names.setdefault(name, reply) == reply else f"wanted {self.names[name]!r}"
