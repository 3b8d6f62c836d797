/** The other ways out of a gateway that redacts: hosted tools, captures for the console, and the store. */
import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import type { JsonObject } from "../../src/canonical/json.ts";
import {
  type Answering,
  assertClean,
  EMAIL,
  HELD,
  newRedactionRig,
  PASSWORD,
  SAID,
  textsIn,
} from "../support/redaction_rig.ts";

const CHAT = "/oss/v1/chat/completions";
const HOSTED = { hostedTools: { webSearch: { backend: "searxng", baseUrl: "http://search.test" } } };
const PAGE = { url: "https://pages.test/", title: "A page", content: `token=${"t0k3n-0f-page"} of grace@example.com` };

/** Searches for all placeholders that the conversation has, then says them. */
const searching: Answering = ({ host, body }, round) => {
  if (host === "search.test") return Response.json({ results: [PAGE] });
  const held = [...new Set(JSON.stringify(body).match(HELD))].join(" ");
  if (round > 2) return [{ type: "text", text: `Found: ${held}` }];
  return [{
    type: "tool-call",
    kind: "function",
    id: "call_1",
    name: "web_search",
    input: JSON.stringify({ query: held }),
  }];
};

const asking = (stream: boolean) => ({
  model: "model",
  stream,
  messages: [{ role: "user", content: SAID }],
  web_search_options: {},
});

for (const stream of [false, true]) {
  Deno.test(`redaction: searches see placeholders, ${stream ? "streamed" : "whole"}`, async () => {
    const { app, received } = newRedactionRig({ answers: searching, config: HOSTED, piece: 3 });
    const text = await (await app.post(CHAT, asking(stream))).text();
    assertClean(JSON.stringify(received), "An upstream");
  });
}

// deno-lint-ignore no-explicit-any -- what a page gets is looked into here and there
async function latest(app: { get(path: string): Promise<Response> }): Promise<any> {
  const list = await (await app.get("/console/api/records")).json();
  return await (await app.get(`/console/api/record?id=${list.data[0].id}`)).json();
}

for (const stream of [false, true]) {
  Deno.test(`redaction: captures have no secret, ${stream ? "streamed" : "whole"}`, async () => {
    const answers: Answering = ({ body }) => [{ type: "text", text: textsIn(body)[0]!.match(HELD)!.join(" and ") }];
    const { app } = newRedactionRig({ answers, config: { console: { record: {} } } });
    const text = await (await app.post(CHAT, { model: "model", stream, messages: [{ role: "user", content: SAID }] }))
      .text();
    if (!stream) assertStringIncludes(text, `${EMAIL} and ${PASSWORD}`);
    const record = await latest(app);
    assertClean(JSON.stringify(record), "The capture");
  });
}
