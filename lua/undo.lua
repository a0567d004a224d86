-- SPDX-FileCopyrightText: 2026 The latchd authors
-- SPDX-License-Identifier: Apache-2.0
--
-- Undo (T9): takes one attempt out, the hold with its last attempt, the lock with its last hold.
-- KEYS: marker, lock, bar of the request id.
-- ARGV: 1-3 as in lib/guard.lua; 4 request, 5 attempt, 6 node of the sender, 7 tombstone_ms (0:
--       none): how long the attempt, should it come yet, is refused.
-- Replies:
--   { 'undone', now_ms, value }    the record as it is now, or as it was at its end
--   { 'nothing', now_ms }
--   { 'STALE', ... }                 lib/guard.lua

-- include: lib/guard.lua

local lock = KEYS[2]

-- include: lib/value.lua
-- include: lib/record.lua
-- include: lib/bar.lua

local value = try('GET', lock)
local record = understand(value)
if ARGV[7] ~= '0' then
    local former = call('GET', KEYS[3])
    put_bar(former, former == '*' and '*' or (former or ' ') .. ARGV[5] .. ' ', ARGV[7])
end
local index = record and find_request(record, ARGV[4])
local attempts = index and record.holds[index].attempts or {}
for i, attempt in ipairs(attempts) do
    if attempt == ARGV[5] then
        table.remove(attempts, i)
        if #attempts > 0 then return { 'undone', now_text, store(record) } end
        local _, left = take_out(record, value, index, ARGV[6])
        return { 'undone', now_text, left }
    end
end
return { 'nothing', now_text }
