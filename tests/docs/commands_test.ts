/** Every command in the documents runs here or in another test; `commands.ts` lists the exceptions and their reasons. */
import { assert, assertEquals, assertMatch } from "@std/assert";
import { dirname } from "node:path";
import { createApp } from "../../src/app.ts";
import { devConfig, devEnv } from "../support/dev_hub.ts";
import { fakeHub } from "../support/fake_hub.ts";
import { serveHub } from "../support/fake_hub/server.ts";
import { RARELY } from "../reliability/scale.ts";
import { withFolder } from "../support/process.ts";
import { within } from "../support/wait.ts";
import { type Treatment, treatmentOf, TREATMENTS } from "./commands.ts";
import { blocksOf, commandsOf, type Document, documents, readDocument, ROOT } from "./documents.ts";

/** Pages whose calls need more than the sandbox behind the gateway: `cookbook_test.ts` and `tutorial_test.ts` run them all. */
const APART = new Set(["docs/cookbook.md", "docs/tutorial.md"]);

function commandsHere(document: Document): string[] {
  if (!APART.has(document.path)) return commandsOf(document);
  const blocks = blocksOf(document).filter(({ code }) => !/\bcurl /.test(code));
  return blocks.flatMap(({ path, language, code }) => commandsOf({ path, text: `\`\`\`${language}\n${code}\`\`\`\n` }));
}

const all = documents().map((document) => ({ path: document.path, commands: commandsHere(document) }));

Deno.test("commands: every command in the documents runs in a test, or has a reason not to", () => {
  const unlisted = all.flatMap(({ path, commands }) =>
    commands.filter((command) => !treatmentOf(command)).map((command) => `${path}: ${command}`)
  );
  assertEquals(unlisted, [], "Add them to tests/docs/commands.ts");
});

Deno.test("commands: every entry is for a command that a document has, and every test that it names is there", () => {
  const commands = all.flatMap(({ commands }) => commands);
  const unused = TREATMENTS.filter(([pattern]) => !commands.some((command) => pattern.test(command)));
  assertEquals(unused.map(([pattern]) => String(pattern)), []);
  for (const [, treatment] of TREATMENTS) if (treatment.how === "by") Deno.statSync(new URL(treatment.test, ROOT));
});

Deno.test("commands: every task that a document names is there, and every task is named", () => {
  const { tasks } = JSON.parse(readDocument("deno.json"));
  const named = documents().flatMap(({ path, text }) =>
    [...text.matchAll(/\b(?:deno|deno@[\d.]+) task (?:-q )?([\w:]+)/g)].map(([, task]) => ({ path, task: task! }))
  );
  assert(named.length > 20);
  assertEquals(named.filter(({ task }) => !Object.hasOwn(tasks, task)), []);
  const missing = Object.keys(tasks).filter((task) => !named.some((one) => one.task === task));
  assertEquals(missing, [], "Tasks that no document names");
});

function obstacle(): string | undefined {
  if (Deno.build.os === "windows") return "they are for a POSIX shell";
  try {
    new Deno.Command("curl", { args: ["--version"], stdout: "null", stderr: "null" }).outputSync();
  } catch {
    return "there is no curl";
  }
}

const missing = obstacle();
// deno-lint-ignore no-console -- whoever runs the tests is to know what they did not test
if (missing !== undefined) console.log(`Not tested: the commands in the documents, because ${missing}`);

/** A configuration with a store of its own, on a port that the system chooses. */
function configIn(folder: string): string {
  const store = { path: `${folder}/data/store.sqlite3` };
  return JSON.stringify({ extends: "default", listen: { port: 0 }, storedKeys: true, store });
}

/** A shell in which `deno` is the Deno that runs the tests, and the gateway's configuration is the folder's. */
function shell(command: string, folder: string, cwd: string | URL): Deno.Command {
  const path = `${dirname(Deno.execPath())}:${Deno.env.get("PATH")}`;
  const env = { PATH: path, LANEWAY_CONFIG: `${folder}/my.json`, HF_TOKEN: "", LANEWAY_KEY: "", NO_COLOR: "1" };
  return new Deno.Command("sh", {
    args: ["-c", command],
    cwd,
    env,
    stdin: "null",
    stdout: "piped",
    stderr: "piped",
    detached: true,
  });
}

async function end(command: string, folder: string, cwd: string | URL, prints = /(?:)/): Promise<void> {
  const { success, stdout, stderr } = await shell(command, folder, cwd).output();
  const [out, err] = [stdout, stderr].map((bytes) => new TextDecoder().decode(bytes));
  assert(success, `${command}\n${out}${err}`);
  assertMatch(`${out}${err}`, prints, command);
}

/** Starts the command, calls the address that it prints, and stops it. */
async function serve(command: string, folder: string): Promise<void> {
  const child = shell(command, folder, ROOT).spawn();
  const address = Promise.withResolvers<string>();
  let text = "";
  const read = async (stream: ReadableStream<Uint8Array<ArrayBuffer>>) => {
    for await (const piece of stream.pipeThrough(new TextDecoderStream())) {
      text += piece;
      const [url] = /http:\/\/[\d.]+:\d+(?=\S*\s)/.exec(text) ?? [];
      if (url !== undefined) address.resolve(url.replace("0.0.0.0", "127.0.0.1"));
    }
  };
  const over = Promise.all([read(child.stdout), read(child.stderr)]);
  over.then(() => address.reject(new Error(`It never served: ${command}\n${text}`)));
  try {
    const response = await fetch(`${await within(address.promise)}/healthz`);
    assertEquals(await response.json(), { status: "ok" }, command);
  } finally {
    killGroup(child.pid);
    await child.status;
    await within(over);
  }
}

/** The shell leads a group of its own, because a task's command is a further process. */
function killGroup(leader: number): void {
  try {
    Deno.kill(-leader, "SIGKILL");
  } catch { /* it has ended */ }
}

/** Calls `use` with the address of a gateway whose hub is a fake. */
async function withGateway(use: (url: string) => Promise<void>): Promise<void> {
  const hub = serveHub(fakeHub());
  const app = createApp({ config: devConfig(hub.origin), env: devEnv, log: () => {} });
  const server = Deno.serve({ hostname: "127.0.0.1", port: 0, onListen: () => {} }, app.fetch);
  try {
    await use(`http://127.0.0.1:${server.addr.port}`);
  } finally {
    await server.shutdown();
    await app.close();
    await hub.stop();
  }
}

async function run(command: string, treatment: Treatment, folder: string): Promise<void> {
  const { how } = treatment;
  if (how === "call") {
    await withGateway(async (url) => {
      const call = command.replace(/^curl /, "curl -fsS ").replace("http://127.0.0.1:8000", url);
      await end(call, folder, folder, treatment.prints);
    });
  } else if (how === "ends") {
    await end(command.replace(/ (my|models)\.json\b/, ` ${folder}/$1.json`), folder, ROOT, treatment.prints);
  } else if (how === "serves") {
    const { options } = treatment;
    const script = / (?=src\/|dev:hub)/;
    const isTask = command.startsWith("deno task");
    const added = options === undefined
      ? command
      : isTask
      ? `${command} ${options}`
      : command.replace(script, ` ${options} `);
    await serve(added, folder);
  }
}

for (const { path, commands } of all) {
  const runs = commands.map((command) => ({ command, treatment: treatmentOf(command) }))
    .filter(({ treatment }) => treatment && ["call", "ends", "serves"].includes(treatment.how));
  // Its commands build on each other, and on the gateways that it starts.
  if (runs.length === 0 || path === "docs/tutorial.md") continue;
  const { ignore, why } = path === "README.md" ? { ignore: false, why: "" } : RARELY;
  Deno.test({
    name: `commands: those in ${path} work${why}`,
    ignore: ignore || missing !== undefined,
    fn: (test) =>
      withFolder(async (folder) => {
        await Deno.writeTextFile(`${folder}/my.json`, configIn(folder));
        // In the order of the page: a later one may use what an earlier one made.
        for (const { command, treatment } of runs) {
          await test.step(command, () => run(command, treatment!, folder));
        }
      }),
  });
}
