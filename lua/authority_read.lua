-- SPDX-FileCopyrightText: 2026 The latchd authors
-- SPDX-License-Identifier: Apache-2.0
--
-- Reads record and marker.
-- KEYS: record, marker. ARGV: none.
-- Reply: lib/authority.lua; done is 1.

-- include: lib/authority.lua

return answer(1)
