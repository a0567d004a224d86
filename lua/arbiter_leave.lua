-- SPDX-FileCopyrightText: 2026 The latchd authors
-- SPDX-License-Identifier: Apache-2.0
--
-- What a leaver hands over, in parts (A7). Fields of the hash `left`:
--   @<incarnation>          when it left, ms of this server
--   <lock's key>            a line for each leaver's record: "<incarnation> <fence> <JSON>\n"
--   #<incarnation>:<part>   JSON of its gone fences and cancelled request ids
-- KEYS: authority, rows, left.
-- ARGV: 1 incarnation, 2 whether this is the last part (0, 1), 3 JSON of gone fences and cancelled
--       request ids ('': none); then lock's key, fence and JSON of each record.
-- Reply: lib/arbiter.lua.

-- include: lib/arbiter.lua

local number = call('HINCRBY', KEYS[1], 'claims', 1)
-- What a change of the basis left behind may count for longer than what is granted by now.
local keep, basis_keep = unpack(call('HMGET', KEYS[1], 'keep', 'basis_keep'))
if keep and basis_keep then keep = math.max(keep, basis_keep) end

-- Those of former leavers that count no more.
local former = {}
for _, field in ipairs(keep and call('HKEYS', KEYS[3]) or {}) do
    local incarnation = string.match(field, '^@(%d+)$')
    if incarnation and now - call('HGET', KEYS[3], field) > keep + 1000 then
        former[incarnation] = true
    end
end
for _, field in ipairs(next(former) and call('HKEYS', KEYS[3]) or {}) do
    local incarnation = string.match(field, '^[@#](%d+)')
    if incarnation then
        if former[incarnation] then call('HDEL', KEYS[3], field) end
    else
        local kept = {}
        for line, of in string.gmatch(call('HGET', KEYS[3], field), '((%d+) %d+ [^\n]*\n)') do
            if not former[of] then kept[#kept + 1] = line end
        end
        if #kept == 0 then
            call('HDEL', KEYS[3], field)
        else
            call('HSET', KEYS[3], field, table.concat(kept))
        end
    end
end

call('HSET', KEYS[3], '@' .. ARGV[1], now)
if ARGV[3] ~= '' then call('HSET', KEYS[3], '#' .. ARGV[1] .. ':' .. number, ARGV[3]) end
for i = 4, #ARGV, 3 do
    local lines = call('HGET', KEYS[3], ARGV[i]) or ''
    call('HSET', KEYS[3], ARGV[i],
        lines .. ARGV[1] .. ' ' .. ARGV[i + 1] .. ' ' .. ARGV[i + 2] .. '\n')
end
-- Nothing in it counts longer than the claims of the last leaver.
if keep then call('PEXPIRE', KEYS[3], keep + 1000) end
if ARGV[2] == '1' then call('HDEL', KEYS[2], ARGV[1]) end
return answer(1)
