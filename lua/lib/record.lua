-- SPDX-FileCopyrightText: 2026 The latchd authors
-- SPDX-License-Identifier: Apache-2.0
--
-- The grant record as a lock's value, and what may be said to other nodes about it. After
-- guard.lua; KEYS[2] is the lock.
--
-- The value is JSON, token first, epoch and nonce last, every field always there:
--   token (of the first hold), fence, owner, holds [{token, request, attempts ["inc.number"],
--   adopt_until_ms}], version, ttl_ms, lease_end_ms, hard_end_ms (0: none), renewals, renew_max
--   (0: no limit), delay_ms, since_ms, node, client, epoch, nonce
-- Strings may hold any bytes. Times of 13 digits survive Lua's own number format; fences don't.
local quote = cjson.encode
local lock = KEYS[2]

-- Returns the record, or nil if the lock is free (T1; a value of another epoch or nonce is void),
-- and true as the second result if what is there is not latchd's.
local function parse(value)
    if string.sub(value, 1, 10) ~= '{"token":"' then return nil, true end
    local ok, record = pcall(cjson.decode, value)
    if not ok or type(record.holds) ~= 'table' or type(record.nonce) ~= 'string'
        or type(record.epoch) ~= 'number' or type(record.delay_ms) ~= 'number'
        or type(record.lease_end_ms) ~= 'number' then
        return nil, true
    end
    if record.epoch ~= epoch or record.nonce ~= nonce
        or record.lease_end_ms + record.delay_ms <= now then
        return nil, false
    end
    return record, false
end

-- Reads the lock; results as of parse(), and the value as it is.
local function load()
    local value = try('GET', lock)
    if not value then return nil, false end
    if type(value) == 'table' then
        if string.find(value.err, 'WRONGTYPE', 1, true) then return nil, true end
        return call('GET', lock)  -- another error ends the script as itself
    end
    local record, foreign = parse(value)
    return record, foreign, value
end

local function fence_text(record)
    return string.format('%.0f', record.fence)
end

-- Writes the record under the next version; returns its value. Only for a record that isn't over.
local function store(record)
    local holds = {}
    for i, hold in ipairs(record.holds) do
        holds[i] = '{"token":' .. quote(hold.token) .. ',"request":' .. quote(hold.request)
            .. ',"attempts":["' .. table.concat(hold.attempts, '","') .. '"],"adopt_until_ms":'
            .. hold.adopt_until_ms .. '}'
    end
    record.version = record.version + 1
    local value = '{"token":' .. quote(record.holds[1].token) .. ',"fence":' .. fence_text(record)
        .. ',"owner":' .. quote(record.owner) .. ',"holds":[' .. table.concat(holds, ',')
        .. '],"version":' .. record.version .. ',"ttl_ms":' .. record.ttl_ms
        .. ',"lease_end_ms":' .. record.lease_end_ms .. ',"hard_end_ms":' .. record.hard_end_ms
        .. ',"renewals":' .. record.renewals .. ',"renew_max":' .. record.renew_max
        .. ',"delay_ms":' .. record.delay_ms .. ',"since_ms":' .. record.since_ms
        .. ',"node":' .. quote(record.node) .. ',"client":' .. quote(record.client)
        .. ',"epoch":' .. ARGV[1] .. ',"nonce":' .. quote(nonce) .. '}'
    call('SET', lock, value, 'PX', record.lease_end_ms + record.delay_ms - now)
    return value
end

-- Tells another node than the sender; a server that forbids PUBLISH costs the message and nothing
-- else. To be called after the writes, which may be refused.
-- Message: kind, fence, key of the lock, with blanks between, and what is special to the kind.
local function tell(kind, record, node, sender, special)
    if node ~= sender then
        try('PUBLISH', string.sub(KEYS[1], 1, -7) .. 'node:' .. node,
            kind .. ' ' .. fence_text(record) .. ' ' .. lock .. (special or ''))
    end
end

-- T10: stores a record that becomes the sender's. keep: '1' if the sender renews it from now on.
local function store_as(record, sender, keep)
    local former = record.node
    record.node = sender
    local value = store(record)
    tell('moved', record, former, sender, ' ' .. keep)
    return value
end

local function find_token(record, token)
    for i, hold in ipairs(record.holds) do
        if hold.token == token then return i end
    end
end

local function find_request(record, request)
    for i, hold in ipairs(record.holds) do
        if hold.request == request then return i end
    end
end

-- Takes a hold out, the lock with its last. Returns whether the lock is free now, and the record
-- as it is now or as it was at its end.
local function take_out(record, value, index, sender)
    if #record.holds > 1 then
        table.remove(record.holds, index)
        return false, store(record)
    end
    call('DEL', lock)
    tell('released', record, record.node, sender)
    return true, value
end
