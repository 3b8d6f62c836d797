/** `examples/own_driver`: it keeps the laws, and its program asks a server with it. */
import { assertEquals, assertStringIncludes } from "@std/assert";
import { laws } from "@laneway/gateway/testing";
import OpenAI from "openai";
import { pieces } from "../../examples/own_driver/pieces.ts";
import { withFolder, withLaunched } from "../support/process.ts";

const ROOT = new URL("../../", import.meta.url);
const WHOLE = { text: "Hello, you", in: 5, out: 2 };
const STREAM = '{"text":"Hello,"}\n{"text":" you"}\n{"end":"stop","in":5,"out":2}\n';

for (const { name, check } of laws({ driver: pieces, whole: WHOLE, stream: STREAM, ending: '"end"' })) {
  Deno.test(`own driver: ${name}`, check);
}

Deno.test("own driver: the program asks its server, whole and streamed", async () => {
  const asked: { model: string; text: string; stream: boolean }[] = [];
  const server = Deno.serve({ port: 0, hostname: "127.0.0.1", onListen() {} }, async (request) => {
    asked.push(await request.json());
    return asked.at(-1)!.stream ? new Response(STREAM) : Response.json(WHOLE);
  });
  const upstream = { driver: "pieces", baseUrl: `http://127.0.0.1:${server.addr.port}` };
  const config = {
    upstreams: { own: upstream },
    lanes: { oss: { models: { mine: { task: "chat", targets: [{ upstream: "own", model: "m-1" }] } } } },
    store: { kind: "memory" },
  };
  await withFolder(async (folder) => {
    await Deno.writeTextFile(`${folder}/gateway.json`, JSON.stringify(config));
    const args = ["--main", "examples/own_driver/main.ts", "--config", `${folder}/gateway.json`];
    await withLaunched(args, { cwd: ROOT.pathname }, async ({ url }) => {
      const client = new OpenAI({ baseURL: `${url}/oss/v1`, apiKey: "none", maxRetries: 0 });
      const body = { model: "mine", messages: [{ role: "user" as const, content: "Why?" }] };
      const answer = await client.chat.completions.create(body);
      assertEquals(answer.choices[0]!.message.content, WHOLE.text);
      assertEquals([answer.usage?.prompt_tokens, answer.usage?.completion_tokens], [5, 2]);
      let text = "";
      for await (const { choices } of await client.chat.completions.create({ ...body, stream: true })) {
        text += choices[0]?.delta.content ?? "";
      }
      assertEquals(text, WHOLE.text);
    });
  });
  await server.shutdown();
  assertEquals(asked.map(({ model, stream }) => [model, stream]), [["m-1", false], ["m-1", true]]);
  assertStringIncludes(asked[0]!.text, "user: Why?\nassistant:");
});
