/** A gateway in this process that serves each target of the configuration as a model of its own, and how it is asked. */
import { createApp } from "../../app.ts";
import { isPattern } from "../../canonical/models.ts";
import { isJsonObject, type JsonObject, type JsonValue } from "../../canonical/json.ts";
import type { Task } from "../../canonical/models.ts";
import type { Config } from "../../config/schema.ts";
import type { Alias } from "../../config/lane_schema.ts";
import type { LogEntry } from "../../observe/log.ts";
import { createMemoryStore } from "../../state/memory_store.ts";
import type { Examined } from "./examination.ts";

/** One model at one upstream, and who serves it to clients. */
export interface Subject {
  /** What it is called in the lane of this gateway. */
  id: string;
  task: Task;
  upstream: string;
  /** What the upstream calls it. */
  model: string;
  /** For people: `model "glm" of lane "oss"`. */
  name: string;
}

export interface Answer {
  status: number;
  contentType: string;
  /** JSON where it is some. */
  body: JsonValue;
  /** What the gateway had to drop or change. */
  notes: string;
  /** What the upstream answered the gateway with, and what ended the call. */
  log?: LogEntry;
}

export interface TargetClient {
  subjects: readonly Subject[];
  ask(path: string, body: BodyInit): Promise<Answer>;
  close(): Promise<void>;
}

const LANE = "doctor";

export function startTargetClient(examined: Examined): TargetClient {
  const { config, platform, plugins, patienceMs } = examined;
  const { subjects, models } = subjectsOf(examined);
  const logs = new Map<string, LogEntry>();
  const app = createApp({
    config: configFor(config, models, patienceMs),
    plugins,
    platform,
    store: createMemoryStore({ now: Date.now, limitBytes: 2 ** 20 }),
    log: (entry) => void logs.set(entry.id, entry),
    fetch: (url, init) => platform.fetch(url, init),
  });
  const ask = async (path: string, body: BodyInit): Promise<Answer> => {
    const headers = typeof body === "string" ? { "content-type": "application/json" } : undefined;
    const url = `http://127.0.0.1/${LANE}/v1/${path}`;
    const response = await app.fetch(new Request(url, { method: "POST", headers, body }));
    const contentType = response.headers.get("content-type") ?? "";
    const bytes = await response.bytes();
    const id = response.headers.get("x-request-id") ?? "";
    return {
      status: response.status,
      contentType,
      body: bodyOf(bytes, contentType),
      notes: response.headers.get("x-laneway-notes") ?? "",
      log: logs.get(id),
    };
  };
  return { subjects, ask, close: () => app.close() };
}

/** Each target once, however many names lead to it: its first one. */
function subjectsOf({ config }: Examined): { subjects: Subject[]; models: Record<string, Alias> } {
  const models: Record<string, Alias> = {};
  const subjects = new Map<string, Subject>();
  for (const [lane, { models: aliases }] of Object.entries(config.lanes)) {
    for (const [name, alias] of Object.entries(aliases)) {
      for (const target of alias.targets) {
        const { upstream, model } = target;
        const key = JSON.stringify([upstream, model, alias.task]);
        if (subjects.has(key) || isPattern(model)) continue;
        const id = `m${subjects.size}`;
        models[id] = { ...alias, targets: [target], hedgeAfterMs: undefined };
        subjects.set(key, { id, task: alias.task, upstream, model, name: `model "${name}" of lane "${lane}"` });
      }
    }
  }
  return { subjects: [...subjects.values()], models };
}

function configFor(config: Config, models: Record<string, Alias>, patienceMs: number): Config {
  const timeouts = { headMs: patienceMs, firstEventMs: patienceMs, idleMs: patienceMs, wholeMs: patienceMs };
  const upstreams = Object.entries(config.upstreams).map(([name, upstream]) => [
    name,
    { ...upstream, timeouts: { ...upstream.timeouts, ...timeouts } },
  ]);
  return {
    ...config,
    keys: [],
    storedKeys: false,
    oidc: undefined,
    transport: "fetch",
    upstreams: Object.fromEntries(upstreams),
    lanes: { [LANE]: { models, upstreams: {} } },
    retry: { ...config.retry, rounds: 1, budgetMs: 0 },
  };
}

function bodyOf(bytes: Uint8Array<ArrayBuffer>, contentType: string): JsonValue {
  if (/^audio\//.test(contentType)) return { bytes: bytes.length };
  const text = new TextDecoder().decode(bytes);
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

/** The error that an answer holds, for people. */
export function errorIn({ body }: Answer): JsonObject | undefined {
  return isJsonObject(body) && isJsonObject(body.error) ? body.error : undefined;
}
