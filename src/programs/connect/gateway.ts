/** Asks the gateway that a client will call. */
import { asObjects, isJsonObject, type JsonObject } from "../../canonical/json.ts";
import { printable } from "../../util/printable.ts";
import { LimitedBytesTransformStream } from "../../std/streams/limited_bytes_transform_stream.ts";
import { toText } from "../../std/streams/to_text.ts";

/** The error if the gateway cannot be used. The message is for people, and says what to do. */
export class ConnectError extends Error {}

/** The gateway wants another key. `cure`: how the command is given one. */
export class KeyError extends ConnectError {
  readonly cure: string;

  constructor(message: string, cure: string) {
    super(message);
    this.cure = cure;
  }
}

export interface GatewayAddress {
  /** The URL without a trailing slash. */
  url: string;
  lane: string;
  /** The key itself. */
  key?: string;
}

/** A chat model in the gateway's list. */
export interface ListedModel {
  id: string;
  contextTokens?: number;
  outputTokens?: number;
  takesImages: boolean;
}

const PATIENCE_MS = 10_000;
/** The longest answer of a gateway, in characters. */
const MOST_TEXT = 10_000_000;

/** The chat models. Throws `ConnectError` if something is wrong with the gateway, the key or the lane. */
export async function askModels({ url, lane, key }: GatewayAddress): Promise<ListedModel[]> {
  const ready = await send(`${url}/readyz`, undefined);
  if (!ready) throw new ConnectError(`No gateway answers at ${url}: start it, or set its address with --url`);
  if (!ready.ok) {
    throw new ConnectError(`The server at ${url} is not a gateway, or is not ready (status ${ready.status})`);
  }
  const listed = await send(`${url}/${lane}/v1/models`, key);
  if (listed?.status === 401 || listed?.status === 403) {
    const cure = key === undefined ? "set one with --key-env or --key" : "create one with: keys create";
    throw new KeyError(`The gateway refuses ${key === undefined ? "callers without a key" : "the key"}`, cure);
  }
  if (listed?.status === 404) throw new ConnectError(`The gateway has no lane "${lane}": name another with --lane`);
  const body = listed?.ok ? json(listed.text) : undefined;
  if (!isJsonObject(body) || !Array.isArray(body.data)) {
    throw new ConnectError(`The gateway did not list its models (status ${listed?.status ?? "none"})`);
  }
  const isModel = ({ id, task }: JsonObject) => task === "chat" && typeof id === "string" && isName(id);
  return body.data.filter(isJsonObject).filter(isModel).map(toModel);
}

/** Whether a name can be shown and written: it has no line breaks and no control characters for terminals. */
export function isName(text: string): boolean {
  return text !== "" && !/\p{Cc}/u.test(text);
}

export interface Explained {
  /** Why a request to the model would fail. Absent if one of its targets can be called. */
  obstacle?: string;
  /** Whether the gateway itself answers, without a call to an upstream. */
  isEmbedded: boolean;
}

/** The statuses that concern the model, and not the gateway's state. */
const OF_THE_MODEL = [400, 403, 404, 422];

/** Asks the gateway how it would serve a request to the model, without a call to an upstream. */
export async function explainModel(model: string, { url, lane, key }: GatewayAddress): Promise<Explained> {
  const body = JSON.stringify({ model, messages: [{ role: "user", content: "ping" }] });
  const answer = await send(`${url}/${lane}/v1/chat/completions`, key, {
    method: "POST",
    headers: { "content-type": "application/json", "x-laneway-explain": "true" },
    body,
  });
  const explanation = json(answer?.text ?? "");
  if (!answer || !isJsonObject(explanation)) return { isEmbedded: false };
  if (OF_THE_MODEL.includes(answer.status)) return { obstacle: messageIn(explanation), isEmbedded: false };
  const targets = asObjects(explanation.targets);
  const usable = targets.filter(({ error }) => error === undefined);
  if (targets.length > 0 && usable.length === 0) return { obstacle: messageIn(targets[0]!), isEmbedded: false };
  const isEmbedded = usable.length > 0 &&
    usable.every(({ requests }) => Array.isArray(requests) && requests.length === 0);
  return { isEmbedded };
}

/** Whether the gateway would ask the model to fill a gap in a text. */
export async function fillsGaps(model: string, { url, lane, key }: GatewayAddress): Promise<boolean> {
  const answer = await send(`${url}/${lane}/v1/completions`, key, {
    method: "POST",
    headers: { "content-type": "application/json", "x-laneway-explain": "true" },
    body: JSON.stringify({ model, prompt: "a", suffix: "b" }),
  });
  const explanation = json(answer?.text ?? "");
  if (!answer?.ok || !isJsonObject(explanation)) return false;
  return asObjects(explanation.targets).some(({ error }) => error === undefined);
}

function messageIn({ error }: JsonObject): string {
  const message = isJsonObject(error) ? error.message : undefined;
  return printable(typeof message === "string" ? message : "The gateway gives no reason");
}

interface Request {
  method?: string;
  headers?: Record<string, string>;
  body?: string;
}

interface Answer {
  status: number;
  ok: boolean;
  text: string;
}

async function send(url: string, key: string | undefined, more: Request = {}): Promise<Answer | undefined> {
  const auth: Record<string, string> = key === undefined ? {} : { authorization: `Bearer ${key}` };
  const headers = { ...auth, ...more.headers };
  try {
    const signal = AbortSignal.timeout(PATIENCE_MS);
    const response = await fetch(url, { ...more, headers, redirect: "manual", signal });
    const limited = response.body?.pipeThrough(new LimitedBytesTransformStream(MOST_TEXT, { error: true }));
    return { status: response.status, ok: response.ok, text: limited ? await toText(limited) : "" };
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
