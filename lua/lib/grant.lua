-- SPDX-FileCopyrightText: 2026 The latchd authors
-- SPDX-License-Identifier: Apache-2.0
--
-- T6: the fresh grant, of a record that the caller has written but for what only the server knows.
-- After guard.lua. ARGV[at..at+2] = what comes before the fence, what comes after since_ms,
-- lease_ms + delay_ms. Returns the fence and the value.
-- The lock, its queue, and what is in that; many.lua comes to others with them.
local lock, queue_key, queue = KEYS[2], KEYS[3], nil

-- is_new: only where nothing is; else nil, and a fence is lost. (So it is when the SET is refused.)
local function grant(at, is_new)
    local fence = string.format('%d', BASE + call('HINCRBY', KEYS[1], 'counter', '1'))
    local value = ARGV[at] .. fence .. ',"since_ms":' .. now_text .. ARGV[at + 1]
    if not is_new then
        call('SET', lock, value, 'PX', ARGV[at + 2])
    elseif not call('SET', lock, value, 'PX', ARGV[at + 2], 'NX') then
        return
    end
    return fence, value
end
