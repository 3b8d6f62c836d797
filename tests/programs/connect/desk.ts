/** A user's machine, with a client that is a script, and a gateway that answers. */
import { connect } from "../../../src/programs/connect/mod.ts";
import { deno } from "../../../src/platform/deno.ts";
import { type ConfigInput, newApp } from "../../support/app.ts";

export const KEY = "a-key-of-this-test-4711";
export const LANE: ConfigInput = {
  upstreams: { sandbox: { driver: "sandbox" }, silent: { driver: "chat", baseUrl: "http://silent.test/v1" } },
  lanes: {
    oss: {
      models: {
        small: {
          task: "chat",
          targets: [{ upstream: "sandbox", model: "sandbox" }],
          contextLength: 64_000,
          inputModalities: ["text"],
        },
        large: { task: "chat", targets: [{ upstream: "sandbox", model: "sandbox" }] },
        silent: { task: "chat", targets: [{ upstream: "silent", model: "org/model" }] },
        vectors: { task: "embedding", targets: [{ upstream: "sandbox", model: "sandbox-embedding" }] },
      },
    },
  },
};
export const WITH_KEYS: ConfigInput = { ...LANE, keys: [{ name: "team", secret: { env: "TEAM_KEY" } }] };

/** A client that reads its settings, lets the model call a tool, and sends back the result. */
const CLIENT = `
const settings = JSON.parse(Deno.readTextFileSync(Deno.env.get("HOME") + "/.claude/settings.json"));
const { ANTHROPIC_BASE_URL: url, ANTHROPIC_AUTH_TOKEN: token } = settings.env;
const key = token ?? Deno.env.get(settings.apiKeyHelper.replace("printenv ", ""));
const tools = [{ name: "list_files", input_schema: { type: "object", properties: { path: { type: "string" } } } }];
const messages = [{ role: "user", content: Deno.args[1] }];
for (let round = 0; round < 2; round++) {
  const body = JSON.stringify({ model: settings.model, max_tokens: 100, tools, messages });
  const headers = { authorization: "Bearer " + key, "content-type": "application/json" };
  const response = await fetch(url + "/v1/messages", { method: "POST", headers, body });
  const answer = await response.json();
  if (!response.ok) { console.log(JSON.stringify(answer)); Deno.exit(0); }
  const results = answer.content.filter(({ type }) => type === "tool_use")
    .map(({ id }) => ({ type: "tool_result", tool_use_id: id, content: "README.md" }));
  messages.push({ role: "assistant", content: answer.content }, { role: "user", content: results });
}
Deno.writeTextFileSync(Deno.env.get("HOME") + "/.claude/left-behind.json", "{}");
`;

export interface Desk {
  home: string;
  url: string;
  /** Runs the command; `env` is added to its environment. */
  run(args: string[], options?: RunOptions): Promise<Result>;
  settings: string;
  read(): string | undefined;
}

interface RunOptions {
  env?: Record<string, string>;
  /** What the user answers, question by question. */
  answers?: string[];
  /** Called with each question. */
  onAsk?(question: string): void;
  /** Standard input. */
  input?: string;
  /** In place of the gateway's address. */
  url?: string;
  patienceMs?: number;
  /** Whether standard error is a terminal. */
  isTerminal?: boolean;
}

interface Result {
  code: number;
  text: string;
  /** What a terminal was written, besides the lines. */
  progress: string;
}

export async function withDesk(config: ConfigInput, use: (desk: Desk) => Promise<void>): Promise<void> {
  const app = newApp({ config, env: { TEAM_KEY: KEY } });
  const server = Deno.serve(
    { hostname: "127.0.0.1", port: 0, onListen() {} },
    (request, info) => app.fetch(request, info),
  );
  const url = `http://127.0.0.1:${server.addr.port}`;
  const home = await Deno.makeTempDir({ prefix: "laneway-home-" });
  await Deno.mkdir(`${home}/bin`);
  await Deno.writeTextFile(`${home}/client.js`, CLIENT);
  const program = `${home}/bin/claude`;
  const flags = "--no-config --cached-only --allow-read --allow-write --allow-env --allow-net";
  await Deno.writeTextFile(program, `#!/bin/sh\nexec "${Deno.execPath()}" run ${flags} "${home}/client.js" "$@"\n`);
  await Deno.chmod(program, 0o700);
  const settings = `${home}/.claude/settings.json`;
  const read = () => {
    try {
      return Deno.readTextFileSync(settings);
    } catch {
      return undefined;
    }
  };
  const run: Desk["run"] = async (
    args,
    { env = {}, answers = [], onAsk, input = "", url: other = url, patienceMs, isTerminal = false } = {},
  ) => {
    const lines: string[] = [];
    const print = (text: string) => void lines.push(text);
    const variables: Record<string, string> = { HOME: home, PATH: `${home}/bin:/usr/bin:/bin`, ...env };
    let progress = "";
    const platform = {
      ...deno,
      os: "linux",
      args: [],
      env: (name: string) => variables[name],
      isTerminal: () => isTerminal,
      write(_to: string, bytes: Uint8Array) {
        progress += new TextDecoder().decode(bytes);
        return Promise.resolve(bytes.length);
      },
    };
    const streams = { print, say: print, log() {}, warn() {}, flush: () => Promise.resolve() };
    const ask = (question: string) => {
      onAsk?.(question);
      return answers.shift();
    };
    const asking = { ask, readAll: () => input };
    const code = await connect([...args, "--url", other], { platform, plugins: {}, streams }, asking, patienceMs);
    return { code, text: lines.join("\n"), progress };
  };
  try {
    await use({ home, url, run, settings, read });
  } finally {
    await server.shutdown();
    await app.close();
    await Deno.remove(home, { recursive: true });
  }
}

export function filesBelow(folder: string): string[] {
  return [...Deno.readDirSync(folder)].flatMap(({ name, isDirectory }) =>
    isDirectory ? filesBelow(`${folder}/${name}`) : [`${folder}/${name}`]
  ).sort();
}
