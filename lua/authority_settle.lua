-- SPDX-FileCopyrightText: 2026 The latchd authors
-- SPDX-License-Identifier: Apache-2.0
--
-- Begins an epoch: compare-and-set of the record to a settling one.
-- KEYS: record, marker.
-- ARGV: 1-3 epoch ('': no record), state, nonce that are expected;
--       4-10 uuid, epoch, nonce, run_id, replid, replid2, reason of the new one.
-- Reply: lib/authority.lua; done is 0 if something else was found.

-- include: lib/authority.lua

if not is_as_expected(KEYS[1], { 'epoch', 'state', 'nonce' }, { ARGV[1], ARGV[2], ARGV[3] }) then
    return answer(0)
end
call('HSET', KEYS[1], 'uuid', ARGV[4], 'epoch', ARGV[5], 'state', 'settling', 'nonce', ARGV[6],
    'run_id', ARGV[7], 'replid', ARGV[8], 'replid2', ARGV[9], 'reason', ARGV[10], 'since', now)
return answer(1)
