#!/bin/bash
# SPDX-FileCopyrightText: 2026 The latchd authors
# SPDX-License-Identifier: Apache-2.0
#
# make_certificates.sh FOLDER: what a TLS server of a test needs, valid for a day.
#   ca.pem                      signed the two below
#   server.pem, server.key      for localhost and 127.0.0.1
#   other.pem, other.key        for other.example
#   stranger.pem                a CA that signed nothing
set -euo pipefail
cd "$1"

authority() {
    openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 1 \
        -subj "/CN=$1" -keyout "$2.key" -out "$2.pem"
}

# signed NAME SUBJECT ALTERNATIVES
signed() {
    openssl req -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -subj "/CN=$2" \
        -keyout "$1.key" -out "$1.csr"
    openssl x509 -req -in "$1.csr" -CA ca.pem -CAkey ca.key -CAcreateserial -days 1 \
        -extfile <(printf 'subjectAltName=%s\n' "$3") -out "$1.pem"
}

authority 'CA of a test' ca
authority 'CA of strangers' stranger
signed server localhost 'DNS:localhost,IP:127.0.0.1'
signed other other.example 'DNS:other.example'
