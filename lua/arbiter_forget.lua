-- SPDX-FileCopyrightText: 2026 The latchd authors
-- SPDX-License-Identifier: Apache-2.0
--
-- Takes a node's row out (A8).
-- KEYS: authority, rows. ARGV: 1 incarnation.
-- Reply: lib/arbiter.lua.

-- include: lib/arbiter.lua

call('HDEL', KEYS[2], ARGV[1])
return answer(1)
