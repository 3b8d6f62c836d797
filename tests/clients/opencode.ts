/** Runs opencode in an empty environment, in a home of its own, with no way out but to a gateway on loopback. */
import type { JsonObject } from "../../src/canonical/json.ts";
import { type ConfigInput, ENV, newApp, type TestApp } from "../support/app.ts";
import { type Exchange, record } from "./recorder.ts";

/** The packages by which opencode speaks to a gateway, and the lane's endpoint that each of them uses. */
export const PACKAGES = {
  "@ai-sdk/openai-compatible": "/oss/v1/chat/completions",
  "@ai-sdk/openai": "/oss/v1/responses",
  "@ai-sdk/anthropic": "/oss/v1/messages",
} as const;

export type Package = keyof typeof PACKAGES;

/** What a run left behind. */
export interface Run {
  code: number;
  /** Standard output as it is, and the JSON objects among its lines. */
  text: string;
  lines: JsonObject[];
  /** What the gateway was asked in this run. */
  exchanges: Exchange[];
}

export interface Person {
  app: TestApp;
  /** What the gateway's upstreams were sent. */
  sent: JsonObject[];
  /** The folder that the person works in. */
  project: string;
  /** Runs `opencode` with these arguments. */
  opencode(args: string[]): Promise<Run>;
  /** Has opencode do something without asking, and tell what happened as lines of JSON. */
  run(args: string[]): Promise<Run>;
}

export const KEY = ENV.TEAM_KEY!;

const RUN_MS = 90_000;
/** Nothing listens there. */
const NOWHERE = "http://127.0.0.1:9";

/**
 * Calls `use` with a gateway and a person who has opencode and never used it, and clears both away. `script` answers the
 * calls to all upstreams, which are counted from 0.
 */
export async function withOpencode(
  program: string,
  npm: Package,
  config: ConfigInput,
  script: (call: number, body: JsonObject) => Response,
  use: (person: Person) => Promise<void>,
): Promise<void> {
  const sent: JsonObject[] = [];
  const app = newApp({
    config: { ...config, keys: [{ name: "team", secret: { env: "TEAM_KEY" } }] },
    now: Date.now,
    async fetch(input, init) {
      const request = new Request(input, init);
      const body: JsonObject = JSON.parse(await request.clone().text());
      return script(sent.push(body) - 1, body);
    },
  });
  const recorder = record(app);
  const home = await Deno.makeTempDir({ prefix: "laneway-opencode-" });
  const project = `${home}/project`;
  await Deno.mkdir(project);
  await Deno.writeTextFile(`${home}/opencode.json`, JSON.stringify(settings(npm, recorder.url, config)));

  const opencode = async (args: string[]): Promise<Run> => {
    const before = recorder.exchanges.length;
    const { code, stdout } = await new Deno.Command(program, {
      args,
      cwd: project,
      clearEnv: true,
      env: {
        HOME: home,
        TMPDIR: home,
        PATH: "/usr/local/bin:/usr/bin:/bin",
        OPENCODE_CONFIG: `${home}/opencode.json`,
        // It would ask for lists of models, for itself and for what it works with.
        OPENCODE_DISABLE_MODELS_FETCH: "1",
        OPENCODE_DISABLE_AUTOUPDATE: "1",
        OPENCODE_DISABLE_LSP_DOWNLOAD: "1",
        OPENCODE_DISABLE_DEFAULT_PLUGINS: "1",
        HTTP_PROXY: NOWHERE,
        HTTPS_PROXY: NOWHERE,
        NO_PROXY: "127.0.0.1",
      },
      stdin: "null",
      signal: AbortSignal.timeout(RUN_MS),
    }).output();
    const text = new TextDecoder().decode(stdout);
    const lines = text.split("\n").filter((line) => line.startsWith("{") && line.endsWith("}"))
      .map((line): JsonObject => JSON.parse(line));
    return { code, text, lines, exchanges: recorder.exchanges.slice(before) };
  };

  const run = (args: string[]) => opencode(["run", "--format", "json", ...args]);

  try {
    await use({ app, sent, project, opencode, run });
  } finally {
    app.abort();
    await recorder.stop();
    await Deno.remove(home, { recursive: true });
  }
}

/** What the person wrote into opencode's settings: the gateway as a provider `gw`, with all models of the lane. */
function settings(npm: Package, url: string, { lanes }: ConfigInput): JsonObject {
  const models = Object.keys(lanes?.oss?.models ?? {}).map((name) => [
    name,
    { name, reasoning: true, tool_call: true, limit: { context: 100_000, output: 8_000 } },
  ]);
  return {
    $schema: "https://opencode.ai/config.json",
    autoupdate: false,
    share: "disabled",
    provider: {
      gw: {
        npm,
        name: "Gateway",
        options: { baseURL: `${url}/oss/v1`, apiKey: KEY },
        models: Object.fromEntries(models),
      },
    },
    permission: { "*": "allow" },
  };
}
