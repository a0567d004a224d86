-- SPDX-FileCopyrightText: 2026 The latchd authors
-- SPDX-License-Identifier: Apache-2.0
--
-- The registered resources.
-- KEYS: authority, rows, resources, uses. ARGV: none.
-- Reply: lib/arbiter.lua; it adds { { name, JSON of its settings, ... }, { name, period that it was
--        used in last or 'retired', ... } }.

-- include: lib/arbiter.lua

return answer(1, { call('HGETALL', KEYS[3]), call('HGETALL', KEYS[4]) })
