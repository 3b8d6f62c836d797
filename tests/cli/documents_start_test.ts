/** A gateway that shall read documents, and is started without the process that does: it says so at the start. */
import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { startInterpreter } from "../../src/cli/interpreter_process.ts";
import { lacksInterpreter, lacksReader, linesOfLacking } from "../../src/compose/hosted.ts";
import { FETCHER_URL, INTERPRETER_URL } from "../../src/config/permissions.ts";
import { CONFIG, type ConfigInput, parseConfiguration } from "../support/app.ts";
import { GATEWAY_ENV } from "../support/gateway_process.ts";
import { withFolder } from "../support/process.ts";
import { until, within } from "../support/wait.ts";

const ROOT = new URL("../../", import.meta.url);
const STARTS: [name: string, args: (config: string) => string[], env: Record<string, string>][] = [
  ["the program without its launcher", (config) => ["run", "src/main.ts", "--config", config, "--port", "0"], {}],
  ["Deno Deploy", () => ["serve", "--host", "127.0.0.1", "--port", "0", "src/app.ts"], { DENO_DEPLOY: "1" }],
];

/** All that the program says until it says `text`, or for good. */
async function saidBy([, args, more]: typeof STARTS[number], config: object, text: string) {
  let said = "";
  await withFolder(async (folder) => {
    const file = `${folder}/gateway.json`;
    await Deno.writeTextFile(file, JSON.stringify({ extends: "default", store: { kind: "memory" }, ...config }));
    const [command, ...rest] = args(file);
    const child = new Deno.Command(Deno.execPath(), {
      args: [command!, "--allow-all", "--no-check", ...rest],
      cwd: ROOT,
      env: { ...GATEWAY_ENV, ...more, LANEWAY_CONFIG: file, XDG_DATA_HOME: folder },
      stdin: "null",
      stdout: "null",
      stderr: "piped",
    }).spawn();
    let hasEnded = false;
    const reading = (async () => {
      for await (const piece of child.stderr.pipeThrough(new TextDecoderStream())) said += piece;
      hasEnded = true;
    })();
    try {
      await until(() => said.includes(text) || hasEnded);
      assert(!hasEnded, said);
    } finally {
      if (!hasEnded) child.kill("SIGKILL");
      await within(Promise.all([child.status, reading]));
    }
  });
  return said;
}

const LINE = "Documents: PDFs and office documents get 400, and other files are text, because no fetcher runs beside";

for (const start of STARTS) {
  Deno.test(`documents: without a fetcher the start says that PDFs get 400 · ${start[0]}`, async () => {
    const said = await saidBy(start, { documents: {} }, "Documents:");
    assertStringIncludes(said, LINE);
  });
}

Deno.test("documents and code: without the launcher, the start says what does not run", async () => {
  const said = await saidBy(STARTS[0]!, { documents: {}, hostedTools: { codeExecution: {} } }, "Code execution");
  assertStringIncludes(said, LINE);
  assertStringIncludes(said, "Code execution is off, because no interpreter runs beside the gateway");
});

Deno.test("code: where the launcher has said why it is off, the gateway says nothing more, and the doctor still warns", async () => {
  const config = { hostedTools: { codeExecution: {} } };
  const said: string[] = [];
  const world = { env: () => undefined, readJson: () => undefined, say: (text: string) => void said.push(text) };
  const beside = await startInterpreter(config, world);
  assertEquals(said.length, 1);
  assertStringIncludes(said[0]!, "Code execution is off: this program does not include the interpreter");
  const parsed = parseConfiguration({ ...CONFIG, ...config });
  assertEquals(linesOfLacking(parsed, (name) => name === INTERPRETER_URL ? beside?.url : undefined), []);
  assertEquals(lacksInterpreter(parsed, (name) => name === INTERPRETER_URL ? beside?.url : undefined), true);
  assertEquals(linesOfLacking(parsed, () => undefined).length, 1);
});

Deno.test("documents: nothing is said where a fetcher is named, was started, or nothing shall be read", () => {
  const named = { webFetch: { url: "https://fetcher.test", secret: { env: "TEAM_KEY" } } };
  const lacks = (more: Partial<ConfigInput>, env: Record<string, string> = {}) =>
    lacksReader(parseConfiguration({ ...CONFIG, ...more }), (name) => env[name]);
  assertEquals(lacks({ documents: {} }), true);
  assertEquals(lacks({ documents: {}, hostedTools: named }), false);
  assertEquals(lacks({ documents: {} }, { [FETCHER_URL]: "http://127.0.0.1:9" }), false);
  assertEquals(lacks({}), false);
});
