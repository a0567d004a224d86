-- SPDX-FileCopyrightText: 2026 The latchd authors
-- SPDX-License-Identifier: Apache-2.0
--
-- What nearly every LOCK meets, seen without taking a record apart. After grant.lua; value, queue and
-- bar are what is there (a value of another kind than a string looks like none), ARGV[at..at+3] the
-- LOCK as in lib/acquire.lua. Returns acquire.lua's reply of one string; nil: it takes acquire.lua's
-- longer way.
local function plain_acquire(value, bar, at)
    if not value and not bar and not queue and not string.find(ARGV[at + 3], 'j', 1, true) then
        local fence = grant(at, true)
        return fence and 'granted ' .. now_text .. ' ' .. fence
    end

    -- Busy: it is ours, and neither this request's nor this owner's. A name with anything escaped may
    -- be spelled otherwise there, and a hold whose request id went over to another may have this
    -- attempt (T3, T4): then it is taken apart.
    if not value or bar or string.sub(value, -#TAIL) ~= TAIL
        or string.find(value, '"request":""', 1, true) then
        return
    end
    local owner, request = string.match(ARGV[at + 1],
        '("owner":"[^"\\]*"),"holds":%[{"token":"[^"\\]*",("request":"[^"\\]*")')
    local is_placed = not string.find(ARGV[at + 3], 'w', 1, true)
    if not is_placed and queue then
        local node = string.match(ARGV[at + 1], ',"node":"([^"\\]*)","client":')
        -- The first may be late for what was reserved for it.
        local place = node and string.find(queue, ' ' .. node .. ' ', 14, true)
        is_placed = place and place > 14
    end
    if is_placed and owner and not string.find(value, request, 1, true)
        and (owner == '"owner":""' or not string.find(value, owner, 1, true)) then
        local fence, since, lease, delay = string.match(value,
            '^{"token":"[^"\\]*","fence":(%d+),"since_ms":(%d+),"lease_ms":(%d+),"delay_ms":(%d+),')
        local left = fence and since + lease + delay - now_text or 0
        if left > 0 then return 'held ' .. now_text .. ' ' .. left .. ' ' .. fence end
    end
end
