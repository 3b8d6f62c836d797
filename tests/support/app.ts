import type { z } from "zod";
import { type App, type AppOptions, createApp } from "../../src/app.ts";
import { providers, stages } from "../../plugins/mod.ts";
import type { configSchema } from "../../src/config/schema.ts";
import { configSchemaWith } from "../../src/config/stage_sections.ts";
import type { LogEntry } from "../../src/observe/log.ts";
import { createMemoryStore } from "../../src/state/memory_store.ts";
import { withPresets } from "../../src/util/config_text.ts";

/** With the sections of the gateway's own stages. */
const SCHEMA = configSchemaWith(
  Object.fromEntries(stages.map(({ name, description, options }) => [name, { description, options }])),
);

/** A configuration as somebody writes it. */
export type ConfigInput = z.input<typeof configSchema>;

/** The time on the clock of a test app, in milliseconds since the epoch. */
export const NOW = 1_800_000_000_000;

/** The secrets that `CONFIG` and the configurations of tests refer to. */
export const ENV: Readonly<Record<string, string>> = {
  UPSTREAM_SECRET: "upstream-secret-1f2e3d",
  TEAM_KEY: "team-key-a1b2c3",
  GUEST_KEY: "guest-key-d4e5f6",
};

/** One lane with a model of the fake upstream, under a name of its own, and with the sandbox. */
export const CONFIG = {
  upstreams: {
    fake: { driver: "chat", baseUrl: "http://upstream.test/v1", secret: { env: "UPSTREAM_SECRET" } },
    sandbox: { driver: "sandbox" },
  },
  lanes: {
    oss: {
      models: {
        model: { task: "chat", targets: [{ upstream: "fake", model: "org/model" }] },
        sandbox: { task: "chat", targets: [{ upstream: "sandbox", model: "sandbox" }] },
      },
    },
  },
} satisfies ConfigInput;

/** One lane with a model that two upstreams have: the second is asked where the first fails. */
export const TWO_UPSTREAMS = {
  upstreams: {
    first: { driver: "chat", baseUrl: "http://first.test/v1" },
    second: { driver: "chat", baseUrl: "http://second.test/v1" },
  },
  lanes: {
    oss: {
      models: {
        model: {
          task: "chat",
          targets: [{ upstream: "first", model: "org/model" }, { upstream: "second", model: "org/model" }],
        },
      },
    },
  },
} satisfies ConfigInput;

export interface TestApp extends App {
  /** An entry for each request that is over, in that order. */
  logs: LogEntry[];
  get(path: string, headers?: HeadersInit): Promise<Response>;
  /** `body` goes out as JSON unless it is a text. */
  post(path: string, body: unknown, headers?: HeadersInit): Promise<Response>;
}

/**
 * The parts of the outside world that a test replaces. Without a `fetch` every call fails, so that no test leaves the
 * process.
 */
export interface TestAppOptions extends Omit<Partial<AppOptions>, "config" | "env" | "log"> {
  config?: ConfigInput;
  env?: Readonly<Record<string, string>>;
}

/** The checked configuration, with its presets. */
export function parseConfiguration(config: ConfigInput): AppOptions["config"] {
  return SCHEMA.parse(withPresets(config, () => providers));
}

/** An app whose ids count, whose clock stands still and whose log is a list. */
export function newApp({ config = CONFIG, env = ENV, ...options }: TestAppOptions = {}): TestApp {
  const logs: LogEntry[] = [];
  let ids = 0;
  const app = createApp({
    // A test of retries sets their time itself. The memory is not limited, because all tests in this process share it.
    config: parseConfiguration({
      retry: { budgetMs: 0 },
      ...config,
      limits: { memoryBytes: Number.MAX_SAFE_INTEGER, ...config.limits },
    }),
    env: (name) => env[name],
    fetch: () => Promise.reject(new TypeError("This test has no upstream")),
    now: () => NOW,
    // One clock moves both, unless a test tells them apart.
    monotonic: options.now ?? (() => NOW),
    newId: () => String(++ids),
    store: createMemoryStore({ now: options.now ?? (() => NOW), limitBytes: 64 * 1024 * 1024 }),
    log: (entry) => void logs.push(entry),
    ...options,
  });
  const send = (path: string, init: RequestInit) => app.fetch(new Request(`http://gateway${path}`, init));
  return {
    ...app,
    logs,
    get: (path, headers) => send(path, { headers }),
    post: (path, body, headers) =>
      send(path, { method: "POST", headers, body: typeof body === "string" ? body : JSON.stringify(body) }),
  };
}

/** The path of the chat completions of the lane `oss`. */
export const CHAT = "/oss/v1/chat/completions";

/** The smallest request for `model`, and what a test adds to it. */
export function chatBody(more: object = {}): { model: string; stream?: boolean } {
  return { model: "model", messages: [{ role: "user", content: "Hello" }], ...more } as { model: string };
}

/** A body of 30 MB that tells how often it was read. */
export function countedBody(): { init: RequestInit; pulls: () => number } {
  let pulls = 0;
  const body = new ReadableStream({
    pull(controller) {
      pulls++;
      controller.enqueue(new Uint8Array(2 ** 20));
    },
  }, { highWaterMark: 0 });
  const headers = { "content-length": String(30 * 2 ** 20) };
  return { init: { method: "POST", body, headers }, pulls: () => pulls };
}
