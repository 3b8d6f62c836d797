/** The tutorial, from its first command to its last: one gateway after the other, with the files and variables of the page. */
import { assert, assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { dirname } from "node:path";
import { answerWhole } from "../support/chat.ts";
import { withFolder, withLaunched } from "../support/process.ts";
import { treatmentOf } from "./commands.ts";
import { type Block, blocksOf, commandsOf, readDocument, ROOT } from "./documents.ts";

const PAGE = "docs/tutorial.md";
const blocks = blocksOf({ path: PAGE, text: readDocument(PAGE) });

/** Whether another test runs the command, or none can: it starts a gateway, or changes the machine. */
function isLeftOut(command: string): boolean {
  const treatment = treatmentOf(command);
  if (treatment?.how === "not") return true;
  return treatment?.how === "by" && treatment.test !== "tests/docs/tutorial_test.ts" && !/ usage --by /.test(command);
}

function scriptOf(block: Block): string {
  const commands = commandsOf({ path: PAGE, text: `\`\`\`sh\n${block.code}\`\`\`\n` });
  return commands.filter((command) => !isLeftOut(command)).join("\n");
}

/** A shell whose variables last from one block to the next, as in a terminal. */
async function runIn(folder: string, url: string, script: string): Promise<string> {
  const variables = `${folder}/variables`;
  const text = script.replaceAll("http://127.0.0.1:8000", url).replaceAll("curl ", "curl -fsS ")
    .replaceAll("validate gateway.json", `validate ${folder}/gateway.json`);
  const { success, stdout, stderr } = await new Deno.Command("sh", {
    args: ["-e", "-c", `. ${variables}\n${text}\nexport -p > ${variables}`],
    cwd: ROOT,
    env: {
      PATH: `${dirname(Deno.execPath())}:${Deno.env.get("PATH")}`,
      LANEWAY_CONFIG: `${folder}/gateway.json`,
      NO_COLOR: "1",
      NO_PROXY: "127.0.0.1",
      HF_TOKEN: "",
    },
    stdin: "null",
  }).output();
  const [out, err] = [stdout, stderr].map((bytes) => new TextDecoder().decode(bytes));
  assert(success, `${script}\n${out}${err}`);
  return out!;
}

async function variableOf(folder: string, name: string): Promise<string> {
  const text = await Deno.readTextFile(`${folder}/variables`);
  return new RegExp(`${name}=['"]?([\\w-]+)`).exec(text)?.[1] ?? "";
}

/** The files of the page, in its order; each starts a gateway of its own, for the blocks up to the next one. */
function parts(): { config: string; blocks: Block[] }[] {
  const found: { config: string; blocks: Block[] }[] = [{ config: '{ "extends": "default" }', blocks: [] }];
  for (const block of blocks) {
    if (block.language === "json") found.push({ config: block.code, blocks: [] });
    else if (block.language === "sh") found.at(-1)!.blocks.push(block);
  }
  return found;
}

/** Runs the page, or its first parts, before an Ollama at `ollama`. Returns what each block printed. */
async function walk(folder: string, ollama: string, count = Infinity): Promise<string[]> {
  const printed: string[] = [];
  await Deno.writeTextFile(`${folder}/variables`, "");
  for (const { config, blocks } of parts().slice(0, count)) {
    const value = JSON.parse(config);
    const upstreams = value.upstreams && { upstreams: { ollama: { ...value.upstreams.ollama, baseUrl: ollama } } };
    const store = { path: `${folder}/data/store.sqlite3` };
    await Deno.writeTextFile(`${folder}/gateway.json`, JSON.stringify({ ...value, ...upstreams, store }));
    const env = { OPS_KEY: await variableOf(folder, "OPS_KEY") };
    await withLaunched([], { cwd: folder, env }, async ({ url }) => {
      for (const script of blocks.map(scriptOf)) {
        if (script !== "") printed.push(await runIn(folder, url, script));
      }
    });
  }
  return printed;
}

Deno.test("tutorial: every step works before a local server, and the team's budget counts", () =>
  withFolder(async (folder) => {
    const models: string[] = [];
    const server = Deno.serve({ hostname: "127.0.0.1", port: 0, onListen() {} }, async (request) => {
      models.push((await request.json()).model);
      return answerWhole("Hello from Ollama");
    });
    try {
      const printed = (await walk(folder, `http://127.0.0.1:${server.addr.port}/v1`)).join("\n");
      assertStringIncludes(printed, "Hello from Ollama");
      assertMatch(printed, /x-laneway-target: ollama\/qwen3-coder:30b/i);
      assertMatch(printed, /"budget":"team:research"[^}]*"spent":"0\.000016"/);
      assertMatch(printed, /^anna +1 +5 +1 +0\.000016$/m);
      assertMatch(printed, /^anna .*4\.999984 of 5 dollars left .*team research: 199\.999984 of 200/m);
      assertMatch(printed, /Revoked key "anna"/);
      assertEquals(new Set(models), new Set(["qwen3-coder:30b"]));
      assertEquals((await variableOf(folder, "ANNA_KEY")).slice(0, 8), "laneway_");
    } finally {
      await server.shutdown();
    }
  }));

Deno.test("tutorial: without a local server the sandbox answers", () =>
  withFolder(async (folder) => {
    // Nobody listens on a port that was just closed.
    const free = Deno.listen({ hostname: "127.0.0.1", port: 0 });
    const { port } = free.addr;
    free.close();
    const printed = (await walk(folder, `http://127.0.0.1:${port}/v1`, 2)).join("\n");
    assertMatch(printed, /x-laneway-target: sandbox\/sandbox; attempts=/i);
  }));
