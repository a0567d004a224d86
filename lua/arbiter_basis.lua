-- SPDX-FileCopyrightText: 2026 The latchd authors
-- SPDX-License-Identifier: Apache-2.0
--
-- Changes what safety rests on, from a later epoch on (A11).
-- KEYS: authority, rows.
-- ARGV: 1 the epoch that the record must show; 2-3 number and JSON of the change; 4 for how many ms
--       a leaver's claims count with it.
-- Reply: lib/arbiter.lua; done is 0 if it shows another, or if another change came before.

-- include: lib/arbiter.lua

local number = tonumber(call('HGET', KEYS[1], 'basis_number') or 0)
if fleet[1] ~= ARGV[1] or tonumber(ARGV[2]) ~= number + 1 then return answer(0) end
call('HSET', KEYS[1], 'basis_number', ARGV[2], 'basis', ARGV[3], 'basis_keep', ARGV[4])
return answer(1)
