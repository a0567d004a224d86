-- SPDX-FileCopyrightText: 2026 The latchd authors
-- SPDX-License-Identifier: Apache-2.0
--
-- A page of the claims that count for the epoch that settles, and those of leavers, whatever their
-- age (A5).
-- KEYS: authority, rows, claims, left.
-- ARGV: 1 epoch, 2 where the page begins: '' or what the one before answered.
-- Reply: lib/arbiter.lua; done is 0 if the record's epoch is another, else it adds
--        { version of the claims, { epoch:incarnation:part, "<date> <JSON>", ... },
--          { field, value, ... } as arbiter_leave.lua has them,
--          { incarnation, when it left, ... } of those in there,
--          where the next page begins ('': there is none) }

-- include: lib/arbiter.lua

local parts_wanted, locks_wanted = 20, 5000

if fleet[1] ~= ARGV[1] then return answer(0) end
local opened = tonumber(fleet[4] or 0)
local claims, left, leavers, next_page = {}, {}, {}, ''

local function scan(key, cursor, count)
    local page = call('HSCAN', key, cursor, 'COUNT', count)
    return page[1], page[2]
end

local which, cursor = string.match(ARGV[2], '^(%a)(%d+)$')
if which ~= 'l' then
    local all
    cursor, all = scan(KEYS[3], cursor or '0', parts_wanted)
    for i = 1, #all, 2 do
        if tonumber(string.match(all[i], '^%d+')) > opened then
            claims[#claims + 1] = all[i]
            claims[#claims + 1] = all[i + 1]
        end
    end
    next_page = cursor == '0' and 'l0' or 'c' .. cursor
else
    cursor, left = scan(KEYS[4], cursor, locks_wanted)
    local seen = {}
    local function note(incarnation)
        if seen[incarnation] then return end
        seen[incarnation] = true
        leavers[#leavers + 1] = incarnation
        leavers[#leavers + 1] = call('HGET', KEYS[4], '@' .. incarnation)
    end
    for i = 1, #left, 2 do
        local number = string.match(left[i], '^#(%d+):')
        if number then
            note(number)
        elseif string.sub(left[i], 1, 1) ~= '@' then
            for incarnation in string.gmatch(left[i + 1], '(%d+) %d+ [^\n]*\n') do note(incarnation) end
        end
    end
    if cursor ~= '0' then next_page = 'l' .. cursor end
end
return answer(1, { call('HGET', KEYS[1], 'claims') or '0', claims, left, leavers, next_page })
