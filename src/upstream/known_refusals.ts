/** Leaves out of a call what its upstream is known to refuse, or some of that to find out what it was. */
import { isJsonObject, type JsonObject } from "../canonical/json.ts";
import type { ModelOperation } from "../canonical/operations.ts";
import type { BodyLayout } from "../contract/body_layout.ts";
import type { Call } from "../contract/call.ts";
import type { Driver } from "../contract/driver.ts";
import { exchangeOf } from "../relaxations/exchange.ts";
import { type Search, without } from "../relaxations/learnt.ts";
import { nameOf, type Relaxation, relaxOne } from "../relaxations/relaxation.ts";
import { type Attempt, placeOf } from "./attempt.ts";
import type { Upstream } from "./upstream.ts";

/** Calls that leave out only some of what one host refused without saying what. */
const TRIALS = new WeakMap<Call, Search>();

/** The layouts that were loaded, by the function that loads them. Drivers have few. */
const LAYOUTS = new WeakMap<NonNullable<Driver["layout"]>, BodyLayout>();

/**
 * Loads what is needed to ask again, and what other gateways have found of the upstream. Returns whether that is more than was known
 * here.
 */
export async function recall({ driver: { layout }, refusals }: Upstream): Promise<boolean> {
  const [hasNews] = await Promise.all([exchangeOf(refusals)?.look(), loadLayout(layout)]);
  return hasNews ?? false;
}

async function loadLayout(layout: Driver["layout"]): Promise<void> {
  if (layout && !LAYOUTS.has(layout)) LAYOUTS.set(layout, await layout());
}

/** The layout of the call's body. Absent if it is not asked in other forms. */
export function layoutFor<K extends ModelOperation>({ operation, upstream }: Attempt<K>): BodyLayout | undefined {
  const { driver: { layout }, relax } = upstream;
  const isConversation = operation === "generate" || operation === "relay";
  return isConversation && relax !== "off" && layout ? LAYOUTS.get(layout) : undefined;
}

/** The body of a call, if it is a JSON object. */
export function bodyIn({ body }: Call): JsonObject | undefined {
  return isJsonObject(body) && !(body instanceof Uint8Array) && !(body instanceof Blob) ? body : undefined;
}

/** The call without what its upstream is known to refuse, which is noted. */
export function withoutRefused<K extends ModelOperation>(call: Call, attempt: Attempt<K>): Call {
  const { upstream: { refusals }, key } = attempt;
  const layout = layoutFor(attempt);
  const body = bodyIn(call);
  if (!layout || !body) return call;
  void exchangeOf(refusals)?.look();
  const place = placeOf(attempt);
  const search = refusals.searchOf(place, key);
  const known = relaxationsFor(attempt);
  refusals.asked(place, key);
  const relaxed = { ...call, body: relaxNoted(body, [...known, ...search ? without(search) : []], layout, attempt) };
  if (search) TRIALS.set(relaxed, search);
  return search || relaxed.body !== body ? relaxed : call;
}

/** The call without what has become known of its upstream since it was described. Returns the same call if it has none of it. */
export function withoutNewlyKnown<K extends ModelOperation>(call: Call, attempt: Attempt<K>): Call {
  const layout = layoutFor(attempt);
  const body = bodyIn(call);
  if (!layout || !body) return call;
  const relaxed = relaxNoted(body, relaxationsFor(attempt), layout, attempt);
  return relaxed === body ? call : { ...call, body: relaxed };
}

function relaxationsFor<K extends ModelOperation>(attempt: Attempt<K>): Relaxation[] {
  return attempt.upstream.refusals.of(placeOf(attempt), attempt.key).filter((one) => typeof one !== "string");
}

/** The body with all of it given up, with a note for what it had. */
export function relaxNoted<K extends ModelOperation>(
  body: JsonObject,
  relaxations: readonly Relaxation[],
  layout: BodyLayout,
  { context, upstream }: Attempt<K>,
): JsonObject {
  return relaxations.reduce((before, one) => {
    const after = relaxOne(before, one, layout);
    if (after !== before) context.note(`relaxed ${nameOf(one)}: refused by ${upstream.name}`);
    return after;
  }, body);
}

export function trialOf(call: Call): Search | undefined {
  return TRIALS.get(call);
}

/** A call was accepted. What it left out is enough, then. */
export function settleTrial<K extends ModelOperation>(call: Call, attempt: Attempt<K>): void {
  const search = TRIALS.get(call);
  if (search) attempt.upstream.refusals.tried(placeOf(attempt), search, true, attempt.key);
}
