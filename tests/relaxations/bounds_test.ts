/** A bound that a host named is learnt as a bound, and not as a value. */
import { assertEquals } from "@std/assert";
import { CHAT, chatBody, newApp } from "../support/app.ts";
import { fakeUpstream } from "../support/fake_upstream.ts";
import { answerOf } from "../support/refusing_hosts.ts";

const BOUNDS = [
  { field: "max_tokens", asked: [900, 100, 600], sent: [512, 100, 512], message: "max_tokens must be at most 512" },
  { field: "temperature", asked: [1.7, 0.2], sent: [1, 0.2], message: "temperature must be between 0 and 1" },
  { field: "top_p", asked: [0, 0.5], sent: [0.01, 0.5], message: "top_p must be at least 0.01" },
];

for (const { field, asked, sent, message } of BOUNDS) {
  Deno.test(`relaxations: ${message}, so values within it stay`, async () => {
    const fake = fakeUpstream(({ body }) => {
      const value = JSON.parse(body)[field];
      return sent.includes(value)
        ? answerOf("chat", {})
        : Response.json({ error: { message: `${message}, got ${value}` } }, { status: 400 });
    });
    const app = newApp({ fetch: fake.fetch });
    const last: number[] = [];
    for (const value of asked) {
      const response = await app.post(CHAT, chatBody({ [field]: value }));
      assertEquals(response.status, 200, await response.text());
      last.push(JSON.parse(fake.asked.at(-1)!.body)[field]);
    }
    assertEquals([last, fake.asked.length], [sent, asked.length + 1]);
  });
}
