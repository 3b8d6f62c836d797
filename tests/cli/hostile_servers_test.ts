/** The commands `check` and `probe` in front of servers that stall, never end, fail, or send what a terminal obeys. */
import { assert, assertEquals, assertRejects, assertStringIncludes } from "@std/assert";
import { cases, checkedWires, scriptedCases } from "../../plugins/programs/conformance/mod.ts";
import { openCheck } from "../../src/programs/check/check_call.ts";
import { obstacleTo } from "../../src/programs/check/obstacle.ts";
import { check } from "../../src/programs/check/run.ts";
import { ProbeError } from "../../src/programs/probe/probe_call.ts";
import { examineServer } from "../../src/programs/probe/examine.ts";
import { report } from "../../src/programs/probe/mod.ts";
import { withFakeClock } from "../support/fake_clock.ts";
import { chatServer, error, examine, valueOf, withServer } from "../programs/probed.ts";

const ENDLESS = () => {
  const piece = new TextEncoder().encode(`data: ${"x".repeat(65_536)}`);
  return new Response(new ReadableStream({ pull: (controller) => controller.enqueue(piece) }));
};
const STALLED = () => new Response(new ReadableStream({}), { headers: { "content-type": "text/event-stream" } });

Deno.test("check: a server that answers for ever, or not at all, holds nobody up", async () => {
  for (const [answer, patienceMs] of [[ENDLESS, 20_000], [STALLED, 200]] as const) {
    const server = Deno.serve({ hostname: "127.0.0.1", port: 0, onListen() {} }, answer);
    const url = `http://127.0.0.1:${server.addr.port}`;
    const results = await check({ baseUrl: url, model: "m", wires: ["chat"], patienceMs });
    assertEquals(results.filter(({ state }) => state === "passed"), []);
    if (answer === STALLED) assertEquals(results.filter(({ state }) => state === "failed").length, 2, "and no more");
    await server.shutdown();
  }
});

Deno.test("check: a server that accepts connections and says nothing is asked once, and the command says so", async () => {
  const listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  const held: Deno.Conn[] = [];
  const accepting = (async () => {
    for await (const connection of listener) held.push(connection);
  })();
  const { hostname, port } = listener.addr as Deno.NetAddr;
  const said: string[] = [];
  const checking = { baseUrl: `http://${hostname}:${port}`, model: "m", wires: ["chat", "messages"], patienceMs: 300 };
  const obstacle = await obstacleTo(checking, { fetch, reachMs: 200, say: (text) => void said.push(text) });
  assertEquals(obstacle, `${hostname}:${port} accepts connections, and answers nothing`);
  assertEquals([held.length, said.length], [2, 1]);
  for (const connection of held) connection.close();
  listener.close();
  await accepting;
});

Deno.test("check: a server that lists its models and ends no answer is asked once, and the command says so", async () => {
  let asked = 0;
  const server = Deno.serve({ hostname: "127.0.0.1", port: 0, onListen() {} }, ({ method }) => {
    if (method === "GET") return Response.json({ data: [] });
    asked++;
    return STALLED();
  });
  const host = `127.0.0.1:${server.addr.port}`;
  const checking = { baseUrl: `http://${host}`, model: "m", wires: ["chat", "messages"], patienceMs: 300 };
  const obstacle = await obstacleTo(checking, { fetch, say: () => {} });
  assertEquals(obstacle, `${host} has not answered a request for 16 tokens within 0.3 s`);
  assertEquals(asked, 1);
  await server.shutdown();
});

Deno.test("check: streams that fail, and gateways that leave a cut stream open or know nothing, do not pass", async () => {
  const events = 'data: {"error":{"message":"out of memory","type":"server_error"}}\n\n';
  const failing = () => new Response(events, { headers: { "content-type": "text/event-stream" } });
  const unknown = () => Response.json({ error: { message: "no", type: "not_found" } }, { status: 404 });
  for (
    const [answer, ids] of [
      [failing, ["stream", "unicode", "together"]],
      [STALLED, ["cut-stream", "cut-call"]],
      [unknown, ["cut-stream", "cut-call"]],
    ] as const
  ) {
    const server = Deno.serve({ hostname: "127.0.0.1", port: 0, onListen() {} }, answer);
    const ask = openCheck({ baseUrl: `http://127.0.0.1:${server.addr.port}`, headers: {}, patienceMs: 300 });
    const upstream = { asked: [], answer() {} };
    for (const id of ids) {
      const one = [...cases, ...scriptedCases].find((one) => one.id === id)!;
      const found = await one.run({
        wire: checkedWires.find(({ name }) => name === "chat")!,
        model: "m",
        ask,
        upstream,
      });
      assert(Array.isArray(found) && found.length > 0, `${id} passes`);
    }
    await server.shutdown();
  }
});

Deno.test("probe: a server that stops answering is not asked the rest", async () => {
  const arrivals = Array.from({ length: 3 }, () => Promise.withResolvers<void>());
  let asked = 0;
  const silent = (request: Request) => {
    if (request.url.endsWith("/models")) return Promise.resolve(Response.json({ data: [{ id: "m" }] }));
    arrivals[asked++]?.resolve();
    return Promise.resolve(new Response(new ReadableStream({})));
  };
  await withFakeClock((clock) =>
    withServer(silent, async (url) => {
      const examined = examineServer({ url, patienceMs: 200 });
      const refused = assertRejects(() => examined, ProbeError, "2 questions in a row");
      for (const { promise } of arrivals) {
        await Promise.race([promise, refused]);
        await clock.advance(200);
      }
      await refused;
      assertEquals(asked, 2);
    })
  );
});

Deno.test("probe: what a server answers in its need, or cut short, says nothing of a schema", async () => {
  const busy = chatServer({ refuse: (body) => body.response_format ? error(429, "too many") : undefined });
  const cut = chatServer({
    paths: {
      "/v1/chat/completions": (body) =>
        body?.response_format
          ? Response.json({ choices: [{ finish_reason: "length", message: { role: "assistant", content: "" } }] })
          : undefined,
    },
  });
  for (const server of [busy, cut]) {
    await withServer(server, async (url) => {
      const examined = await examine(url);
      assertEquals(examined.entry.structuredOutput, undefined, valueOf(examined, "structured output"));
    });
  }
});

Deno.test("probe: what a server calls itself moves no cursor, and no ranks are no scores", async () => {
  const ranks = chatServer({
    paths: {
      "/version": () => Response.json({ version: "1\u001b[2J\n" }),
      "/v1/rerank": () => Response.json({ results: [] }),
    },
  });
  await withServer(ranks, async (url) => {
    const examined = await examine(url);
    assertEquals(valueOf(examined, "scores"), "none came");
    assertStringIncludes(examined.title!, "\u001b");
    assert(!report(examined, "mine").includes("\u001b"));
  });
});
