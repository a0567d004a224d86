-- SPDX-FileCopyrightText: 2026 The latchd authors
-- SPDX-License-Identifier: Apache-2.0
--
-- Deletes void records: what latchd wrote under another epoch or nonce. Nothing else, ever.
-- KEYS: marker, any number of locks.
-- ARGV: 1-3 as in lib/guard.lua.
-- Replies:
--   { 'swept', now_ms, number of deleted keys }
--   { 'STALE', ... }    lib/guard.lua

-- include: lib/guard.lua
-- include: lib/value.lua

local deleted = 0
for i = 2, #KEYS do
    local value = try('GET', KEYS[i])
    if type(value) == 'string' and string.sub(value, -#TAIL) ~= TAIL and parse(value) then
        deleted = deleted + call('DEL', KEYS[i])
    end
end
return { 'swept', now_text, deleted }
