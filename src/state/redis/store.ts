import { builtin } from "../../util/builtin.ts";
import { Slice, yieldToEventLoop } from "../../util/sliced_work.ts";
import type { Renewal, Store, StoreEntry, StoreKey } from "../store.ts";
import type { Link } from "./link.ts";
import { EXPIRY_BYTES, expiryOf, HEAD_BYTES, readRecord, writeRecord } from "./records.ts";
import { script } from "./scripts.ts";

export interface RedisStoreOptions {
  link: Link;
  /** Milliseconds since the epoch. */
  now(): number;
}

/** How many positions of a list one command reads. The commands for a long list are sent together. */
const POSITIONS_PER_READ = 500;
/** How many keys one script renews: a script blocks the server's other clients. */
const KEYS_PER_RENEWAL = 500;
/** How long the server keeps expired values, in milliseconds: its clock may differ from the gateways'. */
const GRACE_MS = 60_000;

/** A store on a server that any number of gateways use at once. */
export function createRedisStore({ link, now }: RedisStoreOptions): Store {
  const read = async (key: string) => await link.send(["GET", key]) as Uint8Array | null;
  const lifeOf = (expiresAt: number) => String(Math.max(0, Math.ceil(expiresAt - now())) + GRACE_MS);
  const renew = async ({ keys, expiresAt }: Renewal) => {
    const times = [timeOf(now()), expiryOf(expiresAt), lifeOf(expiresAt)];
    for (let at = 0; at < keys.length; at += KEYS_PER_RENEWAL) {
      await link.run(RENEW, namesOf(keys.slice(at, at + KEYS_PER_RENEWAL)), times);
    }
  };
  return {
    get: async (key) => await readRecord(await read(nameOf(key)), now()),

    async getRange(list, from, to) {
      const names = Array.from({ length: to - from + 1 }, (_, index) => nameOf([...list, from + index]));
      const reads: Promise<unknown>[] = [];
      for (let at = 0; at < names.length; at += POSITIONS_PER_READ) {
        reads.push(link.send(["MGET", ...names.slice(at, at + POSITIONS_PER_READ)]));
      }
      const records = (await Promise.all(reads)).flat() as (Uint8Array | null)[];
      const values: unknown[] = [];
      const slice = new Slice();
      for (const record of records) {
        values.push(await readRecord(record, now()));
        if (slice.isOver()) await yieldToEventLoop();
      }
      return values;
    },

    async add(entries: readonly StoreEntry[], expiresAt, renewal) {
      if (renewal) await renew(renewal);
      const records = await Promise.all(entries.map(([, value]) => writeRecord(value, expiresAt)));
      const lifeMs = expiresAt === Infinity ? "" : lifeOf(expiresAt);
      const names = namesOf(entries.map(([key]) => key));
      return await link.run(ADD, names, [timeOf(now()), lifeMs, ...records]) === 1;
    },

    async ensure(key, value) {
      const record = await writeRecord(value, Number.MAX_SAFE_INTEGER);
      return await readRecord(await link.run(ENSURE, [nameOf(key)], [timeOf(now()), record]) as Uint8Array, now());
    },

    async update(key, change) {
      const name = nameOf(key);
      while (true) {
        const before = await read(name);
        const record = await writeRecord(change(await readRecord(before, now())), Number.MAX_SAFE_INTEGER);
        const head = before ? before.subarray(0, HEAD_BYTES) : "";
        try {
          if (await link.run(REPLACE, [name], [head, record]) === 1) return;
        } catch (error) {
          if (isRefusal(error) || !await isReplaced(read, name, head)) throw error;
          return;
        }
      }
    },

    delete: async (...keys) => await link.run(DELETE, namesOf(keys), [timeOf(now())]) === 1,
    close: () => link.close(),
  };
}

/** How long and how often a value is read whose replacement got no reply, in milliseconds. */
const DOUBT_MS = 60_000;
const ASK_AGAIN_MS = 1_000;

/**
 * Whether a value was replaced by a command that got no reply: repeating the command could count twice. The value is read once
 * the server answers again, and by then the command is too late to run.
 */
async function isReplaced(
  read: (name: string) => Promise<Uint8Array | null>,
  name: string,
  before: Uint8Array | string,
): Promise<boolean> {
  const until = performance.now() + DOUBT_MS;
  for (;;) {
    await new Promise((resolve) => setTimeout(resolve, ASK_AGAIN_MS));
    try {
      const head = (await read(name))?.subarray(0, HEAD_BYTES) ?? "";
      return String(head) !== String(before);
    } catch (error) {
      if (performance.now() > until || /is closed$/.test((error as Error).message)) throw error;
    }
  }
}

/** Whether the error is the server's own reply, so that nothing was done. */
function isRefusal(error: unknown): boolean {
  return /^[A-Z]+ /.test((error as Error).message);
}

const HELD = `
local function isHeld(key)
  local expiry = redis.call('GETRANGE', key, 0, ${EXPIRY_BYTES - 1})
  return expiry ~= '' and tonumber(expiry) > tonumber(ARGV[2])
end
`;

export const ADD = script(`${HELD}
for _, key in ipairs(KEYS) do
  if isHeld(key) then return 0 end
end
for index, key in ipairs(KEYS) do
  if ARGV[3] == '' then redis.call('SET', key, ARGV[index + 3])
  else redis.call('SET', key, ARGV[index + 3], 'PX', ARGV[3]) end
end
return 1
`);

export const RENEW = script(`${HELD}
for _, key in ipairs(KEYS) do
  if isHeld(key) and redis.call('GETRANGE', key, 0, ${EXPIRY_BYTES - 1}) < ARGV[3] then
    redis.call('SETRANGE', key, 0, ARGV[3])
    redis.call('PEXPIRE', key, ARGV[4])
  end
end
return 1
`);

export const ENSURE = script(`${HELD}
if isHeld(KEYS[1]) then return redis.call('GET', KEYS[1]) end
redis.call('SET', KEYS[1], ARGV[3])
return ARGV[3]
`);

export const REPLACE = script(`
if redis.call('GETRANGE', KEYS[1], 0, ${HEAD_BYTES - 1}) ~= ARGV[2] then return 0 end
redis.call('SET', KEYS[1], ARGV[3])
return 1
`);

export const DELETE = script(`${HELD}
if not isHeld(KEYS[1]) then return 0 end
redis.call('DEL', unpack(KEYS))
return 1
`);

function timeOf(ms: number): string {
  return String(Math.floor(ms));
}

function namesOf(keys: readonly StoreKey[]): string[] {
  return keys.map(nameOf);
}

/**
 * The name of a value. The second text of its key names the owner. The values of one owner are on one node of a cluster, so that
 * they can be written in one step.
 */
function nameOf(key: StoreKey): string {
  const position = key.at(-1);
  const isInList = typeof position === "number";
  const texts = isInList ? key.slice(0, -1) : key;
  return `laneway:{${hashOf(texts[1] ?? texts[0])}}:${hashOf(texts)}${isInList ? `:${position}` : ""}`;
}

function hashOf(value: unknown): string {
  return builtin("node:crypto").hash("sha256", JSON.stringify(value) ?? "", "base64url");
}
