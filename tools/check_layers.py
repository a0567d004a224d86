#!/usr/bin/python3
# SPDX-FileCopyrightText: 2026 The latchd authors
# SPDX-License-Identifier: Apache-2.0
"""Checks which module includes which, and that the sans-I/O modules touch nothing outside.

Boost lies in /usr/include, so a target without a Boost dependency still compiles an Asio include:
the build system cannot enforce the layers, this table does. Adding an edge is a design decision.
"""

import argparse
import pathlib
import re
import sys

import lint_source

# module -> modules it may include (besides itself).
EDGES = {
    "base": [],
    "core": ["base"],
    "resp": ["base"],
    "command": ["base", "core", "resp"],
    "journal": ["base", "core"],
    "telemetry": ["base"],
    "runtime": ["base"],
    "store": ["base", "core"],
    "store/arbiter": ["base", "core"],
    "store/local": ["base", "core", "runtime", "store", "telemetry"],
    "store/redis": ["base", "core", "resp", "runtime", "store", "store/arbiter", "telemetry"],
    "store/mysql": ["base", "core", "runtime", "store", "store/arbiter", "store/arbiter", "telemetry"],
    "store/fleet": ["base", "core", "runtime", "store", "telemetry"],
    # core and resp come with command, whose interface is made of their types.
    "server": ["base", "command", "core", "resp", "runtime", "store", "telemetry"],
    # and every module's options.hpp, see allowed_edge()
    "config": ["base"],
}
EDGES["app"] = list(EDGES)
UNCHECKED = ("third_party",)

# What the outside world is made of: headers, and words in the code.
POWERS = {
    "asio": (r"boost/(asio|beast)\b.*", None),
    "log": (r"(spdlog|fmt)/.*", r"\bspdlog::"),
    "yaml": (r"yaml-cpp/.*", None),
    "hiredis": (r"hiredis/.*", None),
    "mysql": (r"(.*/)?mysql\.h", None),
    "threads": (
        r"thread|mutex|shared_mutex|condition_variable|future|semaphore|latch|barrier|stop_token"
        r"|pthread\.h",
        r"\bstd::(this_thread|j?thread|(shared_|recursive_)?(timed_)?mutex)\b|\bthread_local\b"),
    "atomic": (r"atomic|stdatomic\.h", r"\bstd::atomic\b"),
    "random": (
        r"random|sys/random\.h|openssl/rand\.h",
        r"\brandom_device\b|\bRAND_bytes\b|\bgetrandom\b|\bs?rand\s*\(\s*\)"),
    "clock": (
        r"ctime|time\.h|sys/time(fd)?\.h",
        r"::now\s*\(|\bclock_gettime\b|\bgettimeofday\b|\btime\s*\(\s*(nullptr|NULL|0)?\s*\)"),
    "system": (
        r"cerrno|errno\.h|unistd\.h|fcntl\.h|sys/.*|netinet/.*|arpa/.*|netdb\.h|poll\.h"
        r"|fstream|iostream|filesystem|csignal|signal\.h",
        r"\berrno\b|\b(secure_)?getenv\b"),
}
# module -> powers it has; the sans-I/O ones have none.
GRANTED = {
    "base": [],
    "core": [],
    "resp": [],
    "command": [],
    "store": [],
    "store/arbiter": [],
    "journal": ["atomic", "system"],
    "telemetry": ["atomic", "clock", "log", "system", "threads"],
    "runtime": ["asio", "atomic", "clock", "random", "system", "threads"],
    "store/local": ["asio", "atomic", "clock", "random", "system", "threads"],
    "store/redis": ["asio", "atomic", "clock", "random", "system", "threads"],
    "store/mysql": ["asio", "atomic", "clock", "mysql", "random", "system", "threads"],
    "store/fleet": ["asio"],
    "server": ["asio", "atomic", "clock", "random", "system", "threads"],
    "config": ["system", "yaml"],
    "app": ["asio", "atomic", "clock", "random", "system", "threads"],
}
DIALECT = re.compile(r"(include/latchd|src)/store/[a-z]+/dialect[^/]*(/.*)?$")
# The reader parses bytes and never touches a socket, unlike the rest of hiredis.
READER = "hiredis/read.h"
INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*([<"])([^>"\n]+)[>"]', re.MULTILINE)


def module_of(relative):
    """Returns the module a path below include/latchd or src belongs to: the longest that fits."""
    parts = pathlib.PurePosixPath(relative).parts
    for length in (2, 1):
        name = "/".join(parts[:length])
        if len(parts) > length and (name in EDGES or name in UNCHECKED):
            return name
    return None


def allowed_edge(module, target, header):
    if target == module or target in EDGES[module]:
        return True
    return module == "config" and pathlib.PurePosixPath(header).name == "options.hpp"


def allowed_header(module, name, is_dialect):
    """Returns the power the header would need and the module lacks, or None."""
    granted = [] if is_dialect else GRANTED[module]
    if name == READER and (module == "resp" or module.startswith("store/redis")):
        return None
    for power, (headers, _) in POWERS.items():
        if power not in granted and re.fullmatch(headers, name):
            return power
    return None


def check_include(root, path, module, bracket, name, is_dialect):
    """Returns what is wrong with one include line, or None."""
    if bracket == '"':
        found = (path.parent / name).resolve()
        home = [(root / top / module).resolve() for top in ("src", "include/latchd")]
        if not found.is_file():
            return f'"{name}" is not beside the file; other modules come by <latchd/...>'
        if not any(folder in found.parents for folder in home):
            return f'"{name}" leaves the module'
        return None
    if name.startswith("latchd/"):
        target = module_of(name[len("latchd/"):])
        if target is None:
            return f"<{name}> belongs to no known module"
        if not allowed_edge(module, target, name):
            return f"<{name}>: {module} may not include {target}"
        return None
    if name == "lua_scripts.hpp" and module != "store/redis":
        return f"<{name}> is for store/redis only"
    power = allowed_header(module, name, is_dialect)
    return f"<{name}>: {module} has no business with {power}" if power else None


def check_file(root, path, module):
    text = path.read_text(encoding="utf-8")
    is_dialect = bool(DIALECT.fullmatch(path.relative_to(root).as_posix()))
    granted = [] if is_dialect else GRANTED[module]
    found = []
    for match in INCLUDE.finditer(lint_source.blank(text, keep_includes=True)):
        wrong = check_include(root, path, module, match[1], match[2], is_dialect)
        if wrong:
            found.append((text.count("\n", 0, match.start()) + 1, wrong))
    code = lint_source.blank(text, keep_includes=False)
    for power, (_, words) in POWERS.items():
        if power in granted or words is None:
            continue
        for match in re.finditer(words, code):
            where = text.count("\n", 0, match.start()) + 1
            found.append((where, f"`{match[0]}`: {module} has no business with {power}"))
    return [f"{path.relative_to(root)}:{line}: {what}" for line, what in sorted(found)]


def check_tree(root):
    """Returns one line for each thing that is wrong below root."""
    problems = []
    for top in ("include/latchd", "src"):
        for path in lint_source.files(root, [top], lint_source.CPP):
            module = module_of(path.relative_to(root / top).as_posix())
            if module is None:
                problems.append(f"{path.relative_to(root)}: belongs to no known module")
            elif module not in UNCHECKED:
                problems += check_file(root, path, module)
    return problems


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("root", type=pathlib.Path)
    problems = check_tree(parser.parse_args().root.resolve())
    print("\n".join(problems))
    sys.exit(1 if problems else 0)


if __name__ == "__main__":
    main()
