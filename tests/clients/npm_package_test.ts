/** The package for npm, installed into an empty folder with an empty home, on Node without Deno. */
import { assert, assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { buildNpmPackage } from "../../src/cli/release/npm.ts";
import { CREATE } from "../sockets/websocket_frames.ts";
import { RawWebSocket } from "../sockets/raw_websocket.ts";
import { withFolder } from "../support/process.ts";
import { needs } from "../support/programs.ts";
import { serving } from "../support/serving.ts";
import { within } from "../support/wait.ts";
import { install, NODE, registryVariables } from "./install.ts";

const installed = await install(NODE, "node");
const reason = "reason" in installed ? ` (skipped: ${installed.reason})` : "";

const TYPED = `
import { createApp, type Config } from "laneway";
import { node, run } from "laneway/node";
import type { Driver } from "laneway/plugin";
export const start = (driver: Driver) => run({ platform: node, plugins: { drivers: [driver] } });
export const app = (config: Config) => createApp({ config, env: () => undefined });
`;

/** Longer than any of the programs takes. npm would ask a registry that does not answer for half an hour. */
const LONGEST_MS = 180_000;

interface Installed {
  folder: string;
  /** Runs a program of the folder to its end. */
  run(program: string, ...args: string[]): Promise<{ code: number; out: string }>;
  /** Calls `use` with a gateway that the command started. */
  serve(use: (url: string) => Promise<void>): Promise<void>;
}

async function withPackage(node: string, use: (at: Installed) => Promise<void>): Promise<void> {
  await withFolder(async (folder) => {
    const name = await buildNpmPackage(folder);
    const bin = `${folder}/bin`;
    await Deno.mkdir(bin);
    await Deno.symlink(await Deno.realPath(node), `${bin}/node`);
    const env = { HOME: folder, PATH: `${bin}:/usr/bin:/bin` };
    const options = { cwd: folder, clearEnv: true, env, stdin: "null" } satisfies Deno.CommandOptions;
    const npm = { ...options, env: { ...registryVariables(), ...env } };
    const run = (program: string, ...args: string[]) => toEnd(program, { ...options, args });
    const args = ["install", "--no-audit", "--no-fund", `./${name}`, "typescript@7.0.2"];
    const { code, out } = await toEnd("npm", { ...npm, args });
    assertEquals(code, 0, out);
    const serve = (use: (url: string) => Promise<void>) =>
      serving("node_modules/.bin/laneway", { ...options, args: ["start", "--port", "0"] }, use);
    await use({ folder, run, serve });
  });
}

/** Runs a program to its end. One that never ends is killed, and the test shows what it said. */
async function toEnd(program: string, options: Deno.CommandOptions): Promise<{ code: number; out: string }> {
  const signal = AbortSignal.timeout(LONGEST_MS);
  const { code, stdout, stderr } = await new Deno.Command(program, { ...options, signal }).output();
  const out = new TextDecoder().decode(stdout) + new TextDecoder().decode(stderr);
  assert(!signal.aborted, `${program} ${options.args?.join(" ")} never ended. It said: ${out}`);
  return { code, out };
}

Deno.test({
  name: `npm package: it serves, stores, runs commands and has types, without Deno${reason}`,
  ignore: reason !== "",
  async fn(t) {
    if ("reason" in installed) return;
    await withPackage(installed.program, async ({ folder, run, serve }) => {
      const headers = { "content-type": "application/json" };
      const ask = async (url: string, fields: object) => {
        const body = JSON.stringify({ model: "sandbox", input: "Hello", ...fields });
        const signal = AbortSignal.timeout(60_000);
        return await (await fetch(`${url}/oss/v1/responses`, { method: "POST", headers, body, signal })).json();
      };
      let id = "";
      await t.step("a conversation goes on after a restart, and over a WebSocket", async () => {
        await serve(async (url) => id = (await ask(url, {})).id);
        await serve(async (url) => {
          assertEquals((await ask(url, { previous_response_id: id })).status, "completed");
          const client = await within(RawWebSocket.open(Number(new URL(url).port)));
          try {
            await client.send(CREATE);
            assertEquals((await within(client.turn())).at(-1)!.type, "response.completed");
          } finally {
            client.close();
          }
        });
      });
      await t.step("commands speak of the command that was typed", async () => {
        assertEquals((await run("node_modules/.bin/laneway", "--version")).out, "0.1.0\n");
        assertStringIncludes((await run("node_modules/.bin/laneway", "--help")).out, "Usage: npx laneway [options]");
        assertMatch((await run("node_modules/.bin/laneway", "keys", "create", "ada")).out, /^laneway_/);
        const checked = await run("node_modules/.bin/laneway", "doctor", "--lane", "oss", "--model", "sandbox");
        assertStringIncludes(checked.out, 'ok       model "sandbox"');
      });
      await t.step("programs find the types of what they import", async () => {
        await Deno.writeTextFile(`${folder}/typed.mts`, TYPED);
        const options = ["--noEmit", "--strict", "--module", "nodenext", "--target", "esnext", "--types", ""];
        assertEquals(await run("node_modules/.bin/tsc", ...options, "typed.mts"), { code: 0, out: "" });
      });
      await t.step("it holds the program and nothing of its development", async () => {
        const { name, dependencies, devDependencies, private: isPrivate } = JSON.parse(
          await Deno.readTextFile(`${folder}/node_modules/laneway/package.json`),
        );
        assertEquals([name, devDependencies, isPrivate], ["laneway", undefined, undefined]);
        assert(Object.keys(dependencies).length <= 5, JSON.stringify(dependencies));
        const { out } = await run("find", "node_modules/laneway", "-name", "*.ts", "-not", "-name", "*.d.ts");
        assertEquals(out, "");
      });
    });
  },
});

const { ignore, why } = needs("node");

Deno.test(`npm package: an old Node is told which one it takes${why}`, { ignore }, async () => {
  const script = Deno.readTextFileSync(new URL("../../src/cli/release/npm_command.js", import.meta.url));
  const old = script.replace("process.versions.node.split", '"22.1.0".split');
  await withFolder(async (folder) => {
    await Deno.writeTextFile(`${folder}/laneway.mjs`, old);
    const { code, stderr } = await new Deno.Command("node", { args: [`${folder}/laneway.mjs`] }).output();
    assertEquals(code, 1);
    assertMatch(new TextDecoder().decode(stderr), /^Laneway needs Node.js 24.9 or later, and this is /);
  });
});
