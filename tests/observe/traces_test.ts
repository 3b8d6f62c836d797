/** Spans as a collector gets them, of a gateway that was started as people start it. */
import { assert, assertEquals, assertMatch } from "@std/assert";
import { ASKS, USAGE } from "../support/hosted_rig.ts";
import { type Collector, exportTo, type ReceivedSpan } from "../support/otlp.ts";
import { type TracedGateway, withTracedGateway } from "../support/traced_gateway.ts";
import { until, within } from "../support/wait.ts";

const CALLER = { traceId: "0af7651916cd43dd8448eb211c80319c", spanId: "b7ad6b7169203331" };
const TRACEPARENT = `00-${CALLER.traceId}-${CALLER.spanId}-01`;
const SECRET = "hunter2-in-the-query";

async function chat(
  { url }: Pick<TracedGateway, "url">,
  more: object = {},
  headers: Record<string, string> = {},
): Promise<Response> {
  const response = await fetch(`${url}/oss/v1/chat/completions?key=${SECRET}`, {
    method: "POST",
    headers: { "content-type": "application/json", ...headers },
    body: JSON.stringify({ model: "model", messages: [{ role: "user", content: "hunter2-content" }], ...more }),
  });
  await response.text();
  return response;
}

/** The spans, in the order of their beginnings, once so many requests are over: their spans come last. */
async function spansOf({ spans }: Collector, requests = 1): Promise<ReceivedSpan[]> {
  await until(() => spans.filter(({ kind }) => kind === "server").length >= requests);
  return spans.toSorted((a, b) => Number(a.from - b.from));
}

/** The tree as lines: each span below its parent. */
function treeOf(spans: readonly ReceivedSpan[], parentId: string, indent = ""): string[] {
  return spans.filter((span) => span.parentId === parentId)
    .flatMap(({ kind, name, id }) => [`${indent}${kind} ${name}`, ...treeOf(spans, id, `${indent}  `)]);
}

Deno.test("traces: a request is one tree in its caller's trace, with a span for each target that was asked", async () => {
  await withTracedGateway({}, async (gateway) => {
    const { collector, asked } = gateway;
    const tracestate = "vendor=value";
    await chat(gateway, { temperature: 0.5, max_tokens: 9 }, {
      traceparent: TRACEPARENT,
      tracestate,
      baggage: "user=anna",
    });
    const spans = await spansOf(collector);
    assertEquals(treeOf(spans, CALLER.spanId), [
      "server POST /:lane/v1/chat/completions",
      "  client chat org/model",
      "  client chat org/model",
    ]);
    assertEquals(
      new Set(spans.map(({ traceId, scope }) => `${traceId} ${scope}`)),
      new Set([`${CALLER.traceId} laneway`]),
    );
    const [request, first, second] = spans as [ReceivedSpan, ReceivedSpan, ReceivedSpan];
    const { "laneway.request.id": id, ...attributes } = request.attributes;
    assertMatch(String(id), /^req_/);
    assertEquals(attributes, {
      "http.request.method": "POST",
      "http.route": "/:lane/v1/chat/completions",
      "http.response.status_code": 200n,
      "gen_ai.request.model": "model",
      "laneway.key": "local",
      "laneway.lane": "oss",
      "laneway.protocol": "chat",
      "laneway.target": "second/org/model",
      "laneway.attempts": 2n,
      "laneway.cost.dollars": 0.000014,
      "gen_ai.usage.input_tokens": BigInt(USAGE.inputTokens),
      "gen_ai.usage.output_tokens": BigInt(USAGE.outputTokens),
    });
    const { "server.port": port, ...asked1 } = first.attributes;
    assertEquals(typeof port, "bigint");
    const common = {
      "gen_ai.operation.name": "chat",
      "gen_ai.request.model": "org/model",
      "gen_ai.request.max_tokens": 9n,
      "gen_ai.request.temperature": 0.5,
      "server.address": "127.0.0.1",
    };
    assertEquals(asked1, {
      ...common,
      "gen_ai.provider.name": "first",
      "laneway.attempt.reason": "first",
      "http.response.status_code": 503n,
      "error.type": "unavailable",
    });
    assertEquals([first.isError, second.isError, request.isError], [true, false, false]);
    const { "server.port": _, ...asked2 } = second.attributes;
    assertEquals(asked2, {
      ...common,
      "gen_ai.provider.name": "second",
      "laneway.attempt.reason": "failover",
      "gen_ai.response.finish_reasons": ["stop"],
      "gen_ai.usage.input_tokens": BigInt(USAGE.inputTokens),
      "gen_ai.usage.output_tokens": BigInt(USAGE.outputTokens),
    });
    assert(spans.every(({ from, to }) => request.from <= from && from <= to && to <= request.to));
    // Only the upstream that the configuration trusts learns of the trace, and nobody of the caller's baggage.
    assertEquals(asked.map(({ headers }) => headers.get("traceparent")), [
      null,
      `00-${CALLER.traceId}-${second.id}-01`,
    ]);
    assertEquals(asked.map(({ headers }) => headers.get("tracestate")), [null, tracestate]);
    assertEquals(asked.map(({ headers }) => headers.get("baggage")), [null, null]);
    for (const text of [SECRET, "hunter2-content", "anna"]) assert(!collector.raw.includes(text), text);
    assertEquals(collector.logs, 0);
  });
});

Deno.test("traces: a stream's spans end with it, and a hosted call is a span", async () => {
  await withTracedGateway({ rounds: [['web_search{"query":"hunter2-search"}'], ["It rains"]] }, async (gateway) => {
    const { collector, url } = gateway;
    const response = await fetch(url + ASKS.chat!.path, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify(ASKS.chat!.body({ stream: true })),
    });
    assert((await response.text()).includes("rains"));
    const spans = await spansOf(collector);
    assertEquals(treeOf(spans, "").map((line) => line.replace(" /:lane/v1/chat/completions", "")), [
      "server POST",
      "  client chat org/model",
      "  client chat org/model",
      "  internal execute_tool web-search",
      "  client chat org/model",
      "  client chat org/model",
    ]);
    const [request, , answered, tool] = spans as [ReceivedSpan, ReceivedSpan, ReceivedSpan, ReceivedSpan];
    assertEquals(tool.attributes, { "gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "web-search" });
    assertEquals(answered.attributes["gen_ai.response.finish_reasons"], ["tool_calls"]);
    assertEquals(answered.attributes["gen_ai.request.stream"], true);
    assertEquals(typeof answered.attributes["gen_ai.response.time_to_first_chunk"], "number");
    assertEquals(request.attributes["gen_ai.usage.input_tokens"], BigInt(2 * USAGE.inputTokens));
    assert(!collector.raw.includes("hunter2-search"));
  });
});

Deno.test("traces: content is recorded where the configuration wants it, without secrets", async () => {
  const config = { keys: [{ name: "team", secret: { env: "TEAM_KEY" } }] };
  const env = { TEAM_KEY: "team-key-a1b2c3" };
  await withTracedGateway({ observe: { content: true }, config, env }, async (gateway) => {
    const messages = [{ role: "system", content: "Be brief" }, { role: "user", content: "My key is team-key-a1b2c3" }];
    const tools = [{ type: "function", function: { name: "mine", parameters: { type: "object" } } }];
    await chat(gateway, { messages, tools }, { authorization: `Bearer ${env.TEAM_KEY}` });
    const [, , answered] = await spansOf(gateway.collector);
    const read = (name: string) => JSON.parse(String(answered!.attributes[name]));
    assertEquals(read("gen_ai.system_instructions"), [{ type: "text", content: "Be brief" }]);
    assertEquals(read("gen_ai.input.messages"), [
      { role: "user", parts: [{ type: "text", content: "My key is ***" }] },
    ]);
    assertEquals(read("gen_ai.tool.definitions"), [{ type: "function", name: "mine" }]);
    assertEquals(read("gen_ai.output.messages"), [
      { role: "assistant", parts: [{ type: "text", content: "whole" }], finish_reason: "stop" },
    ]);
    await chat(gateway, { messages, stream: true }, { authorization: `Bearer ${env.TEAM_KEY}` });
    const streamed = (await spansOf(gateway.collector, 2)).at(-1)!;
    assertEquals(
      JSON.parse(String(streamed.attributes["gen_ai.output.messages"])),
      read("gen_ai.output.messages"),
    );
    assert(!gateway.collector.raw.includes(env.TEAM_KEY));
  });
});

Deno.test("traces: content is recorded as stages let it out, on both ways", async () => {
  const config = { redact: { secrets: true, emails: true } };
  await withTracedGateway({ observe: { content: true }, config, rounds: [["{held}"]] }, async (gateway) => {
    const said = { role: "user", content: "PASSWORD=hunter2-x9q of ada@example.com" };
    for (const stream of [false, true]) await chat(gateway, { messages: [said], stream, stop: ["hunter2-x9q"] });
    const spans = (await spansOf(gateway.collector, 2)).filter(({ attributes }) =>
      attributes["gen_ai.response.finish_reasons"]
    );
    assertEquals(spans.length, 2);
    for (const { attributes } of spans) {
      const [sent, answered] = ["input", "output"].map((way) => String(attributes[`gen_ai.${way}.messages`]));
      const held = sent!.match(/redacted-(?:secret|email)-\w{16}/g);
      assertEquals(held?.length, 2);
      assertEquals(answered!.match(/redacted-(?:secret|email)-\w{16}/g), [...held!, held![0]!]);
    }
    for (const secret of ["hunter2-x9q", "ada@example.com"]) assert(!gateway.collector.raw.includes(secret));
  });
});

Deno.test("traces: what clients write into the headers of a trace makes no other, and breaks none", async () => {
  await withTracedGateway({}, async (gateway) => {
    const { collector, asked } = gateway;
    const hostile = [
      `00-${"0".repeat(32)}-${CALLER.spanId}-01`,
      `00-${CALLER.traceId}-${"0".repeat(16)}-01`,
      `00-${CALLER.traceId.toUpperCase()}-${CALLER.spanId}-01`,
      `ff-${CALLER.traceId}-${CALLER.spanId}-01`,
      `00-${CALLER.traceId}-${CALLER.spanId}-01-more`,
      `00-${CALLER.traceId}-${CALLER.spanId}`,
      `${TRACEPARENT}, ${TRACEPARENT}`,
      "hunter2-parent",
      "-".repeat(8_000),
    ];
    for (const traceparent of hostile) await chat(gateway, {}, { traceparent, tracestate: "hunter2=state" });
    const spans = await spansOf(collector, hostile.length);
    const requests = spans.filter(({ kind }) => kind === "server");
    assertEquals(requests.filter(({ traceId, parentId }) => traceId === CALLER.traceId || parentId !== ""), []);
    assertEquals(new Set(requests.map(({ traceId }) => traceId)).size, hostile.length);
    // The state of a trace that is not gone on with is nobody's.
    assertEquals(asked.filter(({ headers }) => headers.has("tracestate")), []);
    const before = asked.length;
    await chat(gateway, {}, { traceparent: TRACEPARENT, tracestate: `a=${"b".repeat(10_000)}` });
    await chat(gateway, {}, { traceparent: `01-${CALLER.traceId}-${CALLER.spanId}-01-later-version` });
    assertEquals(asked.slice(before).filter(({ headers }) => headers.has("tracestate")), []);
    const last = (await spansOf(collector, hostile.length + 2)).filter(({ kind }) => kind === "server").slice(-2);
    assertEquals(last.map(({ parentId }) => parentId), [CALLER.spanId, CALLER.spanId]);
    assert(!collector.raw.includes("hunter2"));
  });
});

Deno.test("traces: many requests at once do not mix their spans, and their lines in the log name their traces", async () => {
  await withTracedGateway({}, async (gateway) => {
    const { collector } = gateway;
    const ids = Array.from({ length: 500 }, (_, index) => (index + 1).toString(16).padStart(32, "0"));
    await Promise.all(ids.map((id) => chat(gateway, {}, { traceparent: `00-${id}-${CALLER.spanId}-01` })));
    const spans = await spansOf(collector, ids.length);
    const byTrace = Map.groupBy(spans, ({ traceId }) => traceId);
    assertEquals([...byTrace.keys()].toSorted(), ids.toSorted());
    for (const own of byTrace.values()) {
      const root = own.filter(({ parentId }) => parentId === CALLER.spanId);
      assertEquals(root.map(({ kind }) => kind), ["server"]);
      assert(own.every(({ id, parentId }) => id === root[0]!.id || parentId === root[0]!.id));
    }
    gateway.kill("SIGTERM");
    assertEquals(await gateway.ended, 0);
    const lines = (await gateway.logged).trim().split("\n").map((line) => JSON.parse(line));
    const requestsOf = (id: string) => byTrace.get(id)?.map(({ attributes }) => attributes["laneway.request.id"]);
    assertEquals(lines.length, ids.length);
    assertEquals(lines.filter(({ traceId, id }) => !requestsOf(traceId)?.includes(id)), []);
  });
});

/** A port of this machine that takes connections and answers nobody. */
function silentPort(): { port: number; close(): void } {
  const listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  const taken: Deno.Conn[] = [];
  void (async () => {
    for await (const connection of listener) taken.push(connection);
  })().catch(() => {}); // it was closed
  return {
    port: listener.addr.port,
    close() {
      listener.close();
      for (const connection of taken) connection.close();
    },
  };
}

for (const kind of ["closed", "silent"] as const) {
  Deno.test(`traces: with a collector that is ${kind}, requests are answered and the gateway ends`, async () => {
    const { port, close } = silentPort();
    if (kind === "closed") close();
    // Metrics are on their way, too, when it ends.
    const env = { ...exportTo(port), OTEL_METRIC_EXPORT_INTERVAL: "1500" };
    try {
      await withTracedGateway({ env }, async (gateway) => {
        for (let round = 0; round < 3; round++) {
          const statuses = await Promise.all(Array.from({ length: 40 }, async () => (await chat(gateway)).status));
          assertEquals(new Set(statuses), new Set([200]));
        }
        gateway.kill("SIGTERM");
        assertEquals(await within(gateway.ended), 0);
        assertEquals((await gateway.logged).trim().split("\n").length, 120);
      });
    } finally {
      if (kind === "silent") close();
    }
  });
}
