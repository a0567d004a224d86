-- SPDX-FileCopyrightText: 2026 The latchd authors
-- SPDX-License-Identifier: Apache-2.0
--
-- Takes leavers' records of these locks out, up to these fences (A8).
-- KEYS: authority, rows, left (see arbiter_leave.lua).
-- ARGV: key and fence of each lock.
-- Reply: lib/arbiter.lua.

-- include: lib/arbiter.lua

for i = 1, #ARGV, 2 do
    local lines = call('HGET', KEYS[3], ARGV[i])
    if lines then
        local kept = {}
        for line, fence in string.gmatch(lines, '(%d+ (%d+) [^\n]*\n)') do
            if tonumber(fence) > tonumber(ARGV[i + 1]) then kept[#kept + 1] = line end
        end
        if #kept == 0 then
            call('HDEL', KEYS[3], ARGV[i])
        else
            call('HSET', KEYS[3], ARGV[i], table.concat(kept))
        end
    end
end
return answer(1)
