-- SPDX-FileCopyrightText: 2026 The latchd authors
-- SPDX-License-Identifier: Apache-2.0
--
-- What is at the lock, and how it is changed. After guard.lua and value.lua; `lock` is KEYS[2].
local quote, format = cjson.encode, string.format
local now = tonumber(now_text)

-- What try('GET', lock) said, understood. Returns the record with passed_ms, the time since its
-- grant; or nil if the lock is free (T1; a record of another epoch or nonce is void); and true as
-- the second result if what is there is not latchd's.
local function understand(value)
    if not value then return nil, false end
    if type(value) == 'table' then
        if string.find(value.err, 'WRONGTYPE', 1, true) then return nil, true end
        return call('GET', lock)  -- another error ends the script as itself
    end
    local record = parse(value)
    if not record then return nil, true end
    if string.sub(value, -#TAIL) ~= TAIL then return nil, false end
    record.passed_ms = now - record.since_ms
    if record.lease_ms + record.delay_ms <= record.passed_ms then return nil, false end
    return record, false
end

-- Writes the record under the next version; returns its value. Only for a record that isn't over.
local function store(record)
    local holds = {}
    for i, hold in ipairs(record.holds) do
        holds[i] = format('{"token":%s,"request":%s,"attempts":["%s"],"adopt_ms":%d}',
            quote(hold.token), quote(hold.request), table.concat(hold.attempts, '","'),
            hold.adopt_ms)
    end
    record.version = record.version + 1
    local value = format('{"token":%s,"fence":%d,"since_ms":%d,"lease_ms":%d,"delay_ms":%d,'
        .. '"owner":%s,"holds":[', quote(record.holds[1].token), record.fence, record.since_ms,
        record.lease_ms, record.delay_ms, quote(record.owner)) .. table.concat(holds, ',')
        .. format('],"version":%d,"ttl_ms":%d,"hard_ms":%d,"renewals":%d,"renew_max":%d,'
        .. '"node":%s,"client":%s', record.version, record.ttl_ms, record.hard_ms,
        record.renewals, record.renew_max, quote(record.node), quote(record.client)) .. TAIL
    call('SET', lock, value, 'PX', record.lease_ms + record.delay_ms - record.passed_ms)
    return value
end

-- The lease becomes the later of what it is and ttl_ms from now, no later than the hard end.
local function extend(record, ttl_ms)
    local wanted = record.passed_ms + ttl_ms
    if record.hard_ms > 0 then wanted = math.min(wanted, record.hard_ms) end
    record.lease_ms = math.max(record.lease_ms, wanted)
    record.ttl_ms = ttl_ms
end

-- Tells another node than the sender; a server that forbids PUBLISH costs the message and nothing
-- else. To be called after the writes, which may be refused.
-- Message: kind, fence, key of the lock, with blanks between, and what is special to the kind.
local function tell(kind, record, node, sender, special)
    if node ~= sender then
        try('PUBLISH', string.sub(KEYS[1], 1, -7) .. 'node:' .. node,
            format('%s %d ', kind, record.fence) .. lock .. (special or ''))
    end
end

-- T10: stores a record that becomes the sender's. kept: the token of the hold that the sender renews
-- from now on; others are told its tail.
local function store_as(record, sender, kept)
    local former = record.node
    record.node = sender
    local value = store(record)
    tell('moved', record, former, sender,
        ' ' .. record.version .. (kept and ' =' .. string.sub(kept, -6) or ' -'))
    return value
end

local function find_token(record, token)
    for i, hold in ipairs(record.holds) do
        if hold.token == token then return i end
    end
end

-- The hold that has this attempt, and its place among the hold's.
local function find_attempt(record, attempt)
    for i, hold in ipairs(record.holds) do
        for j, one in ipairs(hold.attempts) do
            if one == attempt then return i, j end
        end
    end
end

-- At most one hold answers to a request id (T4).
local function find_request(record, request)
    for i, hold in ipairs(record.holds) do
        if hold.request == request then return i end
    end
end

-- Takes a hold out, the lock with its last. Returns whether the lock is free now, and the record
-- as it is now or as it was at its end. While the lease runs what is left becomes the sender's (T10).
local function take_out(record, value, index, sender)
    if #record.holds > 1 then
        table.remove(record.holds, index)
        if record.passed_ms < record.lease_ms then return false, store_as(record, sender) end
        return false, store(record)
    end
    call('DEL', lock)
    tell('released', record, record.node, sender)
    return true, value
end
