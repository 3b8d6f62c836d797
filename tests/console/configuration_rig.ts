/** A gateway on a file of its own, which operators change at the console. */
import { type Config, createApp, pluginFacts } from "../../src/app.ts";
import { createConfigDesk } from "../../src/cli/config_desk.ts";
import { loadConfig } from "../../src/config/load.ts";
import { createAudit } from "../../src/observe/audit.ts";
import type { Permission } from "../../src/platform/platform.ts";
import { ENV } from "../support/app.ts";

export const OPS = ENV.TEAM_KEY!;
export const FIRST = `{
  "console": { "edit": true },
  "keys": [{ "name": "ops", "secret": { "env": "TEAM_KEY" }, "operator": true }],
  "upstreams": { "fake": { "driver": "chat", "baseUrl": "http://upstream.test/v1", "headers": { "x-key": "hidden-from-all" } } },
  "lanes": { "oss": { "upstreams": { "chat": "fake" } } },
  "store": { "kind": "memory" },
  "retry": { "rounds": 2 }
}\n`;

export interface Rig extends AsyncDisposable {
  file: string;
  audit: string;
  /** What the console answers; `body` is posted. */
  ask(path: string, body?: object, headers?: HeadersInit, peer?: Deno.NetAddr): Promise<Response>;
  running(): Config;
}

/** A gateway as the program serves, on a file of its own. `isGranted`: what the process may do. */
export async function newRig(
  { text = FIRST, isGranted = () => true, mayServe = () => {} }: {
    text?: string;
    isGranted?(one: Permission): boolean;
    mayServe?(config: Config): void;
  } = {},
): Promise<Rig> {
  const folder = await Deno.makeTempDir();
  const [file, auditFile] = [`${folder}/gateway.json`, `${folder}/audit`];
  await Deno.writeTextFile(file, text, { mode: 0o640 });
  await Deno.chmod(file, 0o640);
  const load = (_: unknown, readText?: (path: string) => string) =>
    loadConfig({ path: file, ...pluginFacts(), env: (name) => ENV[name], readText });
  const audit = createAudit(auditFile, { say() {}, now: () => 0 });
  let config = load(undefined).config;
  const desk = createConfigDesk({
    file,
    source: `"${file}"`,
    load,
    platform: { env: (name) => ENV[name], os: "linux", isGranted },
    running: {
      app: () => ({ audit }),
      config: () => config,
      reload(_, by) {
        const next = load(undefined).config;
        mayServe(next);
        config = next;
        audit.write({ event: "configuration changed", paths: [], by });
      },
    },
  });
  const app = createApp({ config, env: (name) => ENV[name], configuration: () => Promise.resolve(desk), log() {} });
  return {
    file,
    audit: auditFile,
    running: () => config,
    ask: (path, body, headers = { "x-api-key": OPS, "content-type": "application/json" }, peer) =>
      app.fetch(
        new Request(`http://gateway/console/api/configuration${path}`, {
          headers,
          ...(body && { method: "POST", body: JSON.stringify(body) }),
        }),
        peer && { remoteAddr: peer },
      ),
    async [Symbol.asyncDispose]() {
      await audit.flush(1_000);
      await app.close();
      await Deno.remove(folder, { recursive: true });
    },
  };
}

export const shown = async ({ ask }: Rig) => await (await ask("")).json();
export const checked = async ({ ask }: Rig, text: string) => await (await ask("/check", { text })).json();
export const applied = async ({ ask }: Rig, order: object) => await (await ask("/apply", order)).json();
