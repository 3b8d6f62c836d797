/** Redaction through a running gateway: upstreams see placeholders, clients what they wrote. */
import { assert, assertEquals } from "@std/assert";
import {
  assertClean,
  DOORS,
  EMAIL,
  HELD,
  newRedactionRig,
  PASSWORD,
  readText,
  SAID,
} from "../support/redaction_rig.ts";
import { WIRES } from "../support/wires.ts";

for (const [name, door] of Object.entries(DOORS)) {
  for (const wire of WIRES) {
    for (const stream of [false, true]) {
      Deno.test(`redaction: ${name} to ${wire.name}, ${stream ? "streamed" : "whole"}`, async () => {
        const { app, received } = newRedactionRig({ wire });
        const response = await app.post(door.path(stream), door.body(SAID, stream));
        const text = await response.text();
        assertEquals(response.status, 200, text);
        assertClean(JSON.stringify(received), "The upstream");
        assertEquals(received[0]!.text.match(HELD)?.length, 2);
        assertEquals(readText(door, text, stream), `You said: ${SAID}!`);
        assertClean(JSON.stringify(app.logs), "The log");
      });
    }
  }
}

Deno.test("redaction: a placeholder in a stream may be cut anywhere", async () => {
  for (const [name, door] of Object.entries(DOORS)) {
    for (let piece = 1; piece < 48; piece += name === "chat" ? 1 : 7) {
      const { app } = newRedactionRig({ piece });
      const response = await app.post(door.path(true), door.body(SAID, true));
      assertEquals(readText(door, await response.text(), true), `You said: ${SAID}!`, `${name}, ${piece}`);
    }
  }
});
