-- SPDX-FileCopyrightText: 2026 The latchd authors
-- SPDX-License-Identifier: Apache-2.0
--
-- T2-T6, T12, T14: one LOCK against what is there. After grant.lua, record.lua, queue.lua. A LOCK is
-- four arguments:
--   ARGV[at], ARGV[at+1], ARGV[at+2]   the record of a fresh grant, see grant.lua
--   ARGV[at+3]   any of j: only to adopt or to re-enter; k: the sender renews it from now on;
--                w: waits where it is held
-- Returns status, value, left_ms, fence:
--   granted | reentered | adopted, value
--   held, '', left_ms, fence          until when it can't be free at the latest
--   holds_full, '', '', fence
--   cancelled | foreign_value
local function adopt(record, hold, wish, keep, is_known)
    if not is_known then
        if #hold.attempts >= 16 then return 'holds_full', '', '', record.fence end
        hold.attempts[#hold.attempts + 1] = wish.holds[1].attempts[1]
        hold.adopt_ms = record.passed_ms + wish.holds[1].adopt_ms
    end
    record.client = wish.client
    return 'adopted', store_as(record, wish.node, keep and hold.token)
end

local function reenter(record, wish)
    if #record.holds >= 64 then return 'holds_full', '', '', record.fence end
    local hold = wish.holds[1]
    local former = find_request(record, hold.request)
    if former then record.holds[former].request = '' end
    hold.adopt_ms = record.passed_ms + hold.adopt_ms
    record.holds[#record.holds + 1] = hold
    extend(record, wish.ttl_ms)
    record.client = wish.client
    -- A hold of its own: the other node's KEEP holders go on.
    return 'reentered', store_as(record, wish.node)
end

-- T14. is_first: before the queue.
local function acquire_free(wish, at, waits, is_first)
    local node = first_in_queue()
    if not node or node == wish.node or is_first then
        step_out(wish.node)
        local _, value = grant(at)
        return 'granted', value
    end
    if reserved_ms() <= 0 then offer(wish.node) end
    local left = reserved_ms()
    if waits then join_queue(wish.node) end
    return 'held', '', left, ''
end

local function acquire(record, foreign, bar, at, is_first)
    local wish = cjson.decode(ARGV[at] .. '0,"since_ms":0' .. ARGV[at + 1])
    local join_only = string.find(ARGV[at + 3], 'j', 1, true)
    local keep = string.find(ARGV[at + 3], 'k', 1, true)
    local waits = string.find(ARGV[at + 3], 'w', 1, true)
    local hold = wish.holds[1]
    if bar and (bar == '*' or string.find(bar, ' ' .. hold.attempts[1] .. ' ', 1, true)) then
        return 'cancelled', '', '', ''
    end
    if foreign then return 'foreign_value', '', '', '' end
    if not record then
        if join_only then return 'held', '', 0, '' end
        return acquire_free(wish, at, waits, is_first)
    end
    if record.passed_ms < record.lease_ms then
        local own = find_attempt(record, hold.attempts[1])
        if own then return adopt(record, record.holds[own], wish, keep, true) end
        local index = find_request(record, hold.request)
        local found = index and record.holds[index]
        if found and record.passed_ms < found.adopt_ms then
            return adopt(record, found, wish, keep, false)
        end
        if record.owner ~= '' and record.owner == wish.owner then
            return reenter(record, wish)
        end
    end
    if waits then join_queue(wish.node) end
    return 'held', '', record.lease_ms + record.delay_ms - record.passed_ms, record.fence
end

-- acquire.lua's reply, the longer way.
local function full_acquire(value, bar, at)
    local record, foreign = understand(value or try('GET', lock))
    local status, now_value, left, fence = acquire(record, foreign, bar, at)
    return { status, now_text, now_value, left, fence }
end
