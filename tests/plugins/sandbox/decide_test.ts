import { assert, assertAlmostEquals, assertEquals } from "@std/assert";
import { newApp } from "../../support/app.ts";
import { CLIENTS } from "../../support/decisions.ts";

Deno.test("the sandbox's decisions are the same for the same request, in every shape, with a sum of 1", async () => {
  const app = newApp();
  const read = new Map<string, unknown>();
  for (const [client, { path, body, read: parse }] of Object.entries(CLIENTS)) {
    for (let time = 0; time < 2; time++) {
      const response = await app.post(path, { ...body, model: "sandbox" });
      const answer = await response.json();
      assertEquals(response.status, 200, JSON.stringify(answer));
      const { shares, choice } = parse(answer);
      for (const one of shares) assertAlmostEquals(one.reduce((sum, share) => sum + share, 0), 1, 1e-9);
      const before = read.get(client);
      if (before) assertEquals([shares, choice], before);
      read.set(client, [shares, choice]);
      assert(app.logs.at(-1)!.usage!.inputTokens! > 0);
    }
  }
});

Deno.test("the sandbox finds the answer whose words are in the text", async () => {
  const response = await newApp().post("/oss/v1/systemone", {
    model: "sandbox",
    state: "The refund has not arrived.",
    questions: {
      topic: { type: "choice", criteria: { delivery: "where the parcel is", refund: "money that has not arrived" } },
      paid: { type: "noul", criteria: { true: "the refund has arrived", false: "thanks" } },
    },
  });
  const { answers: { topic, paid } } = await response.json();
  assertEquals(topic.choice, "refund");
  assert(paid.noul > 0.5);
});
