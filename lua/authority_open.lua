-- SPDX-FileCopyrightText: 2026 The latchd authors
-- SPDX-License-Identifier: Apache-2.0
--
-- Opens a settling epoch: writes the marker anew and sets the record open, in one step.
-- KEYS: record, marker.
-- ARGV: 1-2 epoch and nonce of the settling record that are expected;
--       3-4 epoch ('': no marker) and nonce of the marker that are expected;
--       5-11 uuid, epoch, nonce, run_id, replid, replid2, reason of the open record;
--       12 counter: the last one that counts as given.
-- Reply: lib/authority.lua; done is 0 if something else was found.

-- include: lib/authority.lua

if not is_as_expected(KEYS[1], { 'epoch', 'state', 'nonce' }, { ARGV[1], 'settling', ARGV[2] })
    or not is_as_expected(KEYS[2], { 'epoch', 'nonce' }, { ARGV[3], ARGV[4] }) then
    return answer(0)
end
call('HSET', KEYS[2], 'uuid', ARGV[5], 'epoch', ARGV[6], 'nonce', ARGV[7], 'run_id', ARGV[8],
    'counter', ARGV[12], 'time', now)
call('HSET', KEYS[1], 'uuid', ARGV[5], 'epoch', ARGV[6], 'state', 'open', 'nonce', ARGV[7],
    'run_id', ARGV[8], 'replid', ARGV[9], 'replid2', ARGV[10], 'reason', ARGV[11], 'since', now)
return answer(1)
