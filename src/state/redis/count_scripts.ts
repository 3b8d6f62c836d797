/**
 * The scripts that count for an account on the server. Each script is one step, by the server's clock.
 *
 * A per-minute limit is a bucket that drains evenly, by the generic cell rate algorithm. It is stored as a level and its time,
 * so that a clock that steps back blocks nobody, and a burst is counted in whole numbers. A running request holds a lease,
 * which is renewed while its gateway lives.
 *
 * Each script first removes something, if only expired entries: a server whose memory is full lets such a script write.
 */
import { KEPT_MS } from "../counter.ts";
import { script } from "./scripts.ts";

/** How long an unused account is kept, in milliseconds. */
const IDLE_MS = 172_800_000;
/** The version of the usage record. A script keeps fields that it does not know. */
const VERSION = 1;

/** The functions of both scripts. The fields are `requests` and `tokens` of the minute, and `dayTokens` of the day. */
const COUNTS = `
local function limit(index) return tonumber(ARGV[index]) end
local today = math.floor(now / 86400000)

-- Anything else is not a count, and could block all requests for good.
local function count(text)
  local number = tonumber(text)
  if number and number >= 0 and number < 1e15 then return number end
end

-- The level of a per-minute limit, for adding what was used agoMs ago. It is negative if the bucket has drained since then.
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
 * KEYS: the usage, the leases, the mark of the settlement. ARGV from 2: requests a minute, tokens a minute, tokens a day,
 * requests at once (each empty if there is no limit), tokens, id (may be empty), length of a lease. A request that was settled
 * before this script ran is not counted.
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
  -- A lease that ends too late was given before the clock was set back.
  for _, one in ipairs(redis.call('ZRANGEBYSCORE', KEYS[2], now + leaseMs + 1000, '+inf')) do
    redis.call('ZADD', KEYS[2], now + leaseMs, one)
  end
  if redis.call('ZCOUNT', KEYS[2], now, '+inf') >= atOnce then check(1, 1000) end
end
if perDay and day >= perDay then check(2, (today + 1) * 86400000 - now) end
if perMinute then check(3, (requests + 1 - perMinute) * 60000 / perMinute) end
if tokensPerMinute then
  -- A request for more than a minute's tokens is served once a whole minute's tokens are free.
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
 * KEYS: the usage, the leases, the mark of this settlement. ARGV from 2: the first three limits, id, tokens that were counted,
 * tokens that were used, how many milliseconds ago, and the number of requests if they may not have been counted (else empty).
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
  -- One answer creates a debt of a minute's tokens at most.
  local before = used('tokens', tokensPerMinute, agoMs)
  saveMinute('tokens', math.max(0, math.min(before + amount, math.max(before, 2 * tokensPerMinute))))
end
if perDay and amount ~= 0 then saveDay(usedToday() + amount) end
redis.call('PEXPIRE', KEYS[1], ${IDLE_MS})
return 1
`);

/**
 * KEYS: the leases. ARGV from 2: length of a lease, ids. A question mark before an id marks a request that may not have been
 * counted. If it was not, its lease is kept under the marked id, by which its settlement can tell.
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
 * Records that a gateway lives. KEYS: the gateways, the resting targets. ARGV from 2: how long it counts as living, its id, then
 * targets, each with how long it rests. Returns how many gateways live, and the resting targets, each with when its rest ends
 * and how long it is until then.
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
