/** A refusal may call for several relaxations. The one with the least loss is tried first. */
import { assertEquals } from "@std/assert";
import type { JsonObject } from "../../src/canonical/json.ts";
import { CHAT, newApp } from "../support/app.ts";
import { fakeUpstream } from "../support/fake_upstream.ts";
import { answerOf } from "../support/refusing_hosts.ts";

const PARAMETERS = {
  type: "object",
  properties: { path: { type: "string", pattern: "^/", description: "An absolute path", maxLength: 99 } },
  required: ["path"],
};
const BODY = {
  model: "model",
  messages: [{ role: "user", content: "Look" }],
  tools: [{ type: "function", function: { name: "look", parameters: PARAMETERS } }],
};

for (
  const refusal of [
    { detail: [{ loc: ["body", "tools", 0, "function", "parameters"], msg: "keyword 'pattern' is not supported" }] },
    { error: { message: "Invalid schema for function 'look': 'pattern' is not permitted" } },
    { error: { message: "tools[0].function.parameters: unsupported JSON schema keyword `pattern`" } },
  ]
) {
  Deno.test(`relaxations: a keyword that is named is all that a schema loses (${JSON.stringify(refusal)})`, async () => {
    const upstream = fakeUpstream(({ body }) =>
      body.includes('"pattern"') ? Response.json(refusal, { status: 422 }) : answerOf("chat", JSON.parse(body))
    );
    const app = newApp({ fetch: upstream.fetch });
    const response = await app.post(CHAT, BODY);
    await response.body?.cancel();
    assertEquals(response.headers.get("x-laneway-notes"), "relaxed pattern in schemas: refused by fake");
    const sent: JsonObject = JSON.parse(upstream.asked.at(-1)!.body);
    const { pattern: _, ...path } = PARAMETERS.properties.path;
    assertEquals((sent.tools as typeof BODY.tools)[0]!.function.parameters.properties, { path } as unknown);
    assertEquals(upstream.asked.length, 2);
  });
}
