/** The sandbox of the gateway on Node: the deeds of a dependency that was taken over, and what a version says of its limits. */
import { assert, assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { DatabaseSync } from "node:sqlite";
import { withFolder } from "../support/process.ts";
import { install, NODE, NODE_NEWEST } from "./install.ts";
import { withNodeGateway, withProgram } from "./node_gateway.ts";
import { malice, OPEN } from "./node_malice.ts";

for (const spec of [NODE, NODE_NEWEST]) {
  const installed = await install(spec, "node");
  Deno.test({
    name: `${spec}: a dependency that was taken over reaches no file, variable, program or thread, and all is served${
      "reason" in installed ? ` (skipped: ${installed.reason})` : ""
    }`,
    ignore: "reason" in installed,
    async fn() {
      if ("reason" in installed) return;
      await withProgram((program) => withFolder((folder) => attack(installed.program, { program, folder })));
    },
  });
}

async function attack(node: string, { program, folder }: { program: string; folder: string }): Promise<void> {
  const outside = Deno.serve({ hostname: "127.0.0.1", port: 0, onListen() {} }, () => new Response("export default 1"));
  const socket = Deno.serve({ path: `${folder}/socket`, onListen() {} }, () => new Response());
  try {
    await furnish(folder);
    const entry = `${program}/node_modules/eventsource-parser/dist/index.js`;
    const honest = await Deno.readTextFile(entry);
    await Deno.writeTextFile(entry, `${honest}\n${malice({ program, folder, port: outside.addr.port })}`);
    const config = { extends: "default" as const, store: { path: `${folder}/kept/store.sqlite3` } };
    await withNodeGateway(node, program, config, async ({ url, said }) => {
      const [, report] = /DONE (.*);/.exec(said()) ?? [];
      const { tried, done } = JSON.parse(report!);
      assertEquals(done, OPEN);
      assert(tried >= 80, `${tried} deeds were tried`);
      assertMatch(said(), /Sandbox: files, programs and variables\. Node \d+ cannot confine which hosts are called/);
      const headers = { "content-type": "application/json" };
      const body = JSON.stringify({ model: "sandbox", input: "Hello" });
      const answer = await (await fetch(`${url}/oss/v1/responses`, { method: "POST", headers, body })).json();
      assertEquals((await (await fetch(`${url}/oss/v1/responses/${answer.id}`)).json()).status, "completed");
    }, { env: { OTHER_SECRET: "x" } });
    assertEquals([...Deno.readDirSync(`${folder}/home`)].map(({ name }) => name).sort(), HOME);
    assertEquals([...Deno.readDirSync(folder)].map(({ name }) => name).sort(), ["home", "kept", "socket"]);
  } finally {
    await Promise.all([outside.shutdown(), socket.shutdown()]);
  }
}

const HOME = ["library.node", "secret", "secret.db", "secret.js", "secret.json"];

async function furnish(folder: string): Promise<void> {
  await Deno.mkdir(`${folder}/home`);
  await Deno.mkdir(`${folder}/kept`);
  for (const name of HOME.filter((name) => name !== "secret.db")) {
    await Deno.writeTextFile(`${folder}/home/${name}`, name.endsWith(".json") ? "{}" : "0");
  }
  const database = new DatabaseSync(`${folder}/home/secret.db`);
  database.exec("CREATE TABLE secrets (one TEXT); INSERT INTO secrets VALUES ('x')");
  database.close();
}

const installed = await install(NODE, "node");

Deno.test({
  name:
    `node: started by hand with the options that permissions --node prints, it is as confined, and otherwise it says so${
      "reason" in installed ? ` (skipped: ${installed.reason})` : ""
    }`,
  ignore: "reason" in installed,
  async fn() {
    if ("reason" in installed) return;
    const { program: node } = installed;
    await withProgram(async (folder) => {
      const config = { extends: "default" as const, store: { path: `${folder}/kept/store.sqlite3` } };
      const file = `${folder}/gateway.json`;
      await Deno.writeTextFile(file, JSON.stringify(config));
      const args = ["src/node.ts", "permissions", "--node", "--json", "--config", file];
      const printed = await new Deno.Command(node, { args, cwd: folder, stdin: "null" }).output();
      const { options } = JSON.parse(new TextDecoder().decode(printed.stdout));
      assertEquals(options[0], "--permission");
      assertEquals(options.filter((one: string) => one.startsWith("--allow-fs-write=")), [
        `--allow-fs-write=${folder}/kept`,
        `--allow-fs-write=${folder}/kept/*`,
      ]);
      const [direct, plain] = [{ direct: true, options }, { direct: true }];
      // The file's name is not known before.
      direct.options = [...options, `--allow-fs-read=${folder}/*`];
      await withNodeGateway(node, folder, config, ({ said }) => {
        assertStringIncludes(said(), "Sandbox: files, programs and variables.");
        return Promise.resolve();
      }, direct);
      await withNodeGateway(node, folder, config, ({ said }) => {
        assertStringIncludes(said(), "Sandbox: none, because this process was started without the launcher");
        return Promise.resolve();
      }, plain);
    });
  },
});
