/** A gateway whose launcher follows a script, for the pages of the guide. */
import type { HealthPart, SetupDesk, SetupTask, TakenEffect } from "../../src/context/setup.ts";
import { GatewayError } from "../../src/errors.ts";
import { deno } from "../../src/platform/deno.ts";
import type { Answers, CheckedSource, Found, Plan, Source } from "../../src/programs/init/answers.ts";
import { planFiles } from "../../src/programs/init/plan.ts";
import { factsFor } from "../../src/programs/init/work.ts";
import { CONFIG, type ConfigInput, newApp, type TestApp, type TestAppOptions } from "../support/app.ts";
import { answerWhole } from "../support/chat.ts";

/** The codes in the terminal, one after another. */
export const CODES = ["7HTK-93QA", "M4XR-K8WD", "Z2PB-55NE"];
export const GOOD_KEY = "a-key-that-is-good";
const MANY = Array.from({ length: 150 }, (_, index) => `lab/model-${index}`);
const HUB_MODELS = ["sentence/embedding-small", "openai/gpt-oss-120b", "zai-org/GLM-5.3", ...MANY];
const SERVER = { baseUrl: "http://127.0.0.1:11434/v1", title: "Ollama 0.14", models: ["qwen3:8b", "nomic-embed-text"] };

export interface Script {
  isFresh?: boolean;
  needsCode?: boolean;
  why?: string;
  effect?: TakenEffect;
  restart?: string;
  /** Why the folder cannot be written, while it is set. */
  refusal?: string;
  /** Whether the files have changed since the plan. */
  isOutdated?: true;
  /** Where the gateway was started, if its paths begin there. */
  folder?: string;
  servers?: Found["servers"];
  /** Waited for before the steps of a client's proof go on. */
  proof?: Promise<void>;
  /** Set to have all codes that were given forgotten. */
  isForgetful?: boolean;
  /** The result of the proof. */
  failure?: string;
  keyCure?: string;
  /** What each part of the checks finds. `waits`: the part is not over until it resolves. */
  findings?: Partial<Record<HealthPart, readonly object[]>>;
  waits?: { part: HealthPart; until: Promise<void> };
  /** What the checks were asked for, and whether their reader has left. */
  examined?: { parts: readonly HealthPart[]; only: object; signal: AbortSignal }[];
}

export interface Rig {
  app: TestApp;
  /** The commands that were run. */
  tasks: SetupTask[];
}

/** Without keys, as on a first start: the sandbox works, and the other upstream has no secret. */
const FIRST: ConfigInput = {
  ...CONFIG,
  upstreams: {
    ...CONFIG.upstreams,
    router: { driver: "chat", baseUrl: "http://router.test/v1", secret: { env: "HUB_TOKEN" } },
  },
  lanes: {
    oss: {
      models: {
        "glm-5.3": { task: "chat", targets: [{ upstream: "router", model: "zai-org/GLM-5.3" }] },
        sandbox: { task: "chat", targets: [{ upstream: "sandbox", model: "sandbox" }] },
      },
    },
  },
};

export function setupRig(script: Script, options: TestAppOptions = {}): Rig {
  const tasks: SetupTask[] = [];
  const desk = deskOf(script, tasks);
  const app = newApp({
    config: FIRST,
    now: Date.now,
    fetch: () => Promise.resolve(answerWhole()),
    setup: () => Promise.resolve(desk),
    ...options,
  });
  return { app, tasks };
}

function deskOf(script: Script, tasks: SetupTask[]): SetupDesk {
  const sessions = new Set<string>();
  let opened = 0;
  const needsCode = script.needsCode ?? false;
  const admit = (session: string | undefined) => {
    if (script.isForgetful) sessions.clear();
    script.isForgetful = false;
    if (!needsCode || sessions.has(session ?? "")) return;
    throw new GatewayError("permission", "Give the one-time code from the terminal first");
  };
  return {
    file: "/home/anna/gateway.json",
    get isFresh() {
      return script.isFresh ?? true;
    },
    command: "deno task -q laneway",
    platform: "linux",
    why: script.why,
    state: (session) => Promise.resolve({ needsCode, isOpen: sessions.has(session ?? ""), folder: script.folder }),
    open(code) {
      if (code !== CODES[opened]) {
        throw new GatewayError("permission", "This is not the newest code: the terminal shows it");
      }
      sessions.add(`session ${opened++}`);
      return Promise.resolve(`session ${opened - 1}`);
    },
    async run(task, session) {
      admit(session);
      tasks.push(task);
      await Promise.resolve();
      return answerTo(task, script);
    },
    stream(task, session) {
      admit(session);
      tasks.push(task);
      return Promise.resolve(ReadableStream.from(linesOf(task, script)).pipeThrough(new TextEncoderStream()));
    },
    async examine({ parts, only, signal, tell }) {
      (script.examined ??= []).push({ parts, only, signal });
      for (const part of parts) {
        tell(part, script.findings?.[part] ?? [], false);
        if (script.waits?.part === part) await script.waits.until;
        tell(part, [], true);
      }
    },
    titles: () => Promise.resolve(new Map([["agent-b", "Agent B"], ["agent-c", "agent-c"], ["SomeSDK", "Some SDK"]])),
    restartFor: () => script.restart,
    use() {
      script.isFresh = false;
      return Promise.resolve(script.effect ?? { outcome: "applied" });
    },
  };
}

function answerTo(task: SetupTask, script: Script): object {
  if (task.do === "find") {
    const clients = [
      { id: "claude-code", title: "Claude Code", isInstalled: true, isConnected: false, isByHand: false },
      { id: "codex", title: "Codex", isInstalled: true, isConnected: true, isByHand: false },
      { id: "opencode", title: "opencode", isInstalled: false, isConnected: false, isByHand: false },
    ];
    return { servers: script.servers ?? [SERVER], clients };
  }
  if (task.do === "check") {
    const found = checked(task.source as Source);
    return "source" in found ? { ...found, source: { ...found.source as Source, secret: undefined } } : found;
  }
  if (task.do === "examine") return { ok: true, findings: script.findings?.clients ?? [] };
  if (task.do === "plan") return planned(task.answers as Answers, script);
  if (script.isOutdated) return { ok: false, reason: "The files have changed", isOutdated: true };
  if (script.refusal !== undefined) return { ok: false, reason: script.refusal };
  return { ok: true, files: ["/home/anna/gateway.json"] };
}

function checked(source: Source): CheckedSource | object {
  const refused = { ok: false, reason: "The service refuses this key (status 401).", cure: "Copy it again." };
  if (source.kind === "sandbox") return { ok: true, upstream: "sandbox", models: ["sandbox"], source };
  if (source.kind === "hub") {
    return source.secret === GOOD_KEY ? { ok: true, upstream: "router", models: HUB_MODELS, source } : refused;
  }
  if (source.kind === "provider") {
    if (source.secret !== GOOD_KEY) return refused;
    return { ok: true, upstream: source.provider, models: ["fast-70b", "slow-400b"], source };
  }
  if ("name" in source && source.kind !== "server") return { ok: true, upstream: source.name, models: MANY, source };
  return "baseUrl" in source && source.baseUrl === SERVER.baseUrl
    ? { ok: true, upstream: "ollama", models: SERVER.models, source }
    : { ok: false, reason: "Nothing answers there: the connection was refused.", cure: "Start the server." };
}

const BEFORE = `{
  // The upstreams of this gateway.
  "extends": "default"
}
`;
const FILE = "/home/anna/gateway.json";
const FACTS = factsFor({ path: FILE, program: { platform: deno, plugins: {} } });

/** As the command plans it, for the folder of a user who has no file or the one above. */
function planned(answers: Answers, { isFresh = true, folder }: Script): Plan {
  const path = folder === undefined ? FILE : FILE.slice(folder.length + 1);
  const plan = planFiles(answers, { path, text: isFresh ? undefined : BEFORE }, FACTS);
  if ("problems" in plan) return { ok: false, problems: plan.problems };
  const files = plan.files.map((file) => ({
    ...file,
    ...file.isSecret ? { text: "…\n" } : !isFresh && { before: BEFORE },
  }));
  return { ok: true, files, version: "1" };
}

async function* linesOf(task: SetupTask, { proof, failure, keyCure }: Script): AsyncGenerator<string> {
  if (task.do !== "connect") return;
  const line = (value: object) => `${JSON.stringify(value)}\n`;
  const path = "/home/anna/.claude/settings.json";
  if (task.print) {
    return yield line({ files: [{ path, text: '{\n  "model": "sandbox"\n}\n', before: "{}\n" }] });
  }
  yield line({ step: task.undo ? "Taking the change back" : "Writing settings.json" });
  if (!task.undo) yield line({ step: "Running the client for one turn" });
  await proof;
  const changed = failure === undefined ? [path] : [];
  yield line({ result: { client: task.client, ok: failure === undefined, reason: failure, keyCure, changed } });
}
