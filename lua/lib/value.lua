-- SPDX-FileCopyrightText: 2026 The latchd authors
-- SPDX-License-Identifier: Apache-2.0
--
-- A lock's value: the grant record as JSON, in this order, every field always there.
--   token (of the first hold), fence, since_ms (the grant's Unix time), lease_ms, delay_ms, owner,
--   holds [{token, request, attempts ["incarnation.number"], adopt_ms}], version, ttl_ms, hard_ms
--   (0: none), renewals, renew_max (0: no limit), node, client, epoch, nonce
-- lease_ms, hard_ms, adopt_ms say when lease, hard end and adoption end, counted from since_ms.
-- Strings may hold any bytes.

-- Returns what latchd has written under any epoch, or nil.
local function parse(value)
    if string.sub(value, 1, 10) ~= '{"token":"' then return end
    local ok, record = pcall(cjson.decode, value)
    if ok and type(record.holds) == 'table' and type(record.epoch) == 'number'
        and type(record.nonce) == 'string' and type(record.since_ms) == 'number'
        and type(record.lease_ms) == 'number' and type(record.delay_ms) == 'number' then
        return record
    end
end
