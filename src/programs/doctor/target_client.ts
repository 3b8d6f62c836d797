/** A gateway in this process that serves each configured target as a separate model, and a client for it. */
import type { ProcessStatus } from "../../context/workers.ts";
import { createApp } from "../../app.ts";
import { isPattern } from "../../canonical/models.ts";
import { isJsonObject, type JsonObject, type JsonValue } from "../../canonical/json.ts";
import type { Task } from "../../canonical/models.ts";
import type { Config } from "../../config/schema.ts";
import type { Alias } from "../../config/lane_schema.ts";
import type { LogEntry } from "../../observe/log.ts";
import { createMemoryStore } from "../../state/memory_store.ts";
import type { Examined } from "./examination.ts";

/** One model at one upstream. */
export interface Subject {
  /** Its name in the lane of this gateway. */
  id: string;
  task: Task;
  upstream: string;
  /** The upstream's name for it. */
  model: string;
  /** The subject in findings: `model "glm" of lane "oss"`. */
  name: string;
}

export interface Answer {
  status: number;
  contentType: string;
  /** Parsed, if it is JSON. */
  body: JsonValue;
  /** The gateway's notes about dropped or changed fields. */
  notes: string;
  /** The gateway's log entry, with the upstream's status and the error. */
  log?: LogEntry;
}

export interface TargetClient {
  subjects: readonly Subject[];
  ask(path: string, body: BodyInit): Promise<Answer>;
  /** The status page, which lists what was refused. */
  status(): Promise<ProcessStatus>;
  close(): Promise<void>;
}

const LANE = "doctor";

/** `relax`: whether the gateway asks again without what a model refuses. */
export function startTargetClient(examined: Examined, relax: "off" | "trusted" = "off"): TargetClient {
  const { config, platform, plugins, patienceMs } = examined;
  const { subjects, models } = subjectsOf(examined);
  const logs = new Map<string, LogEntry>();
  const app = createApp({
    config: configFor(config, models, patienceMs, relax),
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
  const status = async () => await (await app.fetch(new Request("http://127.0.0.1/status"))).json();
  return { subjects, ask, status, close: () => app.close() };
}

/** Each target once, with the first name that leads to it. */
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

function configFor(
  config: Config,
  models: Record<string, Alias>,
  patienceMs: number,
  relax: "off" | "trusted",
): Config {
  const timeouts = { headMs: patienceMs, firstEventMs: patienceMs, idleMs: patienceMs, wholeMs: patienceMs };
  const upstreams = Object.entries(config.upstreams).map(([name, upstream]) => [
    name,
    { ...upstream, relax, timeouts: { ...upstream.timeouts, ...timeouts } },
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

/** The error in an answer. */
export function errorIn({ body }: Answer): JsonObject | undefined {
  return isJsonObject(body) && isJsonObject(body.error) ? body.error : undefined;
}
