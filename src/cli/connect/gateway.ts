/** The gateway that a client is to call, as it answers now. */
import { isJsonObject, type JsonObject } from "../../canonical/json.ts";
import { readText } from "../../util/read_text.ts";

/** It cannot be connected to. The message is for people, and says what to do. */
export class ConnectError extends Error {}

export interface GatewayAddress {
  /** Without a slash at its end. */
  url: string;
  lane: string;
  /** The key itself. */
  key?: string;
}

/** A model for conversations, as the gateway lists it. */
export interface ListedModel {
  id: string;
  contextTokens?: number;
  outputTokens?: number;
  takesImages: boolean;
}

const PATIENCE_MS = 10_000;
/** A longer answer is none of a gateway's, in characters. */
const MOST_TEXT = 10_000_000;

/** The models for conversations. Throws `ConnectError` where the gateway, the key or the lane is not what it should be. */
export async function askModels({ url, lane, key }: GatewayAddress): Promise<ListedModel[]> {
  const ready = await get(`${url}/readyz`, undefined);
  if (!ready) throw new ConnectError(`No gateway answers at ${url}: start it, or set its address with --url`);
  if (!ready.ok) {
    throw new ConnectError(`The server at ${url} is not a gateway, or is not ready (status ${ready.status})`);
  }
  const listed = await get(`${url}/${lane}/v1/models`, key);
  if (listed?.status === 401 || listed?.status === 403) {
    const cure = key === undefined ? "set one with --key-env or --key" : "create one with: keys create";
    throw new ConnectError(`The gateway refuses ${key === undefined ? "callers without a key" : "the key"}: ${cure}`);
  }
  if (listed?.status === 404) throw new ConnectError(`The gateway has no lane "${lane}": name another with --lane`);
  const body = listed?.ok ? json(listed.text) : undefined;
  if (!isJsonObject(body) || !Array.isArray(body.data)) {
    throw new ConnectError(`The gateway did not list its models (status ${listed?.status ?? "none"})`);
  }
  const isModel = ({ id, task }: JsonObject) => task === "chat" && typeof id === "string" && isName(id);
  return body.data.filter(isJsonObject).filter(isModel).map(toModel);
}

/** What can be shown and written: without line breaks, and what a terminal would take for an order. */
export function isName(text: string): boolean {
  return text !== "" && !/\p{Cc}/u.test(text);
}

interface Answer {
  status: number;
  ok: boolean;
  text: string;
}

async function get(url: string, key: string | undefined): Promise<Answer | undefined> {
  const headers: Record<string, string> = key === undefined ? {} : { authorization: `Bearer ${key}` };
  try {
    const response = await fetch(url, { headers, redirect: "manual", signal: AbortSignal.timeout(PATIENCE_MS) });
    const { text, isCut } = await readText(response.body, MOST_TEXT);
    return isCut ? undefined : { status: response.status, ok: response.ok, text };
  } catch {
    return undefined;
  }
}

function json(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function toModel({ id, context_length: context, max_output_tokens: output, input_modalities: takes }: JsonObject) {
  return {
    id: String(id),
    ...typeof context === "number" && { contextTokens: context },
    ...typeof output === "number" && { outputTokens: output },
    takesImages: Array.isArray(takes) && takes.includes("image"),
  };
}
