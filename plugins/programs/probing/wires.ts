/** Finds the wires that a server supports. */
import { isJsonObject, type JsonObject, type JsonValue } from "../../../src/canonical/json.ts";
import type { ProbeCall, ProbeReply } from "../../../src/contract/probing.ts";
import { errorOf } from "./answers.ts";

interface Wire {
  name: string;
  path: string;
  body(model: string): JsonObject;
  headers?: Readonly<Record<string, string>>;
  /** Whether an answer with status 200 is one of this wire: some servers answer every path. */
  isIts(body: unknown): boolean;
}

function has(field: string) {
  return (body: unknown) => typeof body === "object" && body !== null && field in body;
}

/** A model that makes no vectors may be served by one that answers without numbers. */
function hasVectors(body: unknown): boolean {
  const [first] = isJsonObject(body as JsonValue) && Array.isArray((body as JsonObject).data)
    ? (body as JsonObject).data as JsonValue[]
    : [];
  const vector = isJsonObject(first) ? first.embedding : undefined;
  return typeof vector === "string" || Array.isArray(vector) && vector.every((one) => typeof one === "number");
}

const said = (content: string) => [{ role: "user", content }];

const WIRES: readonly Wire[] = [
  {
    name: "chat",
    path: "chat/completions",
    body: (model) => ({ model, max_tokens: 1, messages: said("ping") }),
    isIts: has("choices"),
  },
  {
    name: "messages",
    path: "messages",
    body: (model) => ({ model, max_tokens: 1, messages: said("ping") }),
    headers: { "anthropic-version": "2023-06-01" },
    isIts: has("content"),
  },
  {
    name: "responses",
    path: "responses",
    // Some servers stream by default.
    body: (model) => ({ model, max_output_tokens: 16, input: "ping", store: false, stream: false }),
    isIts: has("output"),
  },
  { name: "embeddings", path: "embeddings", body: (model) => ({ model, input: ["ping"] }), isIts: hasVectors },
  {
    name: "rerank",
    path: "rerank",
    body: (model) => ({ model, query: "ping", documents: ["pong"] }),
    isIts: has("results"),
  },
];

export interface FoundWire {
  name: string;
  /** `no`: the path does not exist. `refuses`: it exists, but rejects this model or request. */
  state: "yes" | "refuses" | "no";
  /** The server's message if it refused. */
  reason?: string;
}

/** All of them, in one order. */
export async function findWires(ask: ProbeCall, model: string): Promise<FoundWire[]> {
  const found: FoundWire[] = [];
  for (const { name, path, body, headers, isIts } of WIRES) {
    const reply = await ask(path, body(model), headers);
    const state = stateOf(reply, isIts);
    found.push({ name, state, ...state === "refuses" && { reason: `${reply.status}: ${errorOf(reply)}` } });
  }
  return found;
}

function stateOf({ status, body }: ProbeReply, isIts: (body: unknown) => boolean): FoundWire["state"] {
  if (status === 200) return isIts(body) ? "yes" : "no";
  return [0, 404, 405, 501].includes(status) ? "no" : "refuses";
}
