-- SPDX-FileCopyrightText: 2026 The latchd authors
-- SPDX-License-Identifier: Apache-2.0
--
-- Writes a node's row: "<acked> <beat> <JSON>". Acked never falls, counts up to the record's epoch,
-- and is all that counts of a row whose beat was overtaken (A2).
-- Needs: lib/arbiter.lua.
local function put_row(incarnation, acked, beat, row)
    acked = math.min(tonumber(acked), tonumber(fleet[1] or 0))
    local there = call('HGET', KEYS[2], incarnation) or ''
    local there_acked, there_beat, there_row = string.match(there, '^(%d+) (%d+) (.*)$')
    if there_acked then
        acked = math.max(acked, tonumber(there_acked))
        if tonumber(beat) < tonumber(there_beat) then
            beat, row = there_beat, there_row
        end
    end
    call('HSET', KEYS[2], incarnation, string.format('%d %s %s', acked, beat, row))
end
