-- SPDX-FileCopyrightText: 2026 The latchd authors
-- SPDX-License-Identifier: Apache-2.0
--
-- The view.
-- KEYS: authority, rows. ARGV: none.
-- Reply: lib/arbiter.lua.

-- include: lib/arbiter.lua

return answer(1)
