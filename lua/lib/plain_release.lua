-- SPDX-FileCopyrightText: 2026 The latchd authors
-- SPDX-License-Identifier: Apache-2.0
--
-- Whether what is there is, seen without taking it apart, ours, live, of one hold with the token of
-- ARGV[at], and of the sender's node (ARGV[at+1]): as release.lua has them. After guard.lua.
local function is_plainly_ours(value, at)
    local head = ARGV[at]
    if not value or string.sub(value, 1, #head) ~= head or string.sub(value, -#TAIL) ~= TAIL
        or string.find(value, '},{', 1, true) or not string.find(value, ARGV[at + 1], 1, true) then
        return false
    end
    local since, lease, delay = string.match(value,
        '^"fence":%d+,"since_ms":(%d+),"lease_ms":(%d+),"delay_ms":(%d+),', #head + 1)
    return since and since + lease + delay - now_text > 0
end
