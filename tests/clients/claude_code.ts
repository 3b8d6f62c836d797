/** Runs Claude Code in an empty environment, in a home of its own, with no way out but to a gateway on loopback. */
import type { JsonObject } from "../../src/canonical/json.ts";
import { type ConfigInput, ENV, newApp, type TestApp } from "../support/app.ts";
import { type Exchange, record } from "./recorder.ts";

/** What a run left behind. */
export interface Run {
  code: number;
  /** Standard output as it is, and the JSON objects among its lines. */
  text: string;
  lines: JsonObject[];
  /** What the run tells at its end: `result`, `is_error`, `usage`, `terminal_reason` and more. */
  result: JsonObject;
  /** What the gateway was asked in this run. */
  exchanges: Exchange[];
}

export interface Person {
  app: Served;
  /** What the gateway's upstreams were sent. */
  sent: JsonObject[];
  /** The folder that Claude Code takes for the user's home. */
  home: string;
  /** Runs `claude -p` with these arguments; `env` is all that its environment holds beside the address and the home. */
  run(args: string[], env?: Record<string, string>): Promise<Run>;
}

/** A gateway, and what of it the tests look at. */
export type Served = Pick<TestApp, "fetch" | "logs" | "abort">;

/** Starts a gateway whose upstreams are called by `fetch`. */
export type Start = (config: ConfigInput, fetch: (request: Request) => Promise<Response>) => Served | Promise<Served>;

/** In this process. */
const startHere: Start = (config, fetch) =>
  newApp({ config, now: Date.now, fetch: (url, init) => fetch(new Request(url, init)) });

export const KEY = ENV.TEAM_KEY!;

const RUN_MS = 180_000;
/** Nothing listens there. */
const NOWHERE = "http://127.0.0.1:9";

/**
 * Calls `use` with a gateway and a person who has Claude Code and never used it, and clears both away. `script` answers the
 * calls to the host `scripted.test`, which are counted from 0.
 */
export async function withClaudeCode(
  program: string,
  config: ConfigInput,
  use: (person: Person) => Promise<void>,
  script?: (call: number, body: JsonObject) => Response,
  start = startHere,
): Promise<void> {
  const sent: JsonObject[] = [];
  const app = await start(
    { ...config, keys: [{ name: "team", secret: { env: "TEAM_KEY" } }] },
    async (request) => {
      const body: JsonObject = JSON.parse(await request.clone().text());
      const call = sent.push(body) - 1;
      return script && new URL(request.url).hostname === "scripted.test" ? script(call, body) : fetch(request);
    },
  );
  const recorder = record(app);
  const home = await Deno.makeTempDir({ prefix: "laneway-claude-code-" });
  const folder = `${home}/project`;
  await Deno.mkdir(folder);

  const run = async (args: string[], env: Record<string, string> = { ANTHROPIC_API_KEY: KEY }): Promise<Run> => {
    const before = recorder.exchanges.length;
    const { code, stdout } = await new Deno.Command(program, {
      args: ["-p", ...args],
      cwd: folder,
      clearEnv: true,
      env: {
        HOME: home,
        TMPDIR: home,
        PATH: "/usr/local/bin:/usr/bin:/bin",
        ANTHROPIC_BASE_URL: `${recorder.url}/oss`,
        HTTP_PROXY: NOWHERE,
        HTTPS_PROXY: NOWHERE,
        NO_PROXY: "127.0.0.1",
        CLAUDE_CODE_MAX_RETRIES: "1",
        // It would tell the model of a repository in any folder above.
        CLAUDE_CODE_DISABLE_GIT_INSTRUCTIONS: "1",
        ...env,
      },
      stdin: "null",
      signal: AbortSignal.timeout(RUN_MS),
    }).output();
    const text = new TextDecoder().decode(stdout);
    const lines = text.split("\n").filter((line) => line.startsWith("{")).map((line): JsonObject => JSON.parse(line));
    const result = lines.findLast(({ type }) => type === "result") ?? {};
    return { code, text, lines, result, exchanges: recorder.exchanges.slice(before) };
  };

  try {
    await use({ app, sent, home, run });
  } finally {
    app.abort();
    await recorder.stop();
    await Deno.remove(home, { recursive: true });
  }
}
