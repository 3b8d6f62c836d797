/**
 * opencode itself in front of the gateway, by each of the packages with which it can speak to one: what it sends, what it is
 * sent, and what it makes of it. Needs npm, which installs it.
 */
import { assertEquals, assertStringIncludes } from "@std/assert";
import { isJsonObject, type JsonObject } from "../../src/canonical/json.ts";
import type { ConfigInput } from "../support/app.ts";
import { answerStream, ENDING, word } from "../support/chat.ts";
import { install, OPENCODE } from "./install.ts";
import { KEY, type Package, PACKAGES, type Person, type Run, withOpencode } from "./opencode.ts";

const installed = await install(OPENCODE, "opencode");

const CONFIG: ConfigInput = {
  upstreams: { scripted: { driver: "chat", baseUrl: "http://scripted.test/v1" } },
  lanes: {
    oss: { models: { "deepseek-v4": { task: "chat", targets: [{ upstream: "scripted", model: "DeepSeek-V4" }] } } },
  },
};
const MODEL = ["--model", "gw/deepseek-v4"];

type Script = (asked: number, body: JsonObject) => Response;

/** For each package; `script` answers what is asked with tools, counted from 0, and titles have an answer of their own. */
function test(name: string, script: Script, use: (person: Person, npm: Package) => Promise<void>): void {
  for (const npm of Object.keys(PACKAGES) as Package[]) {
    const full = `opencode by ${npm}: ${name}`;
    if ("reason" in installed) {
      Deno.test({ name: `${full} (skipped: ${installed.reason})`, ignore: true, fn() {} });
      continue;
    }
    let asked = 0;
    const answer: Script = (_, body) =>
      isTitle(body) ? answerStream([word("A fine title"), ENDING]) : script(asked++, body);
    Deno.test(full, () => withOpencode(installed.program, npm, CONFIG, answer, (person) => use(person, npm)));
  }
}

const answers: Script = () => answerStream([word("An "), word("answer."), ENDING]);

test("a prompt is answered, and the session has its title", answers, async ({ sent, run, opencode }, npm) => {
  const done = await run([...MODEL, "Hello"]);
  assertEquals([done.code, saidIn(done)], [0, ["An answer."]]);
  assertEquals(done.exchanges.map(({ method, path, status }) => [method, path, status]), [
    ["POST", PACKAGES[npm], 200],
    ["POST", PACKAGES[npm], 200],
  ]);
  const [header, value] = npm === "@ai-sdk/anthropic"
    ? ["x-api-key", KEY] as const
    : ["authorization", `Bearer ${KEY}`] as const;
  assertEquals(done.exchanges.map(({ headers }) => headers.get(header)), [value, value]);
  assertEquals(sent.map((body) => [body.model, body.stream]), [["DeepSeek-V4", true], ["DeepSeek-V4", true]]);
  assertEquals(sent.filter(isTitle).length, 1);

  const { text } = await opencode(["session", "list", "--format", "json"]);
  const sessions: JsonObject[] = JSON.parse(text);
  assertEquals(sessions.map(({ title }) => title), ["A fine title"]);
});

const TOO_LONG = "This model's maximum context length is 4096 tokens. However, your messages resulted in 5000 tokens.";
const forgets: Script = (asked) =>
  asked === 0
    ? Response.json({ error: { message: TOO_LONG, code: "context_length_exceeded" } }, { status: 400 })
    : answerStream([word("Shorter."), ENDING]);

test("a prompt that is too long for the model is known as one, and summed up", forgets, async ({ run }) => {
  const done = await run([...MODEL, "A long story. ".repeat(2_000)]);
  const [failure] = done.lines.filter(({ type }) => type === "error");
  assertEquals(isJsonObject(failure?.error) && failure.error.name, "ContextOverflowError");
  assertEquals(done.exchanges.filter(({ status }) => status !== 200).map(({ status }) => status), [400]);
  assertEquals(saidIn(done).at(-1), "Shorter.");
});

const breaks: Script = (asked, body) => asked === 0 ? answerStream([word("one")]) : answers(asked, body);

test("a stream that breaks is no answer", breaks, async ({ run }, npm) => {
  const done = await run([...MODEL, "Hello"]);
  const main = done.exchanges.filter(({ body }) => body.tools);
  if (npm === "@ai-sdk/anthropic") {
    // It takes no failure of this protocol for one that passes, and says what happened.
    assertEquals([done.code, main.length], [1, 1]);
    assertStringIncludes(done.text, "The upstream's answer ended before it was complete");
  } else assertEquals([done.code, main.length, saidIn(done)], [0, 2, ["An answer."]]);
});

test(
  "an unknown model: it says so and does not try again",
  () => Response.json({ error: { message: "The model `x` does not exist", code: "model_not_found" } }, { status: 404 }),
  async ({ run }) => {
    const done = await run([...MODEL, "Hello"]);
    assertEquals([done.code, done.exchanges.filter(({ body }) => body.tools).length], [1, 1]);
    assertStringIncludes(done.text, "does not exist");
  },
);

function isTitle({ tools }: JsonObject): boolean {
  return tools === undefined;
}

/** What opencode showed of the answer. */
function saidIn({ lines }: Run): unknown[] {
  return lines.filter(({ type }) => type === "text").map(({ part }) => isJsonObject(part) && part.text);
}
