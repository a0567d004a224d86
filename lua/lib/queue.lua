-- SPDX-FileCopyrightText: 2026 The latchd authors
-- SPDX-License-Identifier: Apache-2.0
--
-- Whose turn it is when a lock becomes free (T12-T14). After guard.lua; `lock` and `queue_key` are the
-- lock and its queue, `queue` what is there: until when the lock is reserved for the first (13 digits of
-- Unix ms; NOBODY), then the nodes' names, a blank behind each. A node that did not use its
-- reservation is out, written or not.
local NOBODY = '0000000000000 '

if queue then
    local reserved, others = string.match(queue, '^(%d+ )%S+ (.*)$')
    if reserved and reserved ~= NOBODY and string.sub(reserved, 1, 13) <= now_text then
        queue = others ~= '' and NOBODY .. others
        if not queue then call('DEL', queue_key) end
    end
end

local function first_in_queue()
    return queue and string.match(queue, '^%d+ (%S+)')
end

-- What is left of the reservation; not above 0: there is none.
local function reserved_ms()
    return string.sub(queue, 1, 13) - now_text
end

-- Nobody joined and nobody was offered anything for two minutes: it is forgotten.
local function put_queue(text)
    queue = text
    call('SET', queue_key, queue, 'PX', '120000')
end

local function join_queue(node)
    if queue and string.find(queue, ' ' .. node .. ' ', 14, true) then return end
    local _, count = string.gsub(queue or '', ' ', ' ')
    if count > 64 then return end
    put_queue((queue or NOBODY) .. node .. ' ')
end

local function step_out(node)
    local from, to = string.find(queue or '', ' ' .. node .. ' ', 14, true)
    if not from then return false end
    local head = from == 14 and NOBODY or string.sub(queue, 1, from)
    queue = head .. string.sub(queue, to + 1)
    if queue == NOBODY then
        queue = nil
        call('DEL', queue_key)
    else
        call('SET', queue_key, queue, 'KEEPTTL')
    end
    return true
end

-- T13: reserves the lock, which is free, for the first, and tells it.
local function offer(sender)
    local node = first_in_queue()
    if not node then return end
    put_queue(string.format('%013d', now_text + 200) .. string.sub(queue, 14))
    if node ~= sender then
        try('PUBLISH', string.sub(KEYS[1], 1, -7) .. 'node:' .. node, 'offered 0 ' .. lock)
    end
end
