/** Describes for people what the models of an upstream were found to refuse, and the configuration that would say the same. */
import type { JsonObject } from "../canonical/json.ts";
import { type Learnable, modelAt } from "../relaxations/learnt.ts";
import { nameOf } from "../relaxations/relaxation.ts";
import { GatewayError } from "../errors.ts";
import { exchangeOf } from "../relaxations/exchange.ts";
import { recall } from "./call.ts";
import { CACHE_HINT } from "../transforms/cache_hints.ts";
import { SUFFIX } from "./call_fields.ts";
import { LOGPROBS, MANY_LOGPROBS, OWN_DECISIONS } from "./decisions.ts";
import { A_FORM, A_FORM_BESIDE_TOOLS, FORM } from "./schema_in_prompt.ts";
import type { Upstream } from "./upstream.ts";

export interface RefusedPart {
  model: string;
  /** How requests are written instead. */
  kind: "left out" | "lowered or raised" | "filled in" | "in another form";
  part: string;
  /** Whose requests are written without it. */
  holdsFor: "all keys" | "one key";
  /** When the full form is tried again. */
  until: string;
  /** The settings of the upstream that would say the same of all its models. */
  settings?: JsonObject;
}

/** Those that hold for one key, or all of them if no key is given. */
export function refusedParts(upstream: Upstream, key?: string): RefusedPart[] {
  const all = upstream.refusals.all();
  const own = key === undefined ? all : all.filter(({ keys, isForAll }) => isForAll || keys.includes(key));
  return own.map(({ place, learnt, until, isForAll }) => {
    const settings = settingsFor(learnt);
    return {
      model: modelAt(place),
      ...describe(learnt),
      holdsFor: isForAll ? "all keys" : "one key",
      until: new Date(until).toISOString(),
      ...settings && { settings },
    };
  });
}

/** Reads first what all gateways on the same store have found. */
export async function recallAll(upstreams: Iterable<Upstream>): Promise<void> {
  await Promise.all([...upstreams].filter(({ baseUrl }) => baseUrl !== undefined).map(recall));
}

/** Forgets what was found of a model, or of all of them, here and at all gateways on the same store. */
export async function forget({ name, refusals }: Upstream, model?: string): Promise<void> {
  const exchange = exchangeOf(refusals);
  if (!exchange) return refusals.forget(model);
  if (await exchange.forget(model)) return;
  const message = `This gateway has forgotten what "${name}" refuses. The store did not answer: others may remember it`;
  throw new GatewayError("unavailable", message, { retryAfter: "1" });
}

function describe(learnt: Learnable): Pick<RefusedPart, "kind" | "part"> {
  if (typeof learnt === "string") return WORDS.get(learnt) ?? { kind: "left out", part: learnt };
  const part = nameOf(learnt);
  switch (learnt.does) {
    case "omit":
    case "omit keyword":
      return { kind: "left out", part };
    case "clamp":
      return { kind: "lowered or raised", part };
    case "fill":
      return { kind: "filled in", part };
    default:
      return { kind: "in another form", part };
  }
}

const WORDS: ReadonlyMap<string, Pick<RefusedPart, "kind" | "part">> = new Map([
  [SUFFIX, { kind: "in another form", part: "suffix in the prompt" }],
  [A_FORM, { kind: "in another form", part: "output schema in the prompt" }],
  [OWN_DECISIONS, { kind: "in another form", part: "decisions of its own" }],
  [LOGPROBS, { kind: "in another form", part: "decisions by log probabilities" }],
  [MANY_LOGPROBS, { kind: "lowered or raised", part: "top_logprobs of decisions" }],
  [A_FORM_BESIDE_TOOLS, { kind: "in another form", part: "output schema in the prompt beside tools" }],
]);

/** Fields that mean more in the configuration than the field itself. */
const OTHERWISE_REFUSED: readonly string[] = [CACHE_HINT, FORM];

/** Only settings that mean the same. */
function settingsFor(learnt: Learnable): JsonObject | undefined {
  if (learnt === A_FORM) return { structuredOutput: "instruct" };
  if (learnt === OWN_DECISIONS) return { decisions: "logprobs" };
  if (learnt === LOGPROBS) return { decisions: "schema" };
  if (learnt === MANY_LOGPROBS) return undefined;
  if (typeof learnt === "string") return /^\w+$/.test(learnt) ? { refuses: [learnt] } : undefined;
  const isField = learnt.does === "omit" && /^\w+$/.test(learnt.path) && !OTHERWISE_REFUSED.includes(learnt.path);
  return isField ? { refuses: [learnt.path] } : undefined;
}
