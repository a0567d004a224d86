#!/bin/sh
# SPDX-FileCopyrightText: 2026 The latchd authors
# SPDX-License-Identifier: Apache-2.0
# The systemd unit is understood by systemd and keeps its hardening.
# usage: check_unit.sh UNIT LATCHD
set -eu

command -v systemd-analyze >/dev/null || exit 77
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
# verify looks whether the program is there.
sed "s|/usr/sbin/latchd|$(readlink -f "$2")|" "$1" >"$folder/latchd.service"
complaints=$(systemd-analyze verify "$folder/latchd.service" 2>&1 | grep 'latchd.service' || true)
if [ -n "$complaints" ]; then
    echo "$complaints"
    exit 1
fi
systemd-analyze security --offline=true --threshold=20 "$folder/latchd.service"
