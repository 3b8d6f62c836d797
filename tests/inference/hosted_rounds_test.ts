import { assertEquals, assertRejects } from "@std/assert";
import { collectFrom } from "../../src/canonical/collect.ts";
import type { GenerateEvent, GenerateRequest, HostedPart, Tool } from "../../src/canonical/generate.ts";
import type { HostedCall, HostedResult, HostedWork } from "../../src/canonical/hosted.ts";
import { replay } from "../../src/canonical/replay.ts";
import { GatewayError } from "../../src/errors.ts";
import { hostedRounds, type HostedRoundsOptions } from "../../src/inference/hosted_rounds.ts";
import { assertWellFormed } from "../../src/programs/testing/well_formed.ts";
import { functionsFor } from "../../src/transforms/hosted_functions.ts";
import { type EventSource, sourceOf } from "../../src/util/event_source.ts";

const SEARCH: HostedWork = { kind: "web-search", opensPages: false };
const DOCS: HostedWork = {
  kind: "mcp",
  server: "docs",
  approval: { always: { names: ["write"] }, never: { names: ["read"] } },
};
const TOOLS: Tool[] = [
  { type: "hosted", name: "web_search", work: SEARCH, extra: { wire: "w", fields: {} } },
  { type: "hosted", name: "mcp", work: DOCS, extra: { wire: "w", fields: {} } },
  { type: "function", name: "mine" },
];
const LISTED = new Map([["docs", ["read", "write"].map((name) => ({ name, parameters: { type: "object" } }))]]);

/** What a model does in one round: a word, or a call `name:argument`. */
type Say = string;

function roundOf(says: readonly Say[]): GenerateEvent[] {
  const content = says.map((say, index) => {
    const [, name, argument] = /^(web_search|docs_read|docs_write|mine):(.*)$/.exec(say) ?? [];
    if (name === undefined) return { type: "text" as const, text: say };
    return { type: "tool-call" as const, kind: "function" as const, id: `call_${index}`, name, input: argument! };
  });
  const reason = content.some(({ type }) => type === "tool-call") ? "tool-calls" as const : "stop" as const;
  const usage = { inputTokens: 10, outputTokens: 2 };
  return [...replay({ model: "served", content, finish: { reason }, usage })];
}

interface Played extends Partial<HostedRoundsOptions> {
  answers: Say[][];
}

/** The loop before a model that plays its rounds one after the other, and a search that finds two pages for every query. */
function play({ answers, ...more }: Played) {
  const asked: { request: GenerateRequest; isLast: boolean }[] = [];
  const ran: HostedCall[] = [];
  const request: GenerateRequest = {
    model: "m",
    stream: true,
    messages: [{ role: "user", content: [{ type: "text", text: "Go" }] }],
    tools: TOOLS,
    toolChoice: { type: "required" },
    ...more.request,
  };
  const source = hostedRounds({
    id: "x",
    functions: functionsFor(TOOLS, LISTED),
    ask(request, isLast) {
      asked.push({ request, isLast });
      return sourceOf(roundOf(answers[asked.length - 1] ?? ["too often"]));
    },
    run(call): Promise<HostedResult> {
      ran.push(call);
      if (call.kind === "mcp") return Promise.resolve({ kind: "content", content: [{ type: "text", text: "read" }] });
      const hits = [1, 2].map((n) => ({ number: 0, url: `https://${n}.test/`, title: `${n}`, text: "t" }));
      return Promise.resolve({ kind: "hits", hits });
    },
    lastHit: 0,
    rounds: 8,
    calls: 64,
    isLate: () => false,
    canPause: false,
    ...more,
    ...{ request },
  });
  return { source, asked, ran };
}

async function eventsOf(source: EventSource<GenerateEvent>): Promise<GenerateEvent[]> {
  const events: GenerateEvent[] = [];
  for (let batch = await source.next(); batch; batch = await source.next()) events.push(...batch);
  return events;
}

const nameOf = (part: HostedPart) =>
  `${part.call.kind}${
    part.result
      ? ` = ${part.result.kind === "error" ? part.result.code : part.result.kind}`
      : part.awaitsApproval
      ? " ?"
      : ""
  }`;

async function answerOf(played: ReturnType<typeof play>) {
  const events = await eventsOf(played.source);
  assertWellFormed(events);
  const { content, finish, usage } = await collectFrom(sourceOf(events));
  return {
    parts: content.map((part) =>
      part.type === "hosted"
        ? nameOf(part)
        : part.type === "text"
        ? part.text
        : `${part.type} ${"name" in part ? part.name : ""}`
    ),
    reason: finish.reason,
    usage,
    content,
  };
}

Deno.test("rounds: what is searched comes back to the model, and all rounds are one answer", async () => {
  const played = play({ answers: [["Let me see.", 'web_search:{"query":"a"}'], ["It is so [1]."]] });
  const { parts, reason, usage, content } = await answerOf(played);
  assertEquals(parts, ["Let me see.", "web-search", "web-search = hits", "It is so [1]."]);
  assertEquals([reason, usage], ["stop", { inputTokens: 20, outputTokens: 4, hostedUses: { webSearch: 1 } }]);
  const [, called, found] = content as HostedPart[];
  assertEquals([called!.id, found!.id], ["x_0", "x_0"]);
  const [, second] = played.asked;
  assertEquals(second!.request.toolChoice, { type: "auto" }, "a forced tool was forced once");
  assertEquals(second!.request.messages.at(-1)?.content.map(({ type }) => type), ["text", "hosted", "hosted"]);
});

Deno.test("rounds: results are numbered through the conversation", async () => {
  const two = ['web_search:{"query":"a"}', 'web_search:{"query":"b"}'];
  const { content } = await answerOf(play({ answers: [two, ['web_search:{"query":"c"}'], ["done"]], lastHit: 4 }));
  const numbers = content.flatMap((part) =>
    part.type === "hosted" && part.result?.kind === "hits" ? part.result.hits.map(({ number }) => number) : []
  );
  assertEquals(numbers, [5, 6, 7, 8, 9, 10]);
});

Deno.test("rounds: calls of one turn run side by side, and begin before the turn has ended", async () => {
  const gates = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  let running = 0;
  const played = play({
    answers: [['web_search:{"query":"a"}', 'web_search:{"query":"b"}'], ["done"]],
    async run() {
      await gates[running++]!.promise;
      return { kind: "hits", hits: [] };
    },
  });
  const first = await played.source.next();
  assertEquals([first?.filter(({ type }) => type === "part-start").length, running], [2, 2]);
  gates[1]!.resolve();
  gates[0]!.resolve();
  assertEquals((await eventsOf(played.source)).at(-1)?.type, "finish");
});

for (const says of [['web_search:{"query":"a"}', "mine:{}"], ["mine:{}", 'web_search:{"query":"a"}']]) {
  Deno.test(`rounds: a call of the client's beside a hosted one ends the answer once that has run: ${says.join(" ")}`, async () => {
    const played = play({ answers: [says] });
    const { parts, reason } = await answerOf(played);
    assertEquals(parts.toSorted(), ["tool-call mine", "web-search", "web-search = hits"]);
    assertEquals([reason, played.asked.length, parts.at(-1)], ["tool-calls", 1, "web-search = hits"]);
  });
}

Deno.test("rounds: a call that waits for the client ends the answer and does not run", async () => {
  const played = play({ answers: [["docs_write:{}", "docs_read:{}"]] });
  const { parts } = await answerOf(played);
  assertEquals(parts, ["mcp ?", "mcp", "mcp = content"]);
  assertEquals(played.ran, [{ kind: "mcp", server: "docs", name: "read", input: "{}" }]);
});

Deno.test("rounds: a call that was approved runs before the model is asked", async () => {
  const approved: HostedPart = {
    type: "hosted",
    id: "old",
    call: { kind: "mcp", server: "docs", name: "write", input: "{}" },
    wasApproved: true,
  };
  const played = play({ answers: [["done"]], before: [approved] });
  const { parts, usage } = await answerOf(played);
  assertEquals(parts, ["mcp", "mcp = content", "done"]);
  assertEquals(usage.hostedUses, { mcp: 1 });
  assertEquals(played.asked[0]!.request.toolChoice, { type: "required" }, "the choice is for the model's first round");
  assertEquals(played.asked[0]!.request.messages.at(-1)?.content.map(({ type }) => type), ["hosted", "hosted"]);
  const { wasApproved: _, ...forgotten } = approved;
  const again = play({ answers: [["done"]], before: [forgotten] });
  await answerOf(again);
  assertEquals(again.ran, [], "one that nobody approved does not run");
});

Deno.test("rounds: what cannot be read is an error of the tool, and the model goes on", async () => {
  const { parts, reason } = await answerOf(play({ answers: [["web_search:{"], ["sorry"]] }));
  assertEquals([parts, reason], [["web-search", "web-search = invalid_input", "sorry"], "stop"]);
});

Deno.test("rounds: one tool may be used so often; one more is an error that the client sees", async () => {
  const tools = [{ ...TOOLS[0]!, work: { ...SEARCH, maxUses: 1 } } as Tool];
  const { parts, usage } = await answerOf(play({
    answers: [['web_search:{"query":"a"}', 'web_search:{"query":"b"}'], ["done"]],
    functions: functionsFor(tools),
  }));
  assertEquals(parts, ["web-search", "web-search", "web-search = hits", "web-search = too_many_uses", "done"]);
  assertEquals(usage.hostedUses, { webSearch: 1 });
});

Deno.test("rounds: beyond what the whole answer may have, calls are passed over, and the model is asked without them", async () => {
  const played = play({
    answers: [['web_search:{"query":"a"}', 'web_search:{"query":"b"}'], ["done"]],
    request: { maxHostedCalls: 1 } as GenerateRequest,
  });
  assertEquals((await answerOf(played)).parts, ["web-search", "web-search = hits", "done"]);
  assertEquals(played.asked.map(({ isLast }) => isLast), [false, true]);
});

Deno.test("rounds: a model that searches for ever is asked a last time without its tools", async () => {
  const again = ['web_search:{"query":"a"}'];
  const played = play({ answers: [again, again, ["enough"]], rounds: 2 });
  assertEquals((await answerOf(played)).parts.at(-1), "enough");
  assertEquals(played.asked.map(({ isLast }) => isLast), [false, false, true]);
  const stubborn = play({ answers: [again, again, ["still", ...again]], rounds: 2 });
  const { parts, reason } = await answerOf(stubborn);
  assertEquals(
    [parts.slice(-2), reason],
    [["web-search = hits", "still"], "stop"],
    "what it calls then is not run, and not the client's",
  );
});

Deno.test("rounds: late is paused where the client's wire can go on later, and brought to an end where not", async () => {
  const again = ['web_search:{"query":"a"}'];
  let late = 0;
  const paused = play({ answers: [again], canPause: true, isLate: () => late++ > 0 });
  assertEquals((await answerOf(paused)).reason, "paused");
  late = 0;
  const ended = play({ answers: [again, ["enough"]], isLate: () => late++ > 0 });
  assertEquals((await answerOf(ended)).reason, "stop");
});

Deno.test("rounds: a round that fails fails the answer; one that just stops is left to whoever reads it", async () => {
  const failing = (second: EventSource<GenerateEvent>) => {
    let rounds = 0;
    return play({ answers: [], ask: () => rounds++ === 0 ? sourceOf(roundOf(['web_search:{"query":"a"}'])) : second });
  };
  const broken = new GatewayError("upstream_error", "broken");
  const { source } = failing({ next: () => Promise.reject(broken), cancel: () => Promise.resolve() });
  await assertRejects(() => eventsOf(source), GatewayError, "broken");
  const cut = await eventsOf(failing(sourceOf<GenerateEvent>([])).source);
  assertEquals(cut.some(({ type }) => type === "finish" || type === "error"), false);
});

Deno.test("rounds: whoever gives the answer up ends the round and the calls that run", async () => {
  let cancelled = 0;
  const silent: EventSource<GenerateEvent> = {
    next: () => cancel.promise.then(() => undefined),
    cancel: () => (cancelled++, cancel.resolve(), Promise.resolve()),
  };
  const cancel = Promise.withResolvers<void>();
  const waiting = play({ answers: [], ask: () => silent });
  const next = waiting.source.next();
  await waiting.source.cancel();
  assertEquals([await next, cancelled > 0], [undefined, true]);

  let stopped: AbortSignal | undefined;
  const running = play({
    answers: [['web_search:{"query":"a"}']],
    run: (_call, _work, signal) =>
      new Promise((_, reject) => (stopped = signal).addEventListener("abort", () => reject(signal.reason))),
  });
  await running.source.next();
  const result = running.source.next();
  await running.source.cancel();
  assertEquals([await result, stopped?.aborted], [undefined, true]);
});

Deno.test("rounds: a model that is stopped in the middle of a call is not asked again", async () => {
  for (const reason of ["length", "content-filter"] as const) {
    const asked: boolean[] = [];
    const played = play({
      answers: [],
      ask(_request, isLast) {
        asked.push(isLast);
        const events = roundOf(['web_search:{"query":"we']);
        return sourceOf(events.map((event) => event.type === "finish" ? { ...event, finish: { reason } } : event));
      },
    });
    const answer = await answerOf(played);
    assertEquals([answer.parts, answer.reason], [["web-search", "web-search = invalid_input"], reason]);
    assertEquals([asked.length, played.ran], [1, []]);
  }
});

Deno.test("rounds: a call that comes after the last round with tools is not counted", async () => {
  const again = ['web_search:{"query":"a"}'];
  const { usage } = await answerOf(play({ answers: [again, ["still", ...again]], rounds: 1 }));
  assertEquals(usage.hostedUses, { webSearch: 1 });
});
