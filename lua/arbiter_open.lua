-- SPDX-FileCopyrightText: 2026 The latchd authors
-- SPDX-License-Identifier: Apache-2.0
--
-- Opens the epoch that settles, and deletes the claims that are in the store now (A6).
-- KEYS: authority, rows, claims.
-- ARGV: 1-2 epoch and nonce of the settling record; 3 version of the claims that were read ('':
--       any); 4-5 nonce and JSON of the open placement.
-- Reply: lib/arbiter.lua; done is 0 if something else was found.

-- include: lib/arbiter.lua

local version = call('HGET', KEYS[1], 'claims') or '0'
if fleet[1] ~= ARGV[1] or fleet[2] ~= 'settling' or fleet[3] ~= ARGV[2]
    or (ARGV[3] ~= '' and ARGV[3] ~= version) then
    return answer(0)
end
call('HSET', KEYS[1], 'state', 'open', 'nonce', ARGV[4], 'placement', ARGV[5], 'since', now,
    'opened', ARGV[1])
for _, part in ipairs(call('HKEYS', KEYS[3])) do
    if tonumber(string.match(part, '^%d+')) <= tonumber(ARGV[1]) then
        call('HDEL', KEYS[3], part)
    end
end
return answer(1)
