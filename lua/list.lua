-- SPDX-FileCopyrightText: 2026 The latchd authors
-- SPDX-License-Identifier: Apache-2.0
--
-- LOCKS FLEET: the records behind the keys of one scanned page.
-- KEYS: marker, any number of locks.
-- ARGV: 1-3 as in lib/guard.lua.
-- Replies:
--   { 'listed', now_ms, value or nil for each lock }    nil: nothing of this epoch and nonce
--   { 'STALE', ... }                                    lib/guard.lua

-- include: lib/guard.lua

local reply = { 'listed', now_text }
for i = 2, #KEYS do
    local value = try('GET', KEYS[i])
    local is_ours = type(value) == 'string' and string.sub(value, -#TAIL) == TAIL
    reply[i + 1] = is_ours and value or false
end
return reply
