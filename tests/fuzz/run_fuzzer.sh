#!/bin/bash
# SPDX-FileCopyrightText: 2026 The latchd authors
# SPDX-License-Identifier: Apache-2.0
#
# run_fuzzer.sh FUZZER FOUND [INPUTS...]: runs a fuzzer for LATCHD_FUZZ_SECONDS (30). What breaks it
# is left in FOUND as crash-*: fix it, then move the file to tests/fuzz/regressions/NAME.
set -euo pipefail

fuzzer=$1 found=$2
shift 2
mkdir -p "$found"
exec "$fuzzer" -max_total_time="${LATCHD_FUZZ_SECONDS:-30}" -timeout=5 -rss_limit_mb=2048 \
    -max_len=65536 -print_final_stats=1 -artifact_prefix="$found/" "$found" "$@"
