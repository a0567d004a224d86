-- SPDX-FileCopyrightText: 2026 The latchd authors
-- SPDX-License-Identifier: Apache-2.0
--
-- Several LOCKs and UNLOCKs, one after the other, each as acquire.lua or release.lua (of an UNLOCK
-- alone) carries it out. What every script does once is done once for all: more than half of what a
-- LOCK and an UNLOCK cost.
-- KEYS: marker; then of each: lock, queue[, bar of the LOCK's request id].
-- ARGV: 1-3 as in lib/guard.lua; 4 a letter for each, a: LOCK, r: UNLOCK; then of each four or two as
--       in acquire.lua and release.lua.
-- Reply: what each would be answered, in their order. An error that ends one is its answer, and the
--        others go on: what Redis refuses because of its state it refuses until something was
--        written, so that an error still means that this one did nothing.
--   { 'STALE', ... } { 'CLOCK', now_ms }    lib/guard.lua; nothing was done

-- include: lib/guard.lua
-- include: lib/grant.lua
-- include: lib/plain_acquire.lua
-- include: lib/plain_release.lua

local function longer_way(is_lock, value, bar, at)
-- include: lib/value.lua
-- include: lib/record.lua
-- include: lib/queue.lua
-- include: lib/acquire.lua
-- include: lib/release.lua
    if is_lock then return full_acquire(value, bar, at) end
    local sender = sender_of(at)
    local reply, is_free = full_release(value, at, sender)
    if is_free then offer(sender) end
    return reply
end

local function lock_one(at, bar_key)
    local read = call('MGET', lock, queue_key, bar_key)
    queue = read[2]
    return plain_acquire(read[1], read[3], at) or longer_way(true, read[1], read[3], at)
end

local function unlock_one(at)
    local read = call('MGET', lock, queue_key)
    local value = read[1]
    queue = read[2]
    if queue or not is_plainly_ours(value, at) then return longer_way(false, value, nil, at) end
    call('DEL', lock)
    return 'released ' .. now_text .. ' ' .. value
end

local replies, key, at = {}, 2, 5
local function go_on()
    for i = #replies + 1, #ARGV[4] do
        local from, first = at, key
        lock, queue_key = KEYS[first], KEYS[first + 1]
        -- Ahead of what may end by an error.
        if string.sub(ARGV[4], i, i) == 'a' then
            key, at = first + 3, from + 4
            replies[i] = lock_one(from, KEYS[first + 2])
        else
            key, at = first + 2, from + 2
            replies[i] = unlock_one(from)
        end
    end
end
while #replies < #ARGV[4] do
    local ok, problem = pcall(go_on)
    if not ok then
        -- Redis 7 says what it refuses with, Redis 6 puts the line before it.
        local is_error = string.find(problem, '^%u+ ')
        replies[#replies + 1] = { err = (is_error and '' or 'ERR Error running script: ') .. problem }
    end
end
return replies
