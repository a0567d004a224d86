-- SPDX-FileCopyrightText: 2026 The latchd authors
-- SPDX-License-Identifier: Apache-2.0
--
-- T6: the fresh grant, of a record that the caller has written but for what only the server knows.
-- After guard.lua. ARGV[at..at+2] = what comes before the fence, what comes after since_ms,
-- lease_ms + delay_ms.
local lock = KEYS[2]

local function grant(at)
    -- Should the SET be refused, a fence is lost and nothing else.
    local fence = string.format('%d', BASE + call('HINCRBY', KEYS[1], 'counter', '1'))
    local value = ARGV[at] .. fence .. ',"since_ms":' .. now_text .. ARGV[at + 1]
    call('SET', lock, value, 'PX', ARGV[at + 2])
    return value
end
