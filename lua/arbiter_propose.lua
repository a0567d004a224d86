-- SPDX-FileCopyrightText: 2026 The latchd authors
-- SPDX-License-Identifier: Apache-2.0
--
-- Begins an epoch: compare-and-set of the record to a settling one (A3).
-- KEYS: authority, rows.
-- ARGV: 1-3 epoch ('': no record), state, nonce that are expected;
--       4-7 epoch, nonce, and JSON of the fleet's record and its placement;
--       8 for how many ms a leaver's claims count.
-- Reply: lib/arbiter.lua; done is 0 if something else was found.

-- include: lib/arbiter.lua

local is_expected = not fleet[1]
if ARGV[1] ~= '' then
    is_expected = fleet[1] == ARGV[1] and fleet[2] == ARGV[2] and fleet[3] == ARGV[3]
end
if not is_expected or tonumber(ARGV[4]) <= tonumber(fleet[1] or 0) then return answer(0) end
call('HSET', KEYS[1], 'epoch', ARGV[4], 'state', 'settling', 'nonce', ARGV[5], 'fleet', ARGV[6],
    'placement', ARGV[7], 'since', now, 'keep', ARGV[8])
return answer(1)
