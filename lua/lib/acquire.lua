-- SPDX-FileCopyrightText: 2026 The latchd authors
-- SPDX-License-Identifier: Apache-2.0
--
-- T2-T6: one LOCK against what is there. After grant.lua and record.lua. A LOCK is four arguments:
--   ARGV[at], ARGV[at+1], ARGV[at+2]   the record of a fresh grant, see grant.lua
--   ARGV[at+3]   'j': only to adopt or to re-enter; 'k': the sender renews it from now on; 'jk'; ''
-- Returns status, value, left_ms, fence:
--   granted | reentered | adopted, value
--   held, '', left_ms, fence          until when it can't be free at the latest
--   holds_full, '', '', fence
--   cancelled | foreign_value
local function adopt(record, hold, wish, keep)
    local attempt, known = wish.holds[1].attempts[1], false
    for _, one in ipairs(hold.attempts) do
        known = known or one == attempt
    end
    if not known then
        if record.passed_ms >= hold.adopt_ms then return end
        if #hold.attempts >= 16 then return 'holds_full', '', '', record.fence end
        hold.attempts[#hold.attempts + 1] = attempt
        hold.adopt_ms = record.passed_ms + wish.holds[1].adopt_ms
    end
    record.client = wish.client
    return 'adopted', store_as(record, wish.node, keep)
end

local function reenter(record, wish)
    if #record.holds >= 64 then return 'holds_full', '', '', record.fence end
    local hold = wish.holds[1]
    hold.adopt_ms = record.passed_ms + hold.adopt_ms
    record.holds[#record.holds + 1] = hold
    extend(record, wish.ttl_ms)
    record.client = wish.client
    -- A hold of its own: the other node's KEEP holders go on.
    return 'reentered', store_as(record, wish.node, '0')
end

local function acquire(record, foreign, bar, at)
    local wish = cjson.decode(ARGV[at] .. '0,"since_ms":0' .. ARGV[at + 1])
    local join_only = string.find(ARGV[at + 3], 'j', 1, true)
    local keep = string.find(ARGV[at + 3], 'k', 1, true) and '1' or '0'
    local hold = wish.holds[1]
    if bar and (bar == '*' or string.find(bar, ' ' .. hold.attempts[1] .. ' ', 1, true)) then
        return 'cancelled', '', '', ''
    end
    if foreign then return 'foreign_value', '', '', '' end
    if not record then
        if join_only then return 'held', '', 0, '' end
        return 'granted', grant(at)
    end
    if record.passed_ms < record.lease_ms then
        local index = find_request(record, hold.request)
        if index then
            local status, value, left, fence = adopt(record, record.holds[index], wish, keep)
            if status then return status, value, left, fence end
        end
        if record.owner ~= '' and record.owner == wish.owner then
            return reenter(record, wish)
        end
    end
    return 'held', '', record.lease_ms + record.delay_ms - record.passed_ms, record.fence
end
