import { createHash } from 'node:crypto'

/** A Lua script, which the engine runs atomically; all its keys share one slot. */
export interface Script {
  readonly name: string
  readonly text: string
  readonly sha: string
}

const script = (name: string, text: string): Script => ({
  name,
  text,
  sha: createHash('sha1').update(text).digest('hex'),
})

const NOW = `
local t = redis.call('TIME')
local now = t[1] * 1000 + math.floor(t[2] / 1000)
`

/** Appends instance, lease end and facts of each member in `all` to `said`. */
const SAY_ALL = `
for i = 1, #all, 2 do
  said[#said + 1] = all[i]
  said[#said + 1] = all[i + 1]
  said[#said + 1] = redis.call('HGET', KEYS[2], all[i]) or ''
end
return said`

/** Members and notes are deleted after this time without any replica. */
const LISTS_TTL = 3600_000

/**
 * Keys: lease ends, facts, generation, number of the last note, names of all notes. Arguments: instance,
 * facts, lease in ms, a generation in case none is stored or it is damaged, and the address of a starting
 * instance (the previous instance at that address is dead). Returns whether the lease was over, the time, the
 * generation, the note number, then instance, lease end and facts of each member.
 */
export const BEAT = script(
  'beat',
  `${NOW}
local before = redis.call('ZSCORE', KEYS[1], ARGV[1])
for _, id in ipairs(redis.call('ZRANGEBYSCORE', KEYS[1], '-inf', now)) do
  redis.call('ZREM', KEYS[1], id)
  redis.call('HDEL', KEYS[2], id)
end
if ARGV[5] ~= '' then
  for _, id in ipairs(redis.call('ZRANGE', KEYS[1], 0, -1)) do
    local isRead, facts = pcall(cjson.decode, redis.call('HGET', KEYS[2], id) or '')
    if isRead and type(facts) == 'table' and facts.address == ARGV[5] and id ~= ARGV[1] then
      redis.call('ZREM', KEYS[1], id)
      redis.call('HDEL', KEYS[2], id)
    end
  end
end
redis.call('ZADD', KEYS[1], now + ARGV[3], ARGV[1])
redis.call('HSET', KEYS[2], ARGV[1], ARGV[2])
for _, i in ipairs({ 1, 2, 4, 5 }) do redis.call('PEXPIRE', KEYS[i], ${LISTS_TTL}) end
local generation = redis.call('GET', KEYS[3])
if not generation or #generation ~= #ARGV[4] or generation:find('[^0-9a-f]') then
  generation = ARGV[4]
  redis.call('SET', KEYS[3], generation)
end
local over = 1
if before and tonumber(before) > now then over = 0 end
local said = { tostring(over), string.format('%.0f', now), generation }
said[4] = redis.call('GET', KEYS[4]) or '0'
local all = redis.call('ZRANGE', KEYS[1], 0, -1, 'WITHSCORES')${SAY_ALL}`,
)

/** Keys: lease ends, facts. Returns the members in the format of BEAT, and changes nothing. */
export const LOOK = script(
  'look',
  `${NOW}
local said = { '0', string.format('%.0f', now), '', '0' }
local all = redis.call('ZRANGEBYSCORE', KEYS[1], now, '+inf', 'WITHSCORES')${SAY_ALL}`,
)

/** Keys: lease ends, facts. Argument: instance. */
export const LEAVE = script(
  'leave',
  `redis.call('ZREM', KEYS[1], ARGV[1])
redis.call('HDEL', KEYS[2], ARGV[1])
return 1`,
)

/** Key: session. Arguments: owner, epoch, record, lifetime in ms. Returns 0 if another instance owns it. */
export const WRITE = script(
  'write',
  `local owner = redis.call('HGET', KEYS[1], 'o')
if owner then
  local epoch = tonumber(redis.call('HGET', KEYS[1], 'e'))
  local mine = tonumber(ARGV[2])
  if epoch > mine or (epoch == mine and owner ~= ARGV[1]) then return 0 end
end
redis.call('HSET', KEYS[1], 'o', ARGV[1], 'e', ARGV[2], 'd', ARGV[3])
redis.call('PEXPIRE', KEYS[1], ARGV[4])
return 1`,
)

/** Key: session. Returns owner, epoch and record, or nothing. */
export const READ = script('read', `return redis.call('HMGET', KEYS[1], 'o', 'e', 'd')`)

/**
 * Keys: session, lease ends. Arguments: instance, lifetime in ms. Returns nothing without a session, only
 * the owner while its lease is valid, else owner, epoch and record.
 */
export const CLAIM = script(
  'claim',
  `${NOW}
local kept = redis.call('HMGET', KEYS[1], 'o', 'e', 'd')
if not kept[1] then return {} end
if kept[1] ~= ARGV[1] then
  local ends = redis.call('ZSCORE', KEYS[2], kept[1])
  if ends and tonumber(ends) > now then return { kept[1] } end
  kept[2] = string.format('%.0f', tonumber(kept[2]) + 1)
  redis.call('HSET', KEYS[1], 'o', ARGV[1], 'e', kept[2])
end
redis.call('PEXPIRE', KEYS[1], ARGV[2])
return { ARGV[1], kept[2], kept[3] }`,
)

/** Keys: lock, lease ends. Arguments: instance, lifetime in ms. Returns 0 while a live instance holds it. */
export const TAKE = script(
  'take',
  `${NOW}
local holder = redis.call('GET', KEYS[1])
if holder and holder ~= ARGV[1] then
  local ends = redis.call('ZSCORE', KEYS[2], holder)
  if ends and tonumber(ends) > now then return 0 end
end
redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2])
return 1`,
)

/** Key: lock. Argument: instance. */
export const RELEASE = script(
  'release',
  `if redis.call('GET', KEYS[1]) == ARGV[1] then redis.call('DEL', KEYS[1]) end
return 1`,
)

/** Maximum number of listed notes; older ones can only be read by name. */
const NOTES_MAX = 10_000

/** Keys: note, names of all notes, last note number. Arguments: name, value, lifetime in ms or 0. */
export const NOTE = script(
  'note',
  `local n = redis.call('INCR', KEYS[3])
if ARGV[3] == '0' then redis.call('SET', KEYS[1], ARGV[2])
else redis.call('SET', KEYS[1], ARGV[2], 'PX', ARGV[3]) end
redis.call('ZADD', KEYS[2], n, ARGV[1])
redis.call('ZREMRANGEBYRANK', KEYS[2], 0, -${NOTES_MAX + 1})
for i = 2, 3 do redis.call('PEXPIRE', KEYS[i], ${LISTS_TTL}) end
return 1`,
)

/**
 * Key: names of all notes. Argument: a note number. Returns whether later names may be missing because newer
 * ones displaced them, then up to 100 later names with their numbers.
 */
export const NEWS_CHANNEL = script(
  'news',
  `local oldest = redis.call('ZRANGE', KEYS[1], 0, 0, 'WITHSCORES')
local isFull = #redis.call('ZRANGE', KEYS[1], ${NOTES_MAX - 1}, ${NOTES_MAX - 1}) == 1
local isCut = isFull and tonumber(oldest[2]) > tonumber(ARGV[1]) + 1
local said = redis.call('ZRANGEBYSCORE', KEYS[1], '(' .. ARGV[1], '+inf', 'WITHSCORES', 'LIMIT', 0, 100)
table.insert(said, 1, isCut and '1' or '0')
return said`,
)

/**
 * Keys: session counts by instance, lease ends. Arguments: instance, its count, lifetime in ms. Returns the
 * sum over all other live instances.
 */
export const COUNT = script(
  'count',
  `${NOW}
if ARGV[2] == '0' then redis.call('HDEL', KEYS[1], ARGV[1])
else redis.call('HSET', KEYS[1], ARGV[1], ARGV[2]) end
redis.call('PEXPIRE', KEYS[1], ARGV[3])
local all = redis.call('HGETALL', KEYS[1])
local sum = 0
for i = 1, #all, 2 do
  local ends = redis.call('ZSCORE', KEYS[2], all[i])
  if not ends or tonumber(ends) <= now then redis.call('HDEL', KEYS[1], all[i])
  elseif all[i] ~= ARGV[1] then sum = sum + tonumber(all[i + 1]) end
end
return sum`,
)

/**
 * Keys: buckets, each the time at which it is full again. Arguments: the interval of calls in ms, and the
 * burst, of each. Charges all, or returns the time until each has room, in ms.
 */
export const CHARGE = script(
  'charge',
  `${NOW}
local full, waits, isOver = {}, {}, false
for i, key in ipairs(KEYS) do
  local interval, burst = tonumber(ARGV[2 * i - 1]), tonumber(ARGV[2 * i])
  full[i] = math.max(now, tonumber(redis.call('GET', key) or '') or now)
  local wait = full[i] - interval * (burst - 1) - now
  if wait > 0.001 then isOver = true end
  waits[i] = string.format('%.3f', math.max(0, wait))
end
if isOver then return waits end
for i, key in ipairs(KEYS) do
  local next = full[i] + tonumber(ARGV[2 * i - 1])
  redis.call('SET', key, string.format('%.3f', next), 'PX', math.ceil(next - now))
end
return {}`,
)

/** Key: session. Argument: owner. */
export const REMOVE = script(
  'remove',
  `if redis.call('HGET', KEYS[1], 'o') == ARGV[1] then redis.call('DEL', KEYS[1]) end
return 1`,
)
