/** The data of a Redis server, and the commands and scripts that the gateway sends. Scripts are functions here: a test holds each to the server's own. */
import { Buffer } from "node:buffer";
import { KEPT_MS } from "../../src/state/counter.ts";
import * as counts from "../../src/state/redis/count_scripts.ts";
import { EXPIRY_BYTES, HEAD_BYTES } from "../../src/state/redis/records.ts";
import type { Script } from "../../src/state/redis/scripts.ts";
import * as values from "../../src/state/redis/store.ts";

export type Argument = string | Uint8Array;
export type Reply = number | string | Buffer | null | Reply[];

type Value = Buffer | Map<string, string> | Map<string, number>;
interface Row {
  value: Value;
  expiresAt: number;
}

const IDLE_MS = 172_800_000;
const DAY_MS = 86_400_000;

export class RedisData {
  readonly rows = new Map<string, Row>();
  /** Milliseconds since the epoch, by the server's clock. */
  now = 0;

  get(key: string): Buffer | undefined {
    return this.#read(key) as Buffer | undefined;
  }

  set(key: string, value: Argument, lifeMs = Infinity): void {
    this.rows.set(key, { value: Buffer.from(value as string), expiresAt: this.now + lifeMs });
  }

  head(key: string, length: number): string {
    return this.get(key)?.subarray(0, length).toString("latin1") ?? "";
  }

  del(key: string): void {
    this.rows.delete(key);
  }

  has(key: string): boolean {
    return this.#read(key) !== undefined;
  }

  expire(key: string, ms: number): void {
    if (this.has(key)) this.rows.get(key)!.expiresAt = this.now + ms;
  }

  hash(key: string): ReadonlyMap<string, string> {
    return (this.#read(key) ?? new Map()) as Map<string, string>;
  }

  setFields(key: string, fields: Readonly<Record<string, number>>): void {
    const hash = new Map(this.hash(key));
    for (const [name, value] of Object.entries(fields)) hash.set(name, String(value));
    this.#write(key, hash);
  }

  scores(key: string): ReadonlyMap<string, number> {
    return (this.#read(key) ?? new Map()) as Map<string, number>;
  }

  /** The members whose scores are within both, in order. */
  members(key: string, from: number, to: number): [string, number][] {
    return [...this.scores(key)].filter(([, score]) => score >= from && score <= to)
      .sort(([one, first], [other, second]) => first - second || (one < other ? -1 : 1));
  }

  addMember(key: string, member: string, score: number): void {
    this.#write(key, new Map(this.scores(key)).set(member, score));
  }

  removeMember(key: string, member: string): boolean {
    const left = new Map(this.scores(key));
    const wasThere = left.delete(member);
    if (left.size > 0) this.#write(key, left);
    else this.del(key);
    return wasThere;
  }

  removeMembers(key: string, from: number, to: number): void {
    for (const [member] of this.members(key, from, to)) this.removeMember(key, member);
  }

  #read(key: string): Value | undefined {
    const row = this.rows.get(key);
    if (row && row.expiresAt > this.now) return row.value;
    this.rows.delete(key);
    return undefined;
  }

  #write(key: string, value: Value): void {
    this.rows.set(key, { value, expiresAt: this.has(key) ? this.rows.get(key)!.expiresAt : Infinity });
  }
}

/** A script: its keys, and its arguments after the deadline. */
type Meaning = (data: RedisData, keys: readonly string[], args: readonly Argument[]) => Reply;

/** As Lua reads a number, and as it writes one. */
const numberIn = (text: Argument | undefined) => {
  const number = text === undefined || String(text).trim() === "" ? NaN : Number(String(text));
  return Number.isNaN(number) ? undefined : number;
};
const written = (value: number) => String(Number(value.toPrecision(14)));

/** What the counting scripts have in common. */
class Used {
  readonly #data: RedisData;
  readonly #key: string;
  readonly #today: number;

  constructor(data: RedisData, key: string) {
    this.#data = data;
    this.#key = key;
    this.#today = Math.floor(data.now / DAY_MS);
  }

  minute(name: string, perMinute: number | undefined, agoMs: number): number {
    if (perMinute === undefined) return 0;
    const rate = perMinute / 60_000;
    const [amount, at] = [this.#count(name), this.#count(`${name}At`)];
    if (amount === undefined || at === undefined) return -agoMs * rate;
    return Math.max(-agoMs * rate, amount - Math.max(0, this.#data.now - at) * rate);
  }

  day(): number {
    const day = numberIn(this.#data.hash(this.#key).get("day"));
    return day === this.#today || day === this.#today + 1 ? this.#count("dayTokens") ?? 0 : 0;
  }

  get dayEndsIn(): number {
    return (this.#today + 1) * DAY_MS - this.#data.now;
  }

  saveMinute(name: string, amount: number): void {
    this.#data.setFields(this.#key, { version: 1, [name]: amount, [`${name}At`]: this.#data.now });
  }

  saveDay(amount: number): void {
    this.#data.setFields(this.#key, { version: 1, day: this.#today, dayTokens: Math.max(0, amount) });
  }

  #count(name: string): number | undefined {
    const number = numberIn(this.#data.hash(this.#key).get(name));
    return number !== undefined && number >= 0 && number < 1e15 ? number : undefined;
  }
}

const take: Meaning = (data, [usedKey, leases, mark], args) => {
  const { now } = data;
  const [perMinute, tokensPerMinute, perDay, atOnce, cost = 0] = args.map(numberIn);
  const [id, leaseMs] = [String(args[5]), Number(args[6])];
  const used = new Used(data, usedKey!);
  let [requests, tokens, day] = [
    used.minute("requests", perMinute, 0),
    used.minute("tokens", tokensPerMinute, 0),
    used.day(),
  ];
  let [reached, waitMs] = [0, 0];
  const check = (index: number, ms: number) => {
    if (reached === 0 && ms > 0.001) [reached, waitMs] = [index, ms];
  };
  data.removeMembers(leases!, -Infinity, now - KEPT_MS);
  if (atOnce !== undefined) {
    for (const [one] of data.members(leases!, now + leaseMs + 1_000, Infinity)) {
      data.addMember(leases!, one, now + leaseMs);
    }
    if (data.members(leases!, now, Infinity).length >= atOnce) check(1, 1_000);
  }
  if (perDay !== undefined && day >= perDay) check(2, used.dayEndsIn);
  if (perMinute !== undefined) check(3, (requests + 1 - perMinute) * 60_000 / perMinute);
  if (tokensPerMinute !== undefined) {
    const wanted = Math.min(Math.max(cost, 1), tokensPerMinute);
    check(4, (tokens + wanted - tokensPerMinute) * 60_000 / tokensPerMinute);
  }
  const isCounted = reached === 0 && (id === "" || !data.has(mark!));
  if (isCounted) [requests, tokens, day] = [requests + 1, tokens + cost, day + cost];
  if (perMinute !== undefined) used.saveMinute("requests", requests);
  if (tokensPerMinute !== undefined) used.saveMinute("tokens", tokens);
  if (perDay !== undefined) used.saveDay(day);
  if (isCounted && id !== "") {
    data.addMember(leases!, id, now + leaseMs);
    data.expire(leases!, 2 * KEPT_MS);
  }
  data.expire(usedKey!, IDLE_MS);
  return [reached, written(waitMs), written(requests), written(tokens), written(day)];
};

const settle: Meaning = (data, [usedKey, leases, mark], args) => {
  const [perMinute, tokensPerMinute, perDay] = args.map(numberIn);
  const id = String(args[3]);
  const [counted = 0, used = 0, agoMs = 0, unsure] = args.slice(4).map(numberIn);
  const isCounted = data.removeMember(leases!, id);
  if (unsure !== undefined) {
    data.removeMember(leases!, `?${id}`);
    if (data.has(mark!)) return 0;
    data.set(mark!, "1", KEPT_MS);
  }
  if (!isCounted && unsure === undefined) return 0;
  const requests = (unsure ?? 0) - (isCounted && unsure !== undefined ? 1 : 0);
  const amount = isCounted ? used - counted : used;
  const level = new Used(data, usedKey!);
  if (perMinute !== undefined && requests !== 0) {
    level.saveMinute("requests", Math.max(0, level.minute("requests", perMinute, agoMs) + requests));
  }
  if (tokensPerMinute !== undefined && amount !== 0) {
    const before = level.minute("tokens", tokensPerMinute, agoMs);
    const after = Math.min(before + amount, Math.max(before, 2 * tokensPerMinute));
    level.saveMinute("tokens", Math.max(0, after));
  }
  if (perDay !== undefined && amount !== 0) level.saveDay(level.day() + amount);
  data.expire(usedKey!, IDLE_MS);
  return 1;
};

const renewLeases: Meaning = (data, [leases], [leaseMs, ...ids]) => {
  data.removeMembers(leases!, -Infinity, data.now - KEPT_MS);
  for (const id of ids.map(String)) {
    const plain = id.slice(1);
    const name = id.startsWith("?") && data.scores(leases!).has(plain) ? plain : id;
    data.addMember(leases!, name, data.now + Number(leaseMs));
  }
  data.expire(leases!, 2 * KEPT_MS);
  return 1;
};

const beat: Meaning = (data, [living, resting], [lifeMs, gateway, ...targets]) => {
  const { now } = data;
  const sweep = (key: string, longestMs: number) => {
    data.removeMembers(key, -Infinity, now);
    data.removeMembers(key, now + longestMs + 1_000, Infinity);
  };
  sweep(living!, Number(lifeMs));
  data.addMember(living!, String(gateway), now + Number(lifeMs));
  for (let at = 0; at < targets.length; at += 2) {
    const [target, ends] = [String(targets[at]), now + Number(targets[at + 1])];
    if (ends > (data.scores(resting!).get(target) ?? 0)) data.addMember(resting!, target, ends);
  }
  sweep(resting!, DAY_MS);
  const rest = data.members(resting!, now, Infinity).slice(0, 1_000);
  return [
    data.scores(living!).size,
    ...rest.flatMap(([target, ends]) => [target, String(ends), written(ends - now)]),
  ];
};

function isHeld(data: RedisData, key: string, now: Argument | undefined): boolean {
  const expiry = data.head(key, EXPIRY_BYTES);
  return expiry !== "" && Number(expiry) > Number(now);
}

const add: Meaning = (data, keys, [now, lifeMs, ...records]) => {
  if (keys.some((key) => isHeld(data, key, now))) return 0;
  for (const [at, key] of keys.entries()) data.set(key, records[at]!, lifeMs === "" ? Infinity : Number(lifeMs));
  return 1;
};

const renewValues: Meaning = (data, keys, [now, expiry, lifeMs]) => {
  for (const key of keys) {
    if (!isHeld(data, key, now) || data.head(key, EXPIRY_BYTES) >= String(expiry)) continue;
    data.set(key, Buffer.concat([Buffer.from(String(expiry)), data.get(key)!.subarray(EXPIRY_BYTES)]));
    data.expire(key, Number(lifeMs));
  }
  return 1;
};

const ensure: Meaning = (data, [key], [now, record]) => {
  if (!isHeld(data, key!, now)) data.set(key!, record!);
  return data.get(key!)!;
};

const replace: Meaning = (data, [key], [head, record]) => {
  if (data.head(key!, HEAD_BYTES) !== Buffer.from(head as string).toString("latin1")) return 0;
  data.set(key!, record!);
  return 1;
};

const remove: Meaning = (data, keys, [now]) => {
  if (!isHeld(data, keys[0]!, now)) return 0;
  for (const key of keys) data.del(key);
  return 1;
};

export const MEANINGS: ReadonlyMap<Script, Meaning> = new Map([
  [counts.TAKE, take],
  [counts.SETTLE, settle],
  [counts.RENEW, renewLeases],
  [counts.BEAT, beat],
  [values.ADD, add],
  [values.RENEW, renewValues],
  [values.ENSURE, ensure],
  [values.REPLACE, replace],
  [values.DELETE, remove],
]);
