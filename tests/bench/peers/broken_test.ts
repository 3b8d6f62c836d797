import { assertEquals } from "@std/assert";
import { BreakingUpstream, BREAKS, conversationOf } from "./breaking_upstream.ts";
import { outcomeOf } from "./broken_answers.ts";

const SEED = 1;
const ENDPOINT = { path: "/v1/chat/completions", model: "bench" };

Deno.test("broken streams: the upstream breaks off as it is asked to, and a client without a gateway notices", async () => {
  const kinds = BREAKS.filter((how) => how !== "stall");
  const conversations = new Map(kinds.map((how) => [how as string, conversationOf(SEED, how, how, 0)]));
  const upstream = new BreakingUpstream(conversations);
  const origin = await upstream.listen();
  try {
    const outcomes = await Promise.all([...conversations].map(async ([name, { words }]) => {
      return [name, await outcomeOf("chat", origin, ENDPOINT, `conversation=${name}`, words.join(""))];
    }));
    assertEquals(Object.fromEntries(outcomes), {
      none: "exact",
      reset: "error",
      end: "error",
      garbage: "error",
      error: "error",
    });
    const again = await Promise.all(kinds.map((name) => {
      return outcomeOf("chat", origin, ENDPOINT, `conversation=${name}`, "something else");
    }));
    assertEquals(new Set(again), new Set(["garbled"]), "another text is noticed");
  } finally {
    await upstream.close();
  }
});

Deno.test("broken streams: the upstream continues the last turn from within a word, once", async () => {
  const conversation = conversationOf(SEED, "one", "none", 0);
  const upstream = new BreakingUpstream(new Map([["one", conversation]]));
  const origin = await upstream.listen();
  const text = conversation.words.join("");
  try {
    const response = await fetch(origin + ENDPOINT.path, {
      method: "POST",
      body: JSON.stringify({
        stream: true,
        messages: [{ role: "user", content: "conversation=one" }, { role: "assistant", content: text.slice(0, 17) }],
      }),
    });
    const events = [...(await response.text()).matchAll(/^data: (\{.*)$/gm)].map(([, event]) => JSON.parse(event!));
    assertEquals(events.map(({ choices: [choice] }) => choice.delta.content ?? "").join(""), text.slice(17));
  } finally {
    await upstream.close();
  }
});
