-- SPDX-FileCopyrightText: 2026 The latchd authors
-- SPDX-License-Identifier: Apache-2.0
--
-- T2-T6: one LOCK against what is there. After record.lua. Arguments: what load() says of the
-- lock, what is in the bar, and `at` with ARGV[at..at+12] = request, attempt, token, owner, node,
-- client, ttl_ms, hold_max_ms (0: none), renew_max, delay_ms, retry_window_ms, keep, join_only
-- (both 0 or 1).
-- Returns status, value, left_ms, fence:
--   granted | reentered | adopted, value
--   held, '', left_ms, fence          until when it can't be free at the latest
--   holds_full, '', '', fence
--   cancelled | foreign_value
local function adopt(record, hold, at)
    local attempt, known = ARGV[at + 1], false
    for _, one in ipairs(hold.attempts) do
        known = known or one == attempt
    end
    if not known then
        if now >= hold.adopt_until_ms then return end
        if #hold.attempts >= 16 then return 'holds_full', '', '', record.fence end
        hold.attempts[#hold.attempts + 1] = attempt
        hold.adopt_until_ms = now + ARGV[at + 10]
    end
    record.client = ARGV[at + 5]
    return 'adopted', store_as(record, ARGV[at + 4], ARGV[at + 11])
end

local function reenter(record, at)
    if #record.holds >= 64 then return 'holds_full', '', '', record.fence end
    record.holds[#record.holds + 1] = { token = ARGV[at + 2], request = ARGV[at],
        attempts = { ARGV[at + 1] }, adopt_until_ms = now + ARGV[at + 10] }
    local wanted = now + ARGV[at + 6]
    if record.hard_end_ms > 0 then wanted = math.min(wanted, record.hard_end_ms) end
    record.lease_end_ms = math.max(record.lease_end_ms, wanted)
    record.ttl_ms = tonumber(ARGV[at + 6])
    record.client = ARGV[at + 5]
    return 'reentered', store_as(record, ARGV[at + 4], ARGV[at + 11])
end

local function grant(at)
    local lease_end, hard_end, hold_max = now + ARGV[at + 6], 0, tonumber(ARGV[at + 7])
    if hold_max > 0 then
        hard_end = now + hold_max
        lease_end = math.min(lease_end, hard_end)
    end
    -- Should the SET be refused, a fence is lost and nothing else.
    local fence = epoch * 4294967296 + call('HINCRBY', KEYS[1], 'counter', 1)
    local token = quote(ARGV[at + 2])
    local value = '{"token":' .. token .. ',"fence":' .. string.format('%.0f', fence)
        .. ',"owner":' .. quote(ARGV[at + 3]) .. ',"holds":[{"token":' .. token
        .. ',"request":' .. quote(ARGV[at]) .. ',"attempts":["' .. ARGV[at + 1]
        .. '"],"adopt_until_ms":' .. now + ARGV[at + 10] .. '}],"version":1,"ttl_ms":'
        .. ARGV[at + 6] .. ',"lease_end_ms":' .. lease_end .. ',"hard_end_ms":' .. hard_end
        .. ',"renewals":0,"renew_max":' .. ARGV[at + 8] .. ',"delay_ms":' .. ARGV[at + 9]
        .. ',"since_ms":' .. now .. ',"node":' .. quote(ARGV[at + 4]) .. ',"client":'
        .. quote(ARGV[at + 5]) .. ',"epoch":' .. ARGV[1] .. ',"nonce":' .. quote(nonce) .. '}'
    call('SET', lock, value, 'PX', lease_end + ARGV[at + 9] - now)
    return 'granted', value
end

local function acquire(record, foreign, bar, at)
    if bar and (bar == '*' or string.find(bar, ' ' .. ARGV[at + 1] .. ' ', 1, true)) then
        return 'cancelled', '', '', ''
    end
    if foreign then return 'foreign_value', '', '', '' end
    if not record then
        if ARGV[at + 12] == '1' then return 'held', '', 0, '' end
        return grant(at)
    end
    if now < record.lease_end_ms then
        local index = find_request(record, ARGV[at])
        if index then
            local status, value, left, fence = adopt(record, record.holds[index], at)
            if status then return status, value, left, fence end
        end
        if record.owner ~= '' and record.owner == ARGV[at + 3] then return reenter(record, at) end
    end
    return 'held', '', record.lease_end_ms + record.delay_ms - now, record.fence
end
