-- SPDX-FileCopyrightText: 2026 The latchd authors
-- SPDX-License-Identifier: Apache-2.0
--
-- A request id's bar: '*' when it was cancelled, else its undone attempts, each between blanks.
-- After record.lua; KEYS[4] is the bar. Never made shorter than it was.
local function put_bar(former, text, ms)
    call('SET', KEYS[4], text, 'PX', math.max(tonumber(ms), former and call('PTTL', KEYS[4]) or 0))
end
