/** The headers that the gateway reads and sends in every protocol. */
import type { Allowance, DollarGauge, Gauge } from "../../contract/allowance.ts";
import type { AnyProtocol } from "../../contract/protocol.ts";
import { type Document, type Parameter, type Reference, refTo } from "./json.ts";

const text = { type: "string" };

export const HEADERS: Document["components"]["headers"] = {
  "x-request-id": { description: "The id of the request, which is in the log as well.", schema: text },
  "request-id": { description: "The id of the request, for clients that read this name.", schema: text },
  "x-laneway-notes": {
    description: "What was dropped, clamped or changed so that the request could be served: `; ` between notes.",
    schema: text,
  },
  "x-laneway-target": {
    description:
      "Who answered, as `upstream/model`; `provider=` names the provider that the upstream chose, `attempts=` the number of attempts.",
    schema: text,
  },
  "x-laneway-tokens": {
    description: "How the tokens were counted.",
    schema: { type: "string", enum: ["upstream", "tokenizer", "calibrated", "estimated"] },
  },
  "x-laneway-cost": {
    description:
      "What the answer cost in US dollars, as a decimal text, where prices are known; `; estimated` follows " +
      "where tokens were estimated. A stream has it in a comment before its end.",
    schema: { type: "string", pattern: "^\\d+(\\.\\d+)?(; estimated)?$" },
  },
  "x-should-retry": {
    description: "`false` where the same request cannot succeed.",
    schema: { type: "string", enum: ["true", "false"] },
  },
  "retry-after": { description: "When to try again: seconds, or a date.", schema: text },
};

/** The headers of a model's answer. */
export const MODEL_HEADERS = ["x-laneway-target", "x-laneway-tokens", "x-laneway-cost"];
/** The headers of every answer of a protocol. */
export const COMMON_HEADERS = ["x-request-id", "request-id", "x-laneway-notes"];

export const PARAMETERS: Record<string, Parameter> = {
  lane: {
    name: "lane",
    in: "path",
    required: true,
    description: "The lane, which has its own models. `GET /` lists the lanes.",
    schema: { type: "string", pattern: "^[a-z0-9][a-z0-9-]*$" },
  },
  strict: {
    name: "x-laneway-strict",
    in: "header",
    description: "With `true`, a request that cannot be served unchanged is refused with 400.",
    schema: { type: "string", enum: ["true", "false"] },
  },
  explain: {
    name: "x-laneway-explain",
    in: "header",
    description: "With `true`, nothing is sent: the answer shows, as JSON, the request that each target would receive.",
    schema: { type: "string", enum: ["true", "false"] },
  },
};

const GAUGE: Gauge = { limit: 1, remaining: 1, resetMs: 1 };
const DOLLARS: DollarGauge = { limit: "1", remaining: "1", resetMs: 1 };
const ALLOWANCE: Required<Allowance> = { requests: GAUGE, tokens: GAUGE, dollars: DOLLARS };

/**
 * The headers in which a protocol reports what is left of a key's limits. They are added to `all`, and references are
 * returned.
 */
export function allowanceHeaders(
  { serializeAllowance }: AnyProtocol,
  all: Document["components"]["headers"],
): Record<string, Reference> {
  const names = Object.keys(serializeAllowance?.(ALLOWANCE, 0) ?? {});
  for (const name of names) all[name] ??= { description: meaningOf(name), schema: text };
  return Object.fromEntries(names.map((name) => [name, refTo("headers", name)]));
}

function meaningOf(name: string): string {
  const what = Object.keys(ALLOWANCE).find((kind) => name.includes(kind)) ?? "use";
  if (name.includes("remaining")) return `How much of the key's limit on ${what} is left.`;
  return name.includes("reset") ? `When the full limit on ${what} is available again.` : `The key's limit on ${what}.`;
}
