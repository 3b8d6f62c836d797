/** Remote servers, as a request meets them: listed while its client waits, cut off anywhere, too many, or not the gateway's to call. */
import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import type { JsonObject } from "../../src/canonical/json.ts";
import { assertAnswer } from "../support/answer_shapes.ts";
import { bodyOf, piecesOf } from "../support/chunks.ts";
import { ASKS, newHostedRig } from "../support/hosted_rig.ts";
import { MESSAGES } from "../support/wires.ts";

const QUESTION = { role: "user", content: "What is the weather in Oslo?" };
const LISTED = { jsonrpc: "2.0", result: { tools: [{ name: "read", inputSchema: { type: "object" } }] } };
const docs = { type: "mcp", server_label: "docs", require_approval: "never" };
const withDocs = { hostedTools: { mcp: { servers: { docs: { url: "http://docs.test/mcp" } } } } };

async function listing(request: Request): Promise<Response> {
  const { id } = await request.json();
  return Response.json({ ...LISTED, id });
}

Deno.test("hosted: a trigger gives one compaction item, also where servers have not been listed yet", async () => {
  const rig = newHostedRig({ rounds: [["The summary."]], config: withDocs, others: listing });
  const input = [QUESTION, { role: "assistant", content: "Rain." }, { type: "compaction_trigger" }];
  const { path, body } = ASKS.responses!;
  const answer = await (await rig.app.post(path, body({ input, tools: [docs] }))).json() as { output: JsonObject[] };
  assertEquals(answer.output.map(({ type }) => type), ["compaction"]);
});

Deno.test("hosted: a call that cannot be read comes as JSON all the same", async () => {
  const rig = newHostedRig({ rounds: [["docs_read{no json}"], ["Sorry."]], config: withDocs, others: listing });
  const { path, body } = ASKS.responses!;
  const answer = await (await rig.app.post(path, body({ tools: [docs] }))).json() as { output: JsonObject[] };
  const call = answer.output.find(({ type }) => type === "mcp_call");
  assertEquals([call?.arguments, call?.status], ["{}", "failed"]);
});

Deno.test("hosted: the client is kept company while servers are asked for their tools", async () => {
  const gate = Promise.withResolvers<void>();
  const rig = newHostedRig({
    rounds: [["Hello."]],
    config: withDocs,
    pace: { headAfterMs: 1, keepAliveMs: 1 },
    others: async (request) => {
      await gate.promise;
      return await listing(request);
    },
  });
  const { path, body } = ASKS.responses!;
  const response = await rig.app.post(path, body({ stream: true, tools: [docs] }));
  const reader = response.body!.pipeThrough(new TextDecoderStream()).getReader();
  const { value } = await reader.read();
  assert(value?.startsWith(":"), value);
  assertEquals(rig.asked.length, 0);
  gate.resolve();
  let text = "";
  for (let next = await reader.read(); !next.done; next = await reader.read()) text += next.value;
  assertStringIncludes(text, "response.completed");
});

Deno.test("hosted: of the servers that a request names, those that the gateway does not call stay with the upstream", async () => {
  const rig = newHostedRig({
    wire: MESSAGES,
    rounds: [["Hello."]],
    config: { hostedTools: { mcp: { allow: ["http://docs.test"] } } },
    others: listing,
  });
  const server = (name: string) => ({ type: "url", name, url: `http://${name}.test/mcp` });
  const toolset = (mcp_server_name: string) => ({ type: "mcp_toolset", mcp_server_name });
  const { path, body } = ASKS.messages!;
  const asked = body({ mcp_servers: [server("docs"), server("other")], tools: [toolset("docs"), toolset("other")] });
  await (await rig.app.post(path, asked)).text();
  const { mcp_servers, tools } = rig.asked[0]!.body;
  assertEquals((mcp_servers as JsonObject[]).map(({ name }) => name), ["other"]);
  assertEquals((tools as JsonObject[]).map(({ name, mcp_server_name }) => name ?? mcp_server_name), [
    "docs_read",
    "other",
  ]);
});

Deno.test("hosted: a request names no more servers than can be asked for their tools at once", async () => {
  const rig = newHostedRig({
    rounds: [["Hello."]],
    config: { hostedTools: { mcp: { allow: ["http://docs.test"] } } },
    others: listing,
  });
  const tools = Array.from({ length: 33 }, (_, at) => ({
    ...docs,
    server_label: `docs${at}`,
    server_url: "http://docs.test/mcp",
  }));
  const { path, body } = ASKS.responses!;
  const response = await rig.app.post(path, body({ tools }));
  assertEquals([response.status, (await response.json()).error.param, rig.asked.length], [400, "tools", 0]);
});

Deno.test("hosted: a remote server's stream may come byte by byte, and end or break anywhere", async () => {
  const answers = new Set<string>();
  const bytesOf = async (request: Request) => {
    const { id, method } = await request.json();
    const result = method === "tools/list" ? LISTED.result : { content: [{ type: "text", text: "päge 🙂" }] };
    const message = JSON.stringify({ jsonrpc: "2.0", id, result });
    return { method, bytes: new TextEncoder().encode(`: hi\n\nevent: message\ndata: ${message}\n\n`) };
  };
  const ask = async (serve: (bytes: Uint8Array<ArrayBuffer>, method: string) => ReadableStream<Uint8Array>) => {
    const rig = newHostedRig({
      rounds: [["docs_read{}"], ["Done."]],
      config: withDocs,
      async others(request) {
        const { bytes, method } = await bytesOf(request);
        return new Response(serve(bytes, method) as BodyInit, { headers: { "content-type": "text/event-stream" } });
      },
    });
    const { path, body } = ASKS.responses!;
    const response = await rig.app.post(path, body({ stream: true, tools: [docs] }));
    const text = await response.text();
    await assertAnswer("responses", response, text);
    return text.replace(/lw1\.[\w-]+/g, "sealed");
  };
  for (const size of [1, 7, 10_000]) answers.add(await ask((bytes) => bodyOf(piecesOf(bytes, size))));
  assertEquals(answers.size, 1);
  assertStringIncludes([...answers][0]!, "päge 🙂");
  for (const failure of [undefined, new TypeError("reset")]) {
    for (const at of [0, 3, 30, 60]) {
      const cut = (bytes: Uint8Array<ArrayBuffer>) => at === 0 ? [] : [bytes.subarray(0, at)];
      const text = await ask((bytes, method) =>
        method === "tools/call" ? bodyOf(cut(bytes), failure) : bodyOf([bytes])
      );
      assertStringIncludes(text, "response.mcp_call.failed");
      assertStringIncludes(text, "response.completed");
    }
  }
});
