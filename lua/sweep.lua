-- SPDX-FileCopyrightText: 2026 The latchd authors
-- SPDX-License-Identifier: Apache-2.0
--
-- Deletes void records: what latchd wrote under another epoch or nonce. Nothing else, ever.
-- KEYS: marker, any number of locks.
-- ARGV: 1-5 as in lib/guard.lua.
-- Replies:
--   { 'swept', now_ms, number of deleted keys }
--   { 'STALE', ... }    lib/guard.lua

-- include: lib/guard.lua

local deleted = 0
for i = 2, #KEYS do
    local value = try('GET', KEYS[i])
    if type(value) == 'string' and string.sub(value, 1, 10) == '{"token":"' then
        local ok, record = pcall(cjson.decode, value)
        if ok and type(record.holds) == 'table' and type(record.epoch) == 'number'
            and type(record.nonce) == 'string'
            and (record.epoch ~= epoch or record.nonce ~= nonce) then
            deleted = deleted + call('DEL', KEYS[i])
        end
    end
end
return { 'swept', now, deleted }
