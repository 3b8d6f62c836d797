/** Responses over a WebSocket, over real connections: order, memory, lanes, errors, limits, and the end. */
import { assert, assertEquals, assertMatch } from "@std/assert";
import type { JsonObject } from "../../src/canonical/json.ts";
import { CONFIG, type ConfigInput, ENV, newApp, type TestApp, type TestAppOptions } from "../support/app.ts";
import { answerStream, ENDING, frame, word } from "../support/chat.ts";
import { withFakeClock } from "../support/fake_clock.ts";
import { fakeUpstream } from "../support/fake_upstream.ts";
import { until } from "../support/wait.ts";

interface Rig {
  app: TestApp;
  url: string;
  /** What the upstream was sent. */
  sent: JsonObject[];
}

const BUILT = "What was asked was answered";

async function withGateway(use: (rig: Rig) => Promise<void>, options: TestAppOptions = {}): Promise<void> {
  const sent: JsonObject[] = [];
  const upstream = fakeUpstream(({ body }) => {
    sent.push(JSON.parse(body));
    return answerStream([word(BUILT), ENDING]);
  });
  const app = newApp({ fetch: upstream.fetch, ...options });
  const server = Deno.serve(
    { hostname: "127.0.0.1", port: 0, onListen() {} },
    (request, info) => app.fetch(request, info),
  );
  try {
    await use({ app, sent, url: `ws://127.0.0.1:${server.addr.port}/oss/v1/responses` });
  } finally {
    app.abort();
    await app.settled();
    await server.shutdown();
  }
}

/** A client that reads message by message. */
class Client {
  readonly socket: WebSocket;
  readonly opened: Promise<void>;
  readonly closed: Promise<CloseEvent>;
  readonly #messages: JsonObject[] = [];
  #news = Promise.withResolvers<void>();

  constructor(url: string) {
    this.socket = new WebSocket(url);
    this.opened = new Promise((resolve) => this.socket.onopen = () => resolve());
    this.closed = new Promise((resolve) => this.socket.onclose = resolve);
    this.socket.onmessage = ({ data }) => {
      this.#messages.push(JSON.parse(data));
      this.#news.resolve();
      this.#news = Promise.withResolvers();
    };
  }

  send(message: object | string): void {
    this.socket.send(typeof message === "string" ? message : JSON.stringify(message));
  }

  async next(): Promise<JsonObject> {
    while (this.#messages.length === 0) await this.#news.promise;
    return this.#messages.shift()!;
  }

  /** Up to the end of the next response, or an error. */
  async turn(message?: object): Promise<JsonObject[]> {
    if (message) this.send({ type: "response.create", model: "model", store: false, ...message });
    const events: JsonObject[] = [];
    for (;;) {
      const event = await this.next();
      events.push(event);
      if (/^(error|response\.(completed|failed|incomplete))$/.test(String(event.type))) return events;
    }
  }

  async close(): Promise<void> {
    this.socket.close();
    await this.closed;
  }
}

async function connect({ url }: Rig): Promise<Client> {
  const client = new Client(url);
  await client.opened;
  return client;
}

const idOf = (events: JsonObject[]) => (events.at(-1)!.response as JsonObject).id as string;
const typeOf = (events: JsonObject[]) => events.at(-1)!.type;
const errorOf = (events: JsonObject[]) => {
  const { type, status, error } = events.at(-1)!;
  assertEquals(type, "error");
  return [status, (error as JsonObject).code];
};
const said = (body: JsonObject) => (body.messages as JsonObject[]).map(({ role, content }) => `${role}: ${content}`);

Deno.test("websocket: requests are answered event by event, and go on from what only the connection remembers", async () => {
  await withGateway(async (rig) => {
    const client = await connect(rig);
    const first = await client.turn({ input: "One", instructions: "Be brief", stream: true });
    assertEquals([first[0]!.type, typeOf(first)], ["response.created", "response.completed"]);
    assertEquals(first.map(({ sequence_number }) => sequence_number), first.map((_, index) => index));
    const second = await client.turn({ input: "Two", previous_response_id: idOf(first) });
    assertEquals((second[0] as { sequence_number: number }).sequence_number, 0);
    assertEquals(said(rig.sent[1]!), ["user: One", `assistant: ${BUILT}`, "user: Two"]);
    // Of a lane, only the latest is remembered; another connection remembers nothing of it.
    assertEquals(errorOf(await client.turn({ input: "?", previous_response_id: idOf(first) })), [
      400,
      "previous_response_not_found",
    ]);
    const other = await connect(rig);
    const lost = await other.turn({ input: "?", previous_response_id: idOf(second) });
    assertEquals(errorOf(lost), [400, "previous_response_not_found"]);
    assertEquals(typeOf(await other.turn({ input: "Anew" })), "response.completed");
    await Promise.all([client.close(), other.close()]);
    const lines = rig.app.logs.map(({ status, protocol }) => `${status} ${protocol}`);
    assertEquals(lines.filter((line) => line === "200 responses").length, 3);
  });
});

Deno.test("websocket: a warm-up asks no model, and what it prepared counts", async () => {
  await withGateway(async (rig) => {
    const client = await connect(rig);
    const tools = [{ type: "function", name: "f", parameters: { type: "object" } }];
    const warm = await client.turn({ input: [{ role: "developer", content: "Rhyme" }], tools, generate: false });
    assertEquals([warm.map(({ type }) => type), rig.sent], [
      ["response.created", "response.in_progress", "response.completed"],
      [],
    ]);
    assertEquals((warm.at(-1)!.response as JsonObject).output, []);
    const answered = await client.turn({ input: "Hello", previous_response_id: idOf(warm) });
    assertEquals(said(rig.sent[0]!), ["system: Rhyme", "user: Hello"]);
    assertEquals((rig.sent[0]!.tools as unknown[]).length, 1);
    // A warm-up may come at any time.
    const again = await client.turn({
      input: [{ role: "user", content: "More" }],
      previous_response_id: idOf(answered),
      generate: false,
    });
    await client.turn({ input: [], previous_response_id: idOf(again) });
    assertEquals(said(rig.sent[1]!).slice(1), ["user: Hello", `assistant: ${BUILT}`, "user: More"]);
    await client.close();
  });
});

Deno.test("websocket: a continuation that fails is forgotten, and a result that nobody called for fails", async () => {
  await withGateway(async (rig) => {
    const client = await connect(rig);
    const id = idOf(await client.turn({ input: "One" }));
    const orphan = [{ type: "function_call_output", call_id: "call_nobody", output: "?" }];
    assertEquals(errorOf(await client.turn({ input: orphan, previous_response_id: id }))[0], 400);
    assertEquals(errorOf(await client.turn({ input: "Two", previous_response_id: id })), [
      400,
      "previous_response_not_found",
    ]);
    await client.close();
  });
});

Deno.test("websocket: what is stored goes on here and over HTTP, with all that was not", async () => {
  await withGateway(async (rig) => {
    const client = await connect(rig);
    const first = idOf(await client.turn({ input: "One" }));
    const stored = idOf(await client.turn({ input: "Two", previous_response_id: first, store: true }));
    const third = await client.turn({ input: "Three", previous_response_id: stored });
    assertEquals(typeOf(third), "response.completed");
    const all = ["user: One", `assistant: ${BUILT}`, "user: Two", `assistant: ${BUILT}`, "user: Three"];
    assertEquals(said(rig.sent[2]!), all);
    const body = { model: "model", input: "Three", previous_response_id: stored, stream: true };
    const response = await rig.app.post("/oss/v1/responses", body);
    await response.text();
    assertEquals(said(rig.sent[3]!), all);
    await client.close();
  });
});

Deno.test("websocket: lanes are answered at once, each in its order, and carry their names", async () => {
  const waiting: PromiseWithResolvers<void>[] = [];
  const asked: string[] = [];
  const fetch: typeof globalThis.fetch = async (input, init) => {
    const { messages } = await new Request(input, init).json();
    const turn = Promise.withResolvers<void>();
    asked.push(messages.at(-1).content);
    waiting.push(turn);
    await turn.promise;
    return answerStream([word(BUILT), ENDING]);
  };
  await withGateway(async (rig) => {
    const client = await connect(rig);
    const create = { type: "response.create", model: "model", store: false };
    for (const [stream_id, input] of [["a", "a1"], ["a", "a2"], ["b", "b1"], [undefined, "0"]]) {
      client.send({ ...create, stream_id, input });
    }
    while (waiting.length < 3) await new Promise((resolve) => setTimeout(resolve));
    assertEquals(asked, ["a1", "b1", "0"]);
    waiting[1]!.resolve();
    const b = await client.turn();
    assert(b.every(({ stream_id }) => stream_id === "b"));
    waiting[2]!.resolve();
    assert((await client.turn()).every((event) => !("stream_id" in event)));
    waiting[0]!.resolve();
    const a1 = await client.turn();
    while (waiting.length < 4) await new Promise((resolve) => setTimeout(resolve));
    waiting[3]!.resolve();
    assertEquals((await client.turn()).at(-1)!.stream_id, "a");
    assertEquals(asked[3], "a2");
    // A fork goes on from the same answer in a lane of its own, which keeps the parent.
    client.send({ ...create, stream_id: "c", input: "fork", previous_response_id: idOf(b) });
    while (waiting.length < 5) await new Promise((resolve) => setTimeout(resolve));
    waiting[4]!.resolve();
    assertEquals(typeOf(await client.turn()), "response.completed");
    assert(idOf(a1) !== idOf(b));
    await client.close();
  }, { fetch });
});

Deno.test("websocket: what is no request is refused in a message, and the connection goes on", async () => {
  await withGateway(async (rig) => {
    const client = await connect(rig);
    const refused: [object | string, number, RegExp][] = [
      ["{", 400, /JSON/],
      [{ type: "response.nothing" }, 400, /response.create/],
      [{ type: "response.create", stream_id: "", model: "model", input: "?" }, 400, /letters/],
      [{ type: "response.create", input: "?" }, 400, /model/],
      [{ type: "response.create", model: "none", input: "?" }, 404, /none/],
      [{ type: "response.create", model: "model", input: "?", background: true }, 400, /background/],
    ];
    for (const [message, status, words] of refused) {
      client.send(message);
      const [frame] = await client.turn() as [{ status: number; error: { message: string; code: string } }];
      assertEquals(frame.status, status, JSON.stringify(frame));
      assertMatch(frame.error.message, words);
      assertEquals(typeof frame.error.code, "string");
    }
    client.send({ type: "response.processed", response_id: "resp_1" });
    assertEquals(typeOf(await client.turn({ input: "Hello" })), "response.completed");
    for (let lane = 0; lane < 32; lane++) await client.turn({ stream_id: `lane-${lane}`, input: "Hello" });
    assertEquals(errorOf(await client.turn({ stream_id: "one-more", input: "Hello" })), [
      400,
      "websocket_stream_limit_reached",
    ]);
    client.send({ type: "response.create", stream_id: "?!", model: "model", input: "?" });
    assertEquals(errorOf(await client.turn()), [400, "invalid_stream_id"]);
    await client.close();
  });
});

Deno.test("websocket: a wrong key is refused in the handshake, and the number of connections is limited", async () => {
  const keys = [{ name: "team", secret: { env: "TEAM_KEY" } }];
  await withGateway(async ({ url }) => {
    assertEquals((await handshake(url)).status, 401);
    assertEquals((await handshake(url, { authorization: `Bearer ${ENV.TEAM_KEY}` })).status, 503);
    assertEquals(
      (await handshake(url.replace("/responses", "/models"), { authorization: `Bearer ${ENV.TEAM_KEY}` })).status,
      426,
    );
  }, { config: { ...CONFIG, keys, limits: { sockets: 0 } } as ConfigInput });
});

/** The status with which a handshake ends. */
async function handshake(url: string, headers: Record<string, string> = {}): Promise<{ status: number }> {
  const { hostname, port, pathname } = new URL(url);
  const connection = await Deno.connect({ hostname, port: Number(port) });
  const lines = [
    `GET ${pathname} HTTP/1.1`,
    `host: ${hostname}:${port}`,
    "connection: Upgrade",
    "upgrade: websocket",
    "sec-websocket-version: 13",
    "sec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==",
    ...Object.entries(headers).map(([name, value]) => `${name}: ${value}`),
  ];
  await connection.write(new TextEncoder().encode(`${lines.join("\r\n")}\r\n\r\n`));
  const bytes = new Uint8Array(4096);
  const read = await connection.read(bytes);
  connection.close();
  return { status: Number(new TextDecoder().decode(bytes.subarray(0, read ?? 0)).split(" ")[1]) };
}

Deno.test("websocket: a client that leaves stops the upstream", async () => {
  const asked = Promise.withResolvers<void>();
  const left = Promise.withResolvers<void>();
  const fetch: typeof globalThis.fetch = (input, init) => {
    const { signal } = new Request(input, init);
    asked.resolve();
    return new Promise((_, reject) =>
      signal.addEventListener("abort", () => {
        left.resolve();
        reject(signal.reason);
      })
    );
  };
  await withGateway(async (rig) => {
    const client = await connect(rig);
    client.send({ type: "response.create", model: "model", input: "Hello", store: false });
    await asked.promise;
    await client.close();
    await left.promise;
  }, { fetch });
});

Deno.test("websocket: an idle connection is closed at its age, and where the gateway drains", async () => {
  await withGateway(async (rig) => {
    const client = await connect(rig);
    assertEquals((await client.closed).code, 1000);
  }, { pace: { socketMs: 1 } });
  await withGateway(async (rig) => {
    const client = await connect(rig);
    assertEquals(typeOf(await client.turn({ input: "Hello" })), "response.completed");
    rig.app.drain();
    assertEquals((await client.closed).code, 1000);
    await rig.app.settled();
  });
});

Deno.test("websocket: a connection that became too old in an answer says so to what comes after it", async () => {
  const turn = Promise.withResolvers<void>();
  const asked = Promise.withResolvers<void>();
  const fetch: typeof globalThis.fetch = async () => {
    asked.resolve();
    await turn.promise;
    return answerStream([word(BUILT), ENDING]);
  };
  await withFakeClock((clock) =>
    withGateway(async (rig) => {
      const client = await connect(rig);
      client.send({ type: "response.create", model: "model", input: "Hello", store: false });
      await asked.promise;
      await clock.advance(10);
      client.send({ type: "response.create", model: "model", input: "Next", store: false });
      assertEquals(errorOf(await client.turn()), [400, "websocket_connection_limit_reached"]);
      turn.resolve();
      assertEquals(typeOf(await client.turn()), "response.completed");
      await client.closed;
    }, { fetch, pace: { socketMs: 10 } })
  );
});

Deno.test("websocket: the console shows an answer while it is made", async () => {
  const held = Promise.withResolvers<void>();
  const upstream = fakeUpstream(async () => {
    await held.promise;
    return answerStream([word(BUILT), ENDING]);
  });
  await withGateway(async (rig) => {
    const look = async () => await (await rig.app.get("/console/api/live")).json();
    const client = await connect(rig);
    const answered = client.turn({ input: "One" });
    let seen = await look();
    await until(async () => (seen = await look()).running[0]?.target !== undefined);
    const [{ protocol, lane, target }, ...others] = seen.running;
    assertEquals([protocol, lane, target, others], ["responses", "oss", "fake/org/model", []]);
    held.resolve();
    await answered;
    await until(async () => (seen = await look()).running.length === 0);
    assertEquals(seen.ended.at(-1).target, "fake/org/model");
    await client.close();
  }, { fetch: upstream.fetch });
});

Deno.test("websocket: an answer that breaks off goes on, and the next turn builds on all of it", async () => {
  const sent: JsonObject[] = [];
  const upstream = fakeUpstream(({ body }) => {
    sent.push(JSON.parse(body));
    const { messages } = JSON.parse(body);
    if (messages.at(-1).role === "assistant") return answerStream([word(" was answered"), ENDING]);
    return answerStream([word("What was asked")], new TypeError("connection reset"));
  });
  const config: ConfigInput = {
    ...CONFIG,
    upstreams: { ...CONFIG.upstreams, fake: { ...CONFIG.upstreams.fake, prefill: "turn" } },
  };
  await withGateway(async (rig) => {
    const client = await connect(rig);
    const first = await client.turn({ input: "One" });
    const second = await client.turn({ input: "Two", previous_response_id: idOf(first) });
    assertEquals([typeOf(first), typeOf(second)], ["response.completed", "response.completed"]);
    assertEquals(said(sent[2]!), ["user: One", `assistant: ${BUILT}`, "user: Two"]);
    await client.close();
  }, { config, fetch: upstream.fetch });
});

Deno.test("websocket: tools that a search found can be called in the next turn, which only the connection remembers", async () => {
  const calls = (name: string, args: object) =>
    frame({
      delta: { tool_calls: [{ index: 0, id: `call_${name}`, function: { name, arguments: JSON.stringify(args) } }] },
    });
  const called = `${frame({ delta: {}, finish_reason: "tool_calls" })}data: [DONE]\n\n`;
  const rounds = [
    [calls("tool_search", { query: "weather" }), called],
    [calls("get_weather", {}), called],
    [word("It rains"), ENDING],
  ];
  const sent: JsonObject[] = [];
  const { fetch } = fakeUpstream(({ body }) => {
    sent.push(JSON.parse(body));
    return answerStream(rounds[sent.length - 1]!);
  });
  await withGateway(async ({ url }) => {
    const client = new Client(url);
    await client.opened;
    const weather = { type: "function", name: "get_weather", parameters: {}, defer_loading: true };
    const tools = [{ type: "tool_search" }, weather, { ...weather, name: "send_mail" }];
    const first = await client.turn({ input: "Rain?", tools });
    const { id, output } = first.at(-1)!.response as { id: string; output: JsonObject[] };
    assertEquals(output.map(({ type }) => type), ["tool_search_call", "tool_search_output", "function_call"]);
    const result = { type: "function_call_output", call_id: output[2]!.call_id!, output: "Rain" };
    const second = await client.turn({ previous_response_id: id, input: [result], tools });
    assertEquals(second.at(-1)!.type, "response.completed");
    const offered = sent.map(({ tools }) =>
      (tools as { function: { name: string } }[]).map((tool) => tool.function.name)
    );
    assertEquals(offered, [["tool_search"], ["tool_search", "get_weather"], ["tool_search", "get_weather"]]);
    await client.close();
  }, { fetch });
});
