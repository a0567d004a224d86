#!/bin/bash
# SPDX-FileCopyrightText: 2026 The latchd authors
# SPDX-License-Identifier: Apache-2.0
#
# Installs the Debian packages that latchd needs and that are missing; does nothing, and needs
# neither root nor a network, when none is.
#
#   tools/install_deps.sh run     to build and serve (tools/run)
#   tools/install_deps.sh test    the same and what the suites need (tools/test), the default
#   tools/install_deps.sh bench   the same and what latchd is compared with (tools/bench)
#   tools/install_deps.sh ci      as test, and clang for the sanitizers and fuzzers (.ci/run)
set -euo pipefail

run_packages=(
    "g++:C++20 compiler"
    "meson:build system"
    "ninja-build:runs the build"
    "pkg-config:finds the libraries"
    "python3:embeds the Lua scripts"
    "libboost1.81-dev:Asio (network), Beast, JSON; headers only"
    "libhiredis-dev:parses RESP"
    "libmariadb-dev:speaks to MySQL and MariaDB"
    "libyaml-cpp-dev:reads the configuration"
    "libspdlog-dev:logs"
    "libcli11-dev:reads the command line"
    "libssl-dev:digests, random bytes, errors of TLS"
    "libjemalloc-dev:allocates memory, as redis-server's does"
    "libsystemd-dev:readiness and watchdog under systemd"
    "redis-tools:redis-cli, to take a lock by hand"
)
test_packages=(
    "ccache:makes the second build quick"
    "clang-format-14:checks the format"
    "libgtest-dev:GoogleTest"
    "libgmock-dev:GoogleMock"
    "redis-server:the store that integration tests start for themselves"
    "mariadb-server:the same for the MySQL store"
    "python3-redis:a stock client that integration tests use"
    "spin:searches the model of the authority (docs/authority.pml)"
)
bench_packages=(
    "nutcracker:twemproxy, which passes commands on to Redis as latchd does"
    "linux-perf:where the time goes (tools/bench --profile)"
)
ci_packages=(
    "clang-14:second compiler, ThreadSanitizer, libFuzzer"
    "libclang-rt-14-dev:runtime of the sanitizers and fuzzers"
    "llvm-14:makes sanitizer reports readable"
)

say() { printf '%s\n' "install_deps: $*" >&2; }

case "${1:-test}" in
    run) wanted=("${run_packages[@]}") ;;
    test) wanted=("${run_packages[@]}" "${test_packages[@]}") ;;
    bench) wanted=("${run_packages[@]}" "${test_packages[@]}" "${bench_packages[@]}") ;;
    ci) wanted=("${run_packages[@]}" "${test_packages[@]}" "${ci_packages[@]}") ;;
    *) say "usage: tools/install_deps.sh [run|test|bench|ci]"; exit 2 ;;
esac

if [[ -n "${LATCHD_SKIP_INSTALL:-}" ]]; then
    exit 0
fi

system=unknown
if [[ -r /etc/os-release ]]; then
    # shellcheck source=/dev/null
    system=$(. /etc/os-release && printf '%s %s' "${ID:-unknown}" "${VERSION_ID:-}")
fi
if [[ "$system" != "debian 12" ]] || ! command -v apt-get dpkg-query > /dev/null; then
    say "this is $system; only Debian 12 is installed automatically. By hand, please (Debian's names):"
    for entry in "${wanted[@]}"; do
        printf '  %-20s %s\n' "${entry%%:*}" "${entry#*:}" >&2
    done
    say "then run it again with LATCHD_SKIP_INSTALL=1"
    exit 1
fi

is_installed() {
    local state
    state=$(dpkg-query --show --showformat='${db:Status-Abbrev}' "$1" 2> /dev/null) || return 1
    [[ "$state" == ?i* ]]
}

missing=()
for entry in "${wanted[@]}"; do
    is_installed "${entry%%:*}" || missing+=("$entry")
done
if ((${#missing[@]} == 0)); then
    exit 0
fi

say "installs these Debian packages:"
names=()
for entry in "${missing[@]}"; do
    printf '  %-20s %s\n' "${entry%%:*}" "${entry#*:}" >&2
    names+=("${entry%%:*}")
done

as_root=()
if ((EUID != 0)); then
    if ! command -v sudo > /dev/null; then
        say "that needs root, and there is no sudo. As root: apt-get install ${names[*]}"
        exit 1
    fi
    as_root=(sudo)
fi
apt=("${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get -o DPkg::Lock::Timeout=300
    -o Acquire::Retries=3 --quiet)
if ! "${apt[@]}" update < /dev/null; then
    say "the package lists could not be refreshed; tries with the present ones"
fi
"${apt[@]}" install --yes --no-install-recommends "${names[@]}" < /dev/null
