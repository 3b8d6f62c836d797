/** The scripts of simulated worlds mean what a real server makes of them: the same replies, and the same data after each step. */
import { Buffer } from "node:buffer";
import { assertEquals } from "@std/assert";
import { parseRedisUrl } from "../../src/config/redis_url.ts";
import { BEAT, RENEW, SETTLE, TAKE } from "../../src/state/redis/count_scripts.ts";
import type { Script } from "../../src/state/redis/scripts.ts";
import * as values from "../../src/state/redis/store.ts";
import { openWire, type Wire } from "../../src/state/redis/wire.ts";
import { scaled } from "../reliability/scale.ts";
import { isRedisMissing, startRedis } from "../support/redis_server.ts";
import { type Argument, MEANINGS, RedisData } from "./redis_data.ts";
import { Random } from "./random.ts";

const DAY_MS = 86_400_000;
const TODAY = Number(Deno.env.get("LANEWAY_SAMPLE") ?? Math.floor(Date.now() / DAY_MS));

interface Call {
  script: Script;
  keys: string[];
  args: Argument[];
}

const COUNTED = ["{a}:used", "{a}:leases"];
const LIVING = ["{g}:living", "{g}:resting"];
const VALUES = ["{v}:1", "{v}:2", "{v}:3"];

function countingCall(random: Random): Call {
  const id = random.pick(["", "i1", "i2", "i3"]);
  const keys = [...COUNTED, `{a}:settled:${id}`];
  const limit = (...of: number[]) => random.chance(0.3) ? "" : String(random.pick(of));
  const limits = [limit(1, 3, 60), limit(10, 500), limit(20, 1_000)];
  const number = (most: number) => String(random.int(0, 4 * most) / 4);
  switch (random.int(0, 3)) {
    case 0:
      return {
        script: TAKE,
        keys,
        args: [...limits, limit(1, 2, 3), number(300), id, String(random.pick([50, 10_000]))],
      };
    case 1: {
      const unsure = random.pick(["", "", "0", "1"]);
      return { script: SETTLE, keys, args: [...limits, id, number(300), number(900), number(90_000), unsure] };
    }
    case 2:
      return { script: RENEW, keys: [COUNTED[1]!], args: ["10000", ...random.some(["i1", "i2", "?i1", "?i3"], 2)] };
    default: {
      const resting = random.some(["t1", "t2", "t3"], random.int(0, 3)).flatMap((target) => [target, number(40_000)]);
      return { script: BEAT, keys: LIVING, args: ["30000", random.pick(["g1", "g2", "g3"]), ...resting] };
    }
  }
}

function storeCall(random: Random, now: number, heads: readonly string[]): Call {
  const expiry = (ms: number) => String(now + ms).padStart(16, "0");
  const record = () => {
    const bytes = new Uint8Array(random.int(0, 9));
    random.bytes(bytes);
    const head = expiry(random.pick([-1, 10_000, 100_000])) + String(random.int(0, 1e9)).padStart(12, "s");
    return Buffer.concat([Buffer.from(head), bytes]);
  };
  const some = random.some(VALUES, random.int(1, 3));
  const life = String(random.pick([700_000, 1_600_000]));
  switch (random.int(0, 4)) {
    case 0:
      return { script: values.ADD, keys: some, args: [String(now), random.pick(["", life]), ...some.map(record)] };
    case 1:
      return { script: values.RENEW, keys: some, args: [String(now), expiry(random.int(1, 200_000)), life] };
    case 2:
      return { script: values.ENSURE, keys: [some[0]!], args: [String(now), record()] };
    case 3:
      return { script: values.REPLACE, keys: [some[0]!], args: [random.pick(["", ...heads]), record()] };
    default:
      return { script: values.DELETE, keys: some, args: [String(now)] };
  }
}

/** Numbers are compared as such: the server writes them with more digits. */
function plain(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(plain);
  if (value instanceof Uint8Array) return plain(Buffer.from(value).toString("latin1"));
  if (typeof value === "number") return Number(value.toPrecision(14));
  return typeof value === "string" && value !== "" && value.length < 28 && Number.isFinite(Number(value))
    ? plain(Number(value))
    : value;
}

/** All that the server has. */
async function stored(wire: Wire): Promise<[string, unknown][]> {
  const keys = (await wire.send(["KEYS", "*"]) as unknown[]).map(String).sort();
  return await Promise.all(keys.map(async (key): Promise<[string, unknown]> => {
    const kind = String(await wire.send(["TYPE", key]));
    if (kind === "string") return [key, plain(await wire.send(["GET", key]))];
    const flat = await wire.send(kind === "hash" ? ["HGETALL", key] : ["ZRANGE", key, "0", "-1", "WITHSCORES"]);
    return [key, pairs(plain(flat) as unknown[])];
  }));
}

const pairs = (flat: readonly unknown[]) =>
  Array.from({ length: flat.length / 2 }, (_, at) => [String(flat[2 * at]), flat[2 * at + 1]]).sort();

function held(data: RedisData): [string, unknown][] {
  return [...data.rows.keys()].sort().filter((key) => data.has(key)).map((key) => {
    const { value } = data.rows.get(key)!;
    return [key, value instanceof Map ? pairs(plain([...value].flat()) as unknown[]) : plain(value)];
  });
}

Deno.test({
  name: `scripts mean in a simulated world what they mean on a server (LANEWAY_SAMPLE=${TODAY})`,
  ignore: isRedisMissing,
  async fn() {
    const server = await startRedis();
    const wire = await openWire({ address: parseRedisUrl(server.url)!, connectMs: 5_000 });
    const random = new Random(TODAY, "scripts");
    const data = new RedisData();
    const met = new Set<Script>();
    try {
      for (let run = 0; run < scaled(200, 40); run++) {
        await wire.send(["FLUSHALL"]);
        data.rows.clear();
        data.now = Date.UTC(2027, 0, 15, 23, 58) + random.int(0, 100_000);
        for (let step = 0; step < 40; step++) {
          const heads = VALUES.map((key) => data.head(key, 28));
          const call = random.chance(0.6) ? countingCall(random) : storeCall(random, data.now, heads);
          met.add(call.script);
          const { script, keys, args } = call;
          const time = `{'${Math.floor(data.now / 1_000)}', '${data.now % 1_000 * 1_000}'}`;
          const text = script.text.replace("redis.call('TIME')", time);
          const reply = await wire.send(["EVAL", text, String(keys.length), ...keys, "1e18", ...args]);
          const place = `run ${run}, step ${step}: ${JSON.stringify([script.text.slice(-60), keys, args.map(String)])}`;
          assertEquals(plain(MEANINGS.get(script)!(data, keys, args)), plain(reply), place);
          assertEquals(held(data), await stored(wire), place);
          data.now += random.pick([0, 1, 400, 3_000]);
        }
      }
      assertEquals(met.size, MEANINGS.size);
    } finally {
      wire.destroy();
      await server.stop();
    }
  },
});
