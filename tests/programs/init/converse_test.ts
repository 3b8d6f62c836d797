/** The questions of `init`, answered by lines: wrong input at each step, steps that are repeated, and a second run. */
import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { deno } from "../../../src/platform/deno.ts";
import { numberDialog } from "../../../src/programs/dialog/numbers.ts";
import { init } from "../../../src/programs/init/mod.ts";
import { serve } from "../../plugins/providers/services.ts";
import { withFolder } from "../../support/process.ts";
import { load } from "./facts.ts";

const KEY = "a-key-of-the-user-123";

/** A line of input, or what happens in the meantime before the next one. */
type Line = string | (() => void);

/** Answers the questions one after another. Returns the exit code, and everything that was shown. */
async function answer(folder: string, lines: Line[], env: Record<string, string> = {}) {
  const shown: string[] = [];
  const print = (text: string) => void shown.push(text);
  const read = () => {
    let line = lines.shift();
    while (typeof line === "function") {
      line();
      line = lines.shift();
    }
    return Promise.resolve(line);
  };
  const readHidden = (text: string) => {
    print(text);
    return read();
  };
  const dialog = numberDialog({ read, readHidden, print, prompt: print });
  const { fetch } = serve("groq", "chat", KEY);
  const variables: Record<string, string> = { HOME: folder, PATH: "", ...env };
  const platform = { ...deno, os: "linux", fetch, env: (name: string) => variables[name], isTerminal: () => false };
  const streams = { print, say: print, log() {}, warn() {}, flush: () => Promise.resolve() };
  const world = { ask: () => undefined, readAll: () => "", addresses: [], dialog };
  const code = await init([], `${folder}/gateway.json`, { platform, plugins: {}, streams }, world);
  return { code, text: shown.join("\n"), left: lines.length };
}

const read = (folder: string) => load(Deno.readTextFileSync(`${folder}/gateway.json`));

Deno.test("init: a provider is added after a wrong key, other names, and a second look at the default", () =>
  withFolder(async (folder) => {
    const { code, text, left } = await answer(folder, [
      ...["provider", "groq", "", "two words", "the-wrong-key-9", "key", KEY, "n"], // sources
      ...["its-own-model", "n", "fast", "none"], // models, their names, the default
      ...["default", "fast", "write"], // the review
    ]);
    assertEquals([code, left], [0, 0], text);
    for (
      const words of [
        "Enter the key; Enter alone leaves this source out",
        "Expected one line without spaces",
        "groq: It refuses the secret (status 401)",
        "groq: it works and has 1 model",
        "Clients will call them its-own-model",
        "Start the gateway:",
      ]
    ) assertStringIncludes(text, words);
    assert(!text.includes(KEY) && !text.includes("the-wrong-key"), text);
    const { lanes } = read(folder);
    const targets = [{ upstream: "groq", model: "its-own-model" }];
    assertEquals([lanes.oss!.models.fast!.targets, lanes.oss!.models["*"]!.targets], [targets, targets]);
    assertEquals(Deno.readTextFileSync(`${folder}/gateway.groq.secret`), `${KEY}\n`);
  }));

Deno.test("init: a server that is down, a wrong address and a folder that cannot be written are each mended on the way", () =>
  withFolder(async (folder) => {
    const blocked = `${folder}/gateway.json`;
    const { code, text, left } = await answer(folder, [
      ...["server", "nonsense", "https://down.test/v1", "again", "skip"],
      ...["provider", "groq", "y", ""],
      ...["1", "", ""],
      () => Deno.writeTextFileSync(blocked, '{ "extends": "default" }', { mode: 0o444 }),
      "write",
      () => Deno.chmodSync(blocked, 0o644),
      ...["again", "write", "write"],
    ], { GROQ_API_KEY: KEY });
    assertEquals([code, left], [0, 0], text);
    for (
      const words of [
        "Expected an http or https address",
        "https://down.test/v1: The connection to down.test was lost",
        "Use the key in the variable GROQ_API_KEY?",
        "gateway.json is read-only",
        "What now?",
      ]
    ) assertStringIncludes(text, words);
    assertEquals(read(folder).upstreams.groq!.secret, { env: "GROQ_API_KEY" });
  }));

Deno.test("init: a second run adds to what is there", () =>
  withFolder(async (folder) => {
    assertEquals((await answer(folder, ["sandbox", "n", "none", "write"])).code, 0);
    const path = `${folder}/gateway.json`;
    Deno.writeTextFileSync(path, `// mine\n${Deno.readTextFileSync(path)}`);
    const second = await answer(folder, ["provider", "groq", KEY, "n", "1", "", "1", "write"]);
    assertEquals(second.code, 0, second.text);
    assertStringIncludes(second.text, "is there already: your answers add to it");
    assert(Deno.readTextFileSync(path).startsWith("// mine\n"));
    const third = await answer(folder, ["provider", "groq", KEY, "n", "1", "", "1"]);
    assertEquals([third.code, third.left], [0, 0], third.text);
    assertStringIncludes(third.text, "There is nothing to change");
    Deno.writeTextFileSync(path, "{ broken");
    const broken = await answer(folder, []);
    assertEquals(broken.code, 1);
    assertStringIncludes(broken.text, "The file that is there is not valid: line 1");
  }));

Deno.test("init: tokens that end within the hour come from a file that another program renews", () =>
  withFolder(async (folder) => {
    const url = "https://eu-aiplatform.googleapis.com/v1/projects/p/locations/eu/endpoints/openapi";
    const { code, text } = await answer(folder, [
      "provider",
      "vertex",
      url,
      "n",
      "google/gemini-2.5-flash",
      "",
      "1",
      "write",
    ]);
    assertEquals(code, 0, text);
    assertStringIncludes(text, "another program has to keep a valid one in /run/secrets/vertex");
    assertEquals(read(folder).upstreams.vertex!.secret, { file: "/run/secrets/vertex" });
  }));
