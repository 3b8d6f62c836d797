/** The page of keys: the list with its usage, and an operator's changes to it. */
import { z } from "zod";
import type { JsonObject } from "../../canonical/json.ts";
import { whyNotName } from "../../config/key_name.ts";
import { type KeyFacts, keyFactsSchema } from "../../config/schema.ts";
import type { KeyDesk } from "../../context/console.ts";
import type { Gateway } from "../../context/gateway.ts";
import type { RequestContext } from "../../context/request_context.ts";
import { validate } from "../../contract/validate.ts";
import { GatewayError } from "../../errors.ts";
import { describe } from "../../state/budget/budget.ts";
import type { Keyring } from "../../state/keyring.ts";
import { formatDollars } from "../../util/dollars.ts";
import type { UsageRow } from "../../state/usage_book.ts";
import { withStoreTimeout } from "../../state/store_timeout.ts";

/** How many stored keys are listed at once. */
const PAGE = 200;
const USAGE_DAYS = 30;
/** How long the store may take, in milliseconds. */
const PATIENCE_MS = 5_000;

/** Lists the facts about the keys, without the keys themselves. `?from=`: the `next` of the page before. */
export async function listKeys({ gateway, url }: RequestContext): Promise<Response> {
  const { configured, stored, teams } = await deskOf(gateway);
  const from = placeIn(url?.searchParams.get("from"));
  const list: ReturnType<Keyring["listFrom"]> = "keyring" in stored
    ? stored.keyring.listFrom({ limit: PAGE, from })
    : Promise.resolve({ keys: [] });
  const [found, used, states] = await reading(Promise.all([
    list,
    gateway.observe.usage?.read(USAGE_DAYS),
    gateway.guards.budgets?.read(),
  ]));
  const page = found.keys.map(({ digest: _, ...facts }) => ({ ...facts, isStored: true }));
  const fixed = from === undefined ? configured : [];
  const usedBy = used && Map.groupBy(used, ({ key }) => key);
  return Response.json({
    keys: [...fixed, ...page].map((key) => ({
      ...key,
      used: usedBy && sumOf(usedBy.get(key.name) ?? []),
    })),
    next: found.next,
    ...("why" in stored && { why: stored.why }),
    usageDays: used && Math.min(USAGE_DAYS, gateway.observe.usage!.retentionDays),
    teams: Object.keys(teams),
    lanes: [...gateway.lanes.keys()],
    budgets: (states ?? []).map((state) => describe(state)),
  });
}

function placeIn(text: string | null | undefined): number | undefined {
  if (text === null || text === undefined) return undefined;
  if (/^\d{1,15}$/.test(text)) return Number(text);
  throw invalid("from", "Expected the cursor of a page of keys");
}

function sumOf(rows: readonly UsageRow[]) {
  const sum = { requests: 0, tokens: 0, pico: 0n, unpriced: 0 };
  for (const { requests, inputTokens, outputTokens, pico, unpriced } of rows) {
    sum.requests += requests;
    sum.tokens += inputTokens + outputTokens;
    sum.pico += pico;
    sum.unpriced += unpriced;
  }
  const { pico, unpriced, ...counts } = sum;
  // An unknown amount is left out instead of being reported as 0.
  return { ...counts, ...(unpriced < sum.requests && { dollars: formatDollars(pico) }) };
}

/** Creates a key. Only this answer ever contains it. */
export async function createKey(context: RequestContext, body: JsonObject): Promise<Response> {
  const desk = await deskOf(context.gateway);
  const keyring = keyringOf(desk);
  const facts = factsIn(body, desk, context);
  const secret = isTaken(facts.name, desk) ? undefined : await writing(keyring.create(facts));
  if (secret === undefined) throw invalid("name", `Key "${facts.name}" already exists`);
  context.gateway.observe.audit?.write({ event: "key made", key: facts.name, by: context.caller.name });
  return Response.json({ name: facts.name, key: secret }, { status: 201 });
}

/** Replaces the permissions and limits of a key. */
export async function limitKey(context: RequestContext, body: JsonObject): Promise<Response> {
  const desk = await deskOf(context.gateway);
  const keyring = keyringOf(desk);
  const facts = factsIn(body, desk, context);
  if (!await writing(keyring.limit(facts))) throw unknownKey(facts.name);
  context.gateway.observe.audit?.write({ event: "key limited", key: facts.name, by: context.caller.name });
  return Response.json({ name: facts.name });
}

const nameSchema = z.strictObject({ name: z.string() });

export async function revokeKey(context: RequestContext, body: JsonObject): Promise<Response> {
  const keyring = keyringOf(await deskOf(context.gateway));
  const { name } = validate(nameSchema, body);
  if (!await writing(keyring.revoke(name))) throw unknownKey(name);
  context.gateway.observe.audit?.write({ event: "key revoked", key: name, by: context.caller.name });
  return Response.json({ name });
}

const MOST_KEPT_MS = 90 * 86_400_000;
const rotateSchema = z.strictObject({ name: z.string(), keepMs: z.int().min(0).max(MOST_KEPT_MS) });

/** Gives a key another secret. The former one stays valid for a while, so that clients can be changed one by one. */
export async function rotateKey({ gateway, caller }: RequestContext, body: JsonObject): Promise<Response> {
  const keyring = keyringOf(await deskOf(gateway));
  const { name, keepMs } = validate(rotateSchema, body);
  const until = gateway.clocks.now() + keepMs;
  const key = await writing(keyring.rotate(name, until));
  if (key === undefined) throw unknownKey(name);
  gateway.observe.audit?.write({ event: "key rotated", key: name, by: caller.name });
  return Response.json({ name, key, formerUntil: new Date(until).toISOString() });
}

async function deskOf(gateway: Gateway): Promise<KeyDesk> {
  return (await gateway.console!.parts()).keys;
}

function keyringOf({ stored }: KeyDesk): Keyring {
  if ("keyring" in stored) return stored.keyring;
  throw new GatewayError("unsupported", stored.why);
}

/** The name and the permissions of a key. Throws `invalid_request`. */
function factsIn(body: JsonObject, { teams }: KeyDesk, { gateway }: RequestContext): KeyFacts {
  const facts = validate(keyFactsSchema, body);
  const { name, lanes = [], team } = facts;
  const why = whyNotName(name);
  if (why !== undefined) throw invalid("name", why);
  const strange = lanes.find((lane) => !gateway.lanes.has(lane));
  if (strange !== undefined) throw invalid("lanes", `Cannot find lane "${strange}"`);
  if (team !== undefined && !Object.hasOwn(teams, team)) {
    throw invalid("team", `Cannot find team "${team}"`);
  }
  return facts;
}

/** Whether a key of the configuration has the name. Two such keys would share their limits, usage and stored data. */
function isTaken(name: string, { configured }: KeyDesk): boolean {
  return configured.some((key) => key.name === name);
}

const reading = <T>(work: Promise<T>) => withStore(work, "The gateway cannot read the keys: try again later");
const writing = <T>(work: Promise<T>) =>
  withStore(work, "The store did not answer: check the list before you try again");

async function withStore<T>(work: Promise<T>, message: string): Promise<T> {
  try {
    return await withStoreTimeout(PATIENCE_MS, work);
  } catch (cause) {
    throw new GatewayError("unavailable", message, { cause, retryAfter: "1" });
  }
}

function unknownKey(name: string): GatewayError {
  return new GatewayError("not_found", `Cannot find key "${name}" among those that can be changed here`);
}

function invalid(param: string, message: string): GatewayError {
  return new GatewayError("invalid_request", message, { param });
}
