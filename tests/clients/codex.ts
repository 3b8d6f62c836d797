/** Runs Codex in an empty environment, in a home of its own, with no way out but to a gateway on loopback. */
import type { JsonObject } from "../../src/canonical/json.ts";
import { type ConfigInput, ENV, newApp, type TestApp } from "../support/app.ts";
import { type Exchange, record } from "./recorder.ts";

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
  /** The gateway's address with the lane, as Codex is told it. */
  baseUrl: string;
  /** Runs `codex` with these arguments; `env` is all that its environment holds beside the home and the key. */
  codex(args: string[], env?: Record<string, string>): Promise<Run>;
  /** Has Codex do something without asking, and tell what happened as lines of JSON. */
  exec(args: string[], env?: Record<string, string>): Promise<Run>;
}

export interface Gateway {
  config: ConfigInput;
  /** Answers the calls to the host `scripted.test`, which are counted from 0. */
  script?(call: number, body: JsonObject): Response;
}

export const KEY = ENV.TEAM_KEY!;

/** The keys of a gateway that is not open to everybody on the machine. */
export const KEYS: ConfigInput["keys"] = [{ name: "team", secret: { env: "TEAM_KEY" } }];

const RUN_MS = 60_000;
/** Nothing listens there. */
const NOWHERE = "http://127.0.0.1:9";

/** Calls `use` with a gateway and a person who has Codex and never used it, and clears both away. */
export async function withCodex(
  program: string,
  { config, script }: Gateway,
  use: (person: Person) => Promise<void>,
): Promise<void> {
  const sent: JsonObject[] = [];
  const app = newApp({
    config,
    now: Date.now,
    async fetch(input, init) {
      const request = new Request(input, init);
      const body: JsonObject = JSON.parse(await request.clone().text());
      const call = sent.push(body) - 1;
      return script && new URL(request.url).hostname === "scripted.test" ? script(call, body) : fetch(request);
    },
  });
  const recorder = record(app);
  const baseUrl = `${recorder.url}/oss/v1`;
  const home = await Deno.makeTempDir({ prefix: "laneway-codex-" });
  const project = `${home}/project`;
  await Deno.mkdir(project);
  await Deno.mkdir(`${home}/.codex`);
  await Deno.writeTextFile(`${home}/.codex/config.toml`, settings(baseUrl));

  const codex = async (args: string[], env: Record<string, string> = {}): Promise<Run> => {
    const before = recorder.exchanges.length;
    const { code, stdout } = await new Deno.Command(program, {
      args,
      cwd: project,
      clearEnv: true,
      env: {
        HOME: home,
        TMPDIR: home,
        PATH: "/usr/local/bin:/usr/bin:/bin",
        GATEWAY_KEY: KEY,
        HTTP_PROXY: NOWHERE,
        HTTPS_PROXY: NOWHERE,
        NO_PROXY: "127.0.0.1",
        ...env,
      },
      stdin: "null",
      signal: AbortSignal.timeout(RUN_MS),
    }).output();
    const text = new TextDecoder().decode(stdout);
    const lines = text.split("\n").filter((line) => line.startsWith("{") && line.endsWith("}"))
      .map((line): JsonObject => JSON.parse(line));
    return { code, text, lines, exchanges: recorder.exchanges.slice(before) };
  };
  // What the scripts have it run is harmless, and its own sandbox needs a system that allows one.
  const exec = (args: string[], env?: Record<string, string>) =>
    codex(
      ["exec", "--json", "--strict-config", "--skip-git-repo-check", "--sandbox", "danger-full-access", ...args],
      env,
    );

  try {
    await use({ app, sent, project, baseUrl, codex, exec });
  } finally {
    app.abort();
    await recorder.stop();
    await Deno.remove(home, { recursive: true });
  }
}

/** What the person wrote into Codex's settings: it tries once more where by default it tries five times. */
function settings(baseUrl: string): string {
  return `
model_provider = "gateway"
web_search = "disabled"

[model_providers.gateway]
name = "Gateway"
base_url = "${baseUrl}"
env_key = "GATEWAY_KEY"
wire_api = "responses"
request_max_retries = 0
stream_max_retries = 1
`;
}

/** The setting that has Codex ask the gateway what its models are like. */
export function liveCatalog(baseUrl: string): string[] {
  return ["--config", `model_providers.gateway.model_catalog_url="${baseUrl}/models"`];
}
