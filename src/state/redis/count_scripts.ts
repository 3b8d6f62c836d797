/**
 * What the server counts of an account, each step in one script and by the server's clock.
 *
 * A minute's limit is a bucket that drains evenly (the generic cell rate algorithm, kept as what is in it and when that was so:
 * a clock that steps back then holds nobody up, and a burst is counted in whole numbers). A request that runs holds a lease,
 * which is renewed while its gateway lives.
 *
 * Each script first removes something, if only what has run out: a server that is full lets such a script write.
 */
import { KEPT_MS } from "../counter.ts";
import { script } from "./scripts.ts";

/** How long an account is kept that nobody uses, in milliseconds. */
const IDLE_MS = 172_800_000;
/** The form of what is used. A script leaves the fields alone that it does not know. */
const VERSION = 1;

/** What both use: `requests` and `tokens` of the minute, and `dayTokens` of the day. */
const COUNTS = `
local function limit(index) return tonumber(ARGV[index]) end
local today = math.floor(now / 86400000)

-- What else lies there is nobody's count: it could hold up all requests for good.
local function count(text)
  local number = tonumber(text)
  if number and number >= 0 and number < 1e15 then return number end
end

-- What is used of a minute's limit, to add what was used so long ago: below nothing where the bucket has drained since.
local function used(name, perMinute, agoMs)
  if not perMinute then return 0 end
  local was = redis.call('HMGET', KEYS[1], name, name .. 'At')
  local rate = perMinute / 60000
  local amount, at = count(was[1]), count(was[2])
  if not amount or not at then return -agoMs * rate end
  return math.max(-agoMs * rate, amount - math.max(0, now - at) * rate)
end

local function usedToday()
  local was = redis.call('HMGET', KEYS[1], 'day', 'dayTokens')
  local day = tonumber(was[1])
  if day == today or day == today + 1 then return count(was[2]) or 0 end
  return 0
end

local function save(...) redis.call('HSET', KEYS[1], 'version', ${VERSION}, ...) end

local function saveMinute(name, amount) save(name, amount, name .. 'At', now) end

local function saveDay(amount) save('day', today, 'dayTokens', math.max(0, amount)) end
`;

/**
 * KEYS: what is used, the leases, the mark of the settlement. ARGV from 2: requests a minute, tokens a minute, tokens a day,
 * requests at once (each empty where there is no limit), tokens, id (may be empty), length of a lease. What has been settled
 * already, because it took so long to get here, counts nothing.
 */
export const TAKE = script(`${COUNTS}
local perMinute, tokensPerMinute, perDay, atOnce = limit(2), limit(3), limit(4), limit(5)
local cost, id, leaseMs = tonumber(ARGV[6]), ARGV[7], tonumber(ARGV[8])
local requests, tokens, day = used('requests', perMinute, 0), used('tokens', tokensPerMinute, 0), usedToday()
local reached, waitMs = 0, 0
local function check(index, ms)
  if reached == 0 and ms > 0.001 then reached, waitMs = index, ms end
end

redis.call('ZREMRANGEBYSCORE', KEYS[2], '-inf', now - ${KEPT_MS})
if atOnce then
  -- A lease that ends later than any could was given by a clock that has been set back since.
  for _, one in ipairs(redis.call('ZRANGEBYSCORE', KEYS[2], now + leaseMs + 1000, '+inf')) do
    redis.call('ZADD', KEYS[2], now + leaseMs, one)
  end
  if redis.call('ZCOUNT', KEYS[2], now, '+inf') >= atOnce then check(1, 1000) end
end
if perDay and day >= perDay then check(2, (today + 1) * 86400000 - now) end
if perMinute then check(3, (requests + 1 - perMinute) * 60000 / perMinute) end
if tokensPerMinute then
  -- More than a minute's worth is served when all of that is there.
  local wanted = math.min(math.max(cost, 1), tokensPerMinute)
  check(4, (tokens + wanted - tokensPerMinute) * 60000 / tokensPerMinute)
end

local isCounted = reached == 0 and (id == '' or redis.call('EXISTS', KEYS[3]) == 0)
if isCounted then requests, tokens, day = requests + 1, tokens + cost, day + cost end
if perMinute then saveMinute('requests', requests) end
if tokensPerMinute then saveMinute('tokens', tokens) end
if perDay then saveDay(day) end
if isCounted and id ~= '' then
  redis.call('ZADD', KEYS[2], now + leaseMs, id)
  redis.call('PEXPIRE', KEYS[2], ${2 * KEPT_MS})
end
redis.call('PEXPIRE', KEYS[1], ${IDLE_MS})
return {reached, tostring(waitMs), tostring(requests), tostring(tokens), tostring(day)}
`);

/**
 * KEYS: what is used, the leases, the mark of this settlement. ARGV from 2: the first three limits, id, tokens that were counted,
 * tokens that were used, how many milliseconds ago, and of what may not have been counted how many requests it is; else empty.
 */
export const SETTLE = script(`${COUNTS}
local perMinute, tokensPerMinute, perDay = limit(2), limit(3), limit(4)
local id, counted, amount, agoMs, unsure = ARGV[5], tonumber(ARGV[6]), tonumber(ARGV[7]), tonumber(ARGV[8]), tonumber(ARGV[9])
local isCounted = redis.call('ZREM', KEYS[2], id) == 1
if unsure then redis.call('ZREM', KEYS[2], '?' .. id) end
if unsure and not redis.call('SET', KEYS[3], 1, 'NX', 'PX', ${KEPT_MS}) then return 0 end
if not isCounted and not unsure then return 0 end

local requests = 0
if unsure then requests = unsure end
if isCounted then
  amount = amount - counted
  if unsure then requests = requests - 1 end
end
if perMinute and requests ~= 0 then saveMinute('requests', math.max(0, used('requests', perMinute, agoMs) + requests)) end
if tokensPerMinute and amount ~= 0 then
  -- An answer puts nobody into debt by more than a minute's worth.
  local before = used('tokens', tokensPerMinute, agoMs)
  saveMinute('tokens', math.max(0, math.min(before + amount, math.max(before, 2 * tokensPerMinute))))
end
if perDay and amount ~= 0 then saveDay(usedToday() + amount) end
redis.call('PEXPIRE', KEYS[1], ${IDLE_MS})
return 1
`);

/**
 * KEYS: the leases. ARGV from 2: length of a lease, ids. One with a question mark before it may not have been counted: its lease
 * is another one then, so that its settlement can tell.
 */
export const RENEW = script(`
redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', now - ${KEPT_MS})
for index = 3, #ARGV do
  local id = ARGV[index]
  local plain = string.sub(id, 2)
  if string.sub(id, 1, 1) == '?' and redis.call('ZSCORE', KEYS[1], plain) then id = plain end
  redis.call('ZADD', KEYS[1], now + tonumber(ARGV[2]), id)
end
redis.call('PEXPIRE', KEYS[1], ${2 * KEPT_MS})
return 1
`);

/**
 * A gateway lives. KEYS: the gateways, the targets that rest. ARGV from 2: how long it is taken to live, its id, then targets with
 * how long each rests. Returns how many gateways live, and the targets that rest: each with when that ends and how long it is
 * until then.
 */
export const BEAT = script(`
local function sweep(key, longestMs)
  redis.call('ZREMRANGEBYSCORE', key, '-inf', now)
  redis.call('ZREMRANGEBYSCORE', key, now + longestMs + 1000, '+inf')
end
sweep(KEYS[1], tonumber(ARGV[2]))
redis.call('ZADD', KEYS[1], now + tonumber(ARGV[2]), ARGV[3])
for index = 4, #ARGV, 2 do
  local ends = now + tonumber(ARGV[index + 1])
  if ends > (tonumber(redis.call('ZSCORE', KEYS[2], ARGV[index]) or 0)) then redis.call('ZADD', KEYS[2], ends, ARGV[index]) end
end
sweep(KEYS[2], 86400000)
local reply = {redis.call('ZCARD', KEYS[1])}
local rest = redis.call('ZRANGEBYSCORE', KEYS[2], now, '+inf', 'WITHSCORES', 'LIMIT', 0, 1000)
for index = 1, #rest, 2 do
  table.insert(reply, rest[index])
  table.insert(reply, rest[index + 1])
  table.insert(reply, tostring(rest[index + 1] - now))
end
return reply
`);
