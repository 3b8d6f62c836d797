/** A host that takes a relaxed request's form may still refuse it, and for what it then says a client acts. */
import { assertEquals, assertStringIncludes } from "@std/assert";
import { CHAT, chatBody, newApp } from "../support/app.ts";
import { fakeUpstream } from "../support/fake_upstream.ts";

const REASONS: readonly [status: number, message: string, code: string][] = [
  [400, "request (82200 tokens) exceeds the available context size (65536 tokens)", "context_length_exceeded"],
  [429, "Slow down, please", "rate_limit_exceeded"],
  [400, "Your request was rejected by our safety system", "null"],
];

for (const [status, message, code] of REASONS) {
  Deno.test(`relaxations: the reason that is left when the form is right reaches the client · ${message}`, async () => {
    const fake = fakeUpstream(({ body }) =>
      body.includes("novelty")
        ? Response.json({ error: { message: "Unknown field `novelty`" } }, { status: 400 })
        : Response.json({ error: { message } }, { status })
    );
    const app = newApp({ fetch: fake.fetch });
    const response = await app.post(CHAT, chatBody({ novelty: 1 }));
    const { error } = await response.json();
    assertEquals([response.status, String(error.code), fake.asked.length], [status, code, 2]);
    assertStringIncludes(error.message, message);
  });
}
