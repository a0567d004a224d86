-- SPDX-FileCopyrightText: 2026 The latchd authors
-- SPDX-License-Identifier: Apache-2.0
--
-- T7, the longer way: an UNLOCK (ARGV[at], ARGV[at+1] as release.lua has them) against what is there.
-- After record.lua. Returns release.lua's reply, whether that freed the lock, and what is at the lock
-- now: the record, and whether that isn't latchd's.
local function full_release(value, at, sender)
    local record, foreign = understand(value or try('GET', lock))
    if foreign then return { 'foreign_value', now_text, '', '', '' }, false, record, foreign end
    local index = record and find_token(record, cjson.decode(ARGV[at] .. '"x":0}').token)
    if index then
        local is_free, now_value = take_out(record, value, index, sender)
        local status = is_free and 'released' or 'hold_removed'
        return { status, now_text, now_value, '', '' }, is_free, not is_free and record or nil, false
    end
    if record and record.passed_ms < record.lease_ms then
        return { 'held_by_other', now_text, '', '', record.fence }, false, record, false
    end
    return { 'not_held', now_text, '', '', '' }, false, record, false
end

local function sender_of(at)
    return cjson.decode('{"x":0' .. ARGV[at + 1] .. '0}').node
end
