/** Every count that an upstream tells is the answer's; what it does not tell is estimated, and said to be. */
import { assert, assertEquals } from "@std/assert";
import fc from "fast-check";
import type { JsonObject } from "../../src/canonical/json.ts";
import {
  bodyFor,
  chatStream,
  chatWhole,
  CONFIG,
  events,
  type Mode,
  MODES,
  post,
  streamed,
  type Wire,
  WIRES,
} from "../regressions/support.ts";
import { newApp } from "../support/app.ts";
import { fakeUpstream } from "../support/fake_upstream.ts";
import { law } from "../support/law.ts";

/** What an upstream told; absent, or 0, where it did not count. */
interface Reported {
  input?: number;
  output?: number;
  total?: number;
  cached?: number;
  reasoning?: number;
}

const count = fc.integer({ min: 1, max: 100_000 });
const reported: fc.Arbitrary<Reported> = fc.record({
  input: fc.oneof(count, fc.constant(0)),
  output: count,
  cached: fc.integer({ min: 0, max: 1_000 }),
  reasoning: fc.integer({ min: 0, max: 1_000 }),
}, { requiredKeys: [] }).map(({ input, output, cached, reasoning }) => ({
  ...(input !== undefined && { input: input && input + (cached ?? 0) }),
  ...(output !== undefined && { output: output + (reasoning ?? 0) }),
  ...(cached !== undefined && { cached }),
  ...(reasoning !== undefined && { reasoning }),
}));

function usageIn(wire: Wire, { input, output, cached, reasoning }: Reported): JsonObject {
  const [prompt, completion] = wire === "chat" ? ["prompt", "completion"] : ["input", "output"];
  const apart = wire === "messages" && input ? input - (cached ?? 0) : input;
  return {
    ...(apart !== undefined && { [`${prompt}_tokens`]: apart }),
    ...(output !== undefined && { [`${completion}_tokens`]: output }),
    ...(wire === "messages"
      ? {
        ...(cached !== undefined && { cache_read_input_tokens: cached }),
        ...(reasoning !== undefined && { output_tokens_details: { thinking_tokens: reasoning } }),
      }
      : {
        ...(cached !== undefined && { [`${prompt}_tokens_details`]: { cached_tokens: cached } }),
        ...(reasoning !== undefined && { [`${completion}_tokens_details`]: { reasoning_tokens: reasoning } }),
      }),
  };
}

const MESSAGE = { id: "msg_1", type: "message", role: "assistant", model: "org/model" };
const TEXT = "Hello. ".repeat(20);

/** `hasStart`: whether a stream of the messages wire has its first event. */
function answerOf(wire: Wire, mode: Mode, usage: JsonObject, hasStart: boolean): Response {
  switch (wire) {
    case "chat":
      return mode === "whole"
        ? Response.json(chatWhole({ content: TEXT }, "stop", usage))
        : streamed(chatStream([{ content: TEXT }], "stop", usage));
    case "messages":
      return mode === "whole"
        ? Response.json({ ...MESSAGE, content: [{ type: "text", text: TEXT }], stop_reason: "end_turn", usage })
        : streamed(events(
          ...(hasStart ? [{ type: "message_start", message: { ...MESSAGE, content: [] } }] : []),
          { type: "content_block_start", index: 0, content_block: { type: "text", text: "" } },
          { type: "content_block_delta", index: 0, delta: { type: "text_delta", text: TEXT } },
          { type: "content_block_stop", index: 0 },
          { type: "message_delta", delta: { stop_reason: "end_turn" }, usage },
          { type: "message_stop" },
        ));
    case "responses": {
      const item = { type: "message", id: "msg_1", role: "assistant", content: [{ type: "output_text", text: TEXT }] };
      const response = { id: "resp_1", model: "org/model", status: "completed", output: [item], usage };
      return mode === "whole" ? Response.json(response) : streamed(events({ type: "response.completed", response }));
    }
    default:
      return wire satisfies never;
  }
}

for (const client of WIRES) {
  let answer: () => Response;
  const app = newApp({ config: CONFIG, fetch: fakeUpstream(() => answer()).fetch });
  law(
    `${client}: every count that is told is kept, whoever tells it and however`,
    fc.tuple(reported, fc.constantFrom(...WIRES), fc.constantFrom(...MODES), fc.boolean()),
    async ([counts, upstream, mode, hasStart]) => {
      answer = () => answerOf(upstream, mode, usageIn(upstream, counts), hasStart);
      app.logs.length = 0;
      const view = await post(app, client, bodyFor(client, { stream: mode === "streamed" }, upstream));
      assertEquals(view.status, 200);
      const { output, cached = 0, reasoning = 0 } = counts;
      // The messages wire counts what is cached apart, which may be all.
      const input = upstream === "messages" && counts.input === 0 ? cached : counts.input;
      const usage = view.usage!;
      if (input) assertEquals(usage.input, input);
      else assert(usage.input >= Math.max(1, cached), JSON.stringify(usage));
      if (output !== undefined) assertEquals(usage.output, output);
      else assert(usage.output >= Math.max(TEXT.length / 4, reasoning), JSON.stringify(usage));
      assertEquals(usage.cached, cached);
      const [entry] = app.logs;
      const isWhole = Boolean(input) && output !== undefined;
      assertEquals(entry!.usage?.estimated, isWhole ? undefined : true);
      const note = isWhole
        ? []
        : [input ? "estimated output tokens" : output === undefined ? "estimated usage" : "estimated input tokens"];
      assertEquals((entry!.notes ?? []).filter((one) => one.startsWith("estimated")), note);
    },
  );
}

for (const mode of MODES) {
  Deno.test(`usage: of what is relayed, too, the log has every count that is told · ${mode}`, async () => {
    const usage = { prompt_tokens: 0, completion_tokens: 180 };
    const upstream = fakeUpstream(() =>
      mode === "whole"
        ? Response.json(chatWhole({ content: TEXT }, "stop", usage))
        : streamed(chatStream([{ content: TEXT }], "stop", usage))
    );
    const app = newApp({ config: CONFIG, fetch: upstream.fetch });
    await post(app, "chat", { ...bodyFor("chat", { stream: mode === "streamed" }), logprobs: true });
    const logged = app.logs[0]!.usage!;
    assertEquals([logged.outputTokens, logged.estimated, logged.inputTokens > 0], [180, true, true]);
  });
}

/** What some servers write where a count should be; a whole place of details among it. */
const NO_COUNTS = [-1, 2.5, "7", [], {}, 1e300, true];

for (const wire of WIRES) {
  Deno.test(`usage: what is no count takes none of the others away · ${wire}`, async () => {
    const whole = usageIn(wire, { input: 100, output: 50, cached: 10, reasoning: 5 });
    for (const [key, value] of Object.entries(whole)) {
      const isPlace = typeof value === "object";
      for (const wrong of NO_COUNTS) {
        const usages = [{ ...whole, [key]: wrong }];
        if (isPlace) usages.push({ ...whole, [key]: { [Object.keys(value!)[0]!]: wrong } });
        for (const usage of usages) {
          const upstream = fakeUpstream(() => answerOf(wire, "whole", usage, true));
          const app = newApp({ config: CONFIG, fetch: upstream.fetch });
          const view = await post(app, "chat", bodyFor("chat", {}, wire));
          const where = JSON.stringify(usage);
          const isInput = /^(input|prompt)_tokens$/.test(key);
          const isCached = key.includes("cache") || /^(input|prompt)_tokens_details$/.test(key);
          if (!isInput && !(isCached && wire === "messages")) assertEquals(view.usage!.input, 100, where);
          if (!/^(output|completion)_tokens$/.test(key)) assertEquals(view.usage!.output, 50, where);
          if (!isCached) assertEquals(view.usage!.cached, 10, where);
        }
      }
    }
  });
}
