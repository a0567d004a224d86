# shellcheck shell=bash disable=SC2154
#
# SPDX-FileCopyrightText: 2026 The latchd authors
# SPDX-License-Identifier: Apache-2.0
#
# Steps that tools/run, tools/test and .ci/run share; to be sourced, with $root set.

# Objects are found again by ccache from whichever folder the project lies in.
export CCACHE_BASEDIR="$root" CCACHE_NOHASHDIR=1

# with_ccache COMPILER: prints the compiler, behind ccache where that is installed.
with_ccache() {
    if command -v ccache > /dev/null; then
        printf 'ccache %s' "$1"
    else
        printf '%s' "$1"
    fi
}

# configure FOLDER COMPILER [OPTION...]: sets the build folder up unless it is.
configure() {
    local folder=$1 compiler=$2
    shift 2
    if [[ ! -f "$folder/build.ninja" ]]; then
        rm -rf "$folder"
        CXX=$(with_ccache "$compiler") /usr/bin/meson setup "$folder" "$root" "$@" < /dev/null
    fi
}

# What suites are built with: a trace needs lines, and whole debug information takes half again as
# long to compile.
with_lines=(-Ddebug=false -Dcpp_args=-g1)

# compile FOLDER [TARGET...]: no more jobs than processors, since a unit may take 700 MB.
compile() {
    local folder=$1
    shift
    /usr/bin/ninja -C "$folder" -j "$(nproc)" "$@" < /dev/null
}

# run_suites FOLDER [ARGUMENT...]: runs the built suites; old results are gone whatever happens. One
# program more than there are processors, since most of them wait for servers and leases.
run_suites() {
    local folder=$1
    shift
    rm -f "$folder"/*.xml "$folder"/meson-logs/testlog*
    /usr/bin/meson test -C "$folder" --no-rebuild --print-errorlogs \
        --num-processes "$(($(nproc) + 1))" "$@" < /dev/null
}
