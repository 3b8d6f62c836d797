/** The stages of `docs/stages.md` do what the page says, as they stand there. */
import { assertEquals } from "@std/assert";
import { builtIn, createApp, parseConfig } from "../../src/app.ts";
import type { StagePlugin } from "../../src/contract/stage.ts";
import { answerStream, answerWhole, ENDING, word } from "../support/chat.ts";
import { fakeUpstream } from "../support/fake_upstream.ts";
import { withFolder } from "../support/process.ts";
import { blocksOf, readDocument } from "./documents.ts";

const PAGE = "docs/stages.md";
const PIECES = ["Hello <", "<MA", "RK>>wor", "ld<<MARK", ">> and <<MAR"];
const WITHOUT = "Hello world and <<MAR";

/** The stages that the page exports, each as the module that its block is. */
async function stagesOfPage(): Promise<StagePlugin[]> {
  const stages: StagePlugin[] = [];
  await withFolder(async (folder) => {
    const blocks = blocksOf({ path: PAGE, text: readDocument(PAGE) });
    for (const [at, { code }] of blocks.filter(({ code }) => code.includes("StagePlugin<")).entries()) {
      const path = `${folder}/stage_${at}.ts`;
      await Deno.writeTextFile(path, code);
      stages.push(...Object.values(await import(`file://${path}`)) as StagePlugin[]);
    }
  });
  return stages;
}

/** A gateway with the sections of the page. */
function gatewayWith(stages: StagePlugin[]) {
  const plugins = { stages: [...stages, ...builtIn.stages] };
  const upstream = fakeUpstream(({ body }) =>
    JSON.parse(body).stream ? answerStream([...PIECES.map(word), ENDING]) : answerWhole(PIECES.join(""))
  );
  const config = parseConfig({
    upstreams: { fake: { driver: "chat", baseUrl: "http://fake/v1" } },
    lanes: { oss: { models: { sandbox: { task: "chat", targets: [{ upstream: "fake", model: "m" }] } } } },
    store: { kind: "memory" },
    loud: { models: ["sandbox"] },
    unmarked: { marker: "<<MARK>>" },
  }, { plugins });
  return { app: createApp({ config, plugins, fetch: upstream.fetch, log() {} }), upstream };
}

const TURNS: [path: string, body: object][] = [
  ["chat/completions", { messages: [{ role: "user", content: "Hi" }] }],
  ["messages", { messages: [{ role: "user", content: "Hi" }], max_tokens: 50 }],
  ["responses", { input: "Hi", store: false }],
];

/** The text of an answer: of a whole one, or the deltas of a stream. */
function textOf(answer: string): string {
  const values = answer.startsWith("{")
    ? [JSON.parse(answer)]
    : [...answer.matchAll(/^data: (\{.*)$/gm)].map(([, data]) => JSON.parse(data!));
  return values.map((value) =>
    value.choices?.[0]?.message?.content ?? value.choices?.[0]?.delta?.content ??
      value.content?.[0]?.text ?? value.output?.[0]?.content[0].text ??
      (typeof value.delta === "string" ? value.delta : value.delta?.text) ?? ""
  ).join("");
}

Deno.test("stages of the page: one adds its message, the other removes its marker, in every API", async () => {
  const { app, upstream } = gatewayWith(await stagesOfPage());
  for (const [path, body] of TURNS) {
    for (const stream of [false, true]) {
      const request = new Request(`http://gateway/oss/v1/${path}`, {
        method: "POST",
        body: JSON.stringify({ ...body, model: "sandbox", stream }),
      });
      const answer = await app.fetch(request);
      assertEquals([answer.status, textOf(await answer.text())], [200, WITHOUT], `${path}, stream: ${stream}`);
      const { messages } = JSON.parse(upstream.asked.at(-1)!.body);
      assertEquals(messages[0], { role: "system", content: "WRITE IN CAPITALS." });
    }
  }
});
