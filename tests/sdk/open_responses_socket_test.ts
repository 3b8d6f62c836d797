/**
 * What the compliance suite of the published Open Responses specification does beyond one request and its answer: the
 * WebSocket and compaction, before upstreams of each wire. Written from the suite's own words; all of its cases at once. Its
 * eight others are in `open_responses_test.ts`.
 */
import { assert, assertEquals } from "@std/assert";
import { z } from "zod";
import type { JsonObject } from "../../src/canonical/json.ts";
import { newAppBefore, WIRES } from "./open_responses_gateway.ts";
import { event, response } from "./open_responses_schema.ts";

const errorEvent = z.object({
  type: z.literal("error"),
  status: z.int(),
  error: z.object({
    code: z.string(),
    message: z.string(),
    type: z.string().optional(),
    param: z.string().nullish(),
  }),
});
/** The first answer of a summary is an item that the suite's schema of events has not; it asks for none here. */
const message = z.union([errorEvent, event]);
const detail = z.object({ cached_tokens: z.int() });
const compaction = z.object({
  id: z.string(),
  object: z.literal("response.compaction"),
  created_at: z.int(),
  output: z.array(z.looseObject({ type: z.enum(["message", "compaction"]) })).min(1),
  usage: z.looseObject({
    input_tokens_details: detail,
    output_tokens_details: z.object({ reasoning_tokens: z.int() }),
  }),
});

/** How a turn ended: the response, or the error's code. */
type Ending = { id: string; code?: undefined } | { code: string; id?: undefined };

class Connection {
  readonly #socket: WebSocket;
  readonly #messages: string[] = [];
  #news = Promise.withResolvers<void>();

  constructor(url: string) {
    this.#socket = new WebSocket(url);
    this.#socket.onmessage = ({ data }) => {
      this.#messages.push(data);
      this.#news.resolve();
      this.#news = Promise.withResolvers();
    };
  }

  async open(): Promise<this> {
    await new Promise((resolve) => this.#socket.onopen = resolve);
    return this;
  }

  async turn(body: object): Promise<Ending> {
    this.#socket.send(JSON.stringify({ type: "response.create", ...body }));
    for (;;) {
      while (this.#messages.length === 0) await this.#news.promise;
      const one = message.parse(JSON.parse(this.#messages.shift()!));
      if (one.type === "error") return { code: one.error.code };
      if (one.type === "response.failed") return { code: "failed" };
      if (one.type !== "response.completed") continue;
      const answer = response.parse(one.response);
      assertEquals(answer.status, "completed");
      return { id: answer.id };
    }
  }

  async close(): Promise<void> {
    const closed = new Promise((resolve) => this.#socket.onclose = resolve);
    this.#socket.close();
    await closed;
  }
}

interface Rig {
  base: string;
  model: string;
  connect(): Promise<Connection>;
  compact(body: object): Promise<Response>;
}

const user = (content: string) => ({ type: "message", role: "user", content });
const NOT_FOUND = { code: "previous_response_not_found" };

const CASES: Record<string, (rig: Rig) => Promise<void>> = {
  async "websocket-response"({ connect, model }) {
    const socket = await connect();
    assert((await socket.turn({ model, input: [user("Count from 1 to 3.")] })).id);
    await socket.close();
  },
  async "websocket-sequential-responses"({ connect, model }) {
    const socket = await connect();
    for (const input of ["Say one.", "Say two."]) assert((await socket.turn({ model, input, store: false })).id);
    await socket.close();
  },
  async "websocket-continuation"({ connect, model }) {
    const socket = await connect();
    const { id } = await socket.turn({ model, store: false, input: "Remember the word plum." });
    const input = [user("What is the word?")];
    assert((await socket.turn({ model, store: false, previous_response_id: id, input })).id);
    await socket.close();
  },
  async "websocket-reconnect-store-false-recovery"({ connect, model }) {
    const first = await connect();
    const { id } = await first.turn({ model, store: false, input: "Hello" });
    await first.close();
    const second = await connect();
    const lost = await second.turn({ model, store: false, previous_response_id: id, input: [user("Go on")] });
    assertEquals(lost, NOT_FOUND);
    assert((await second.turn({ model, store: false, input: [user("Hello"), user("Go on")] })).id);
    await second.close();
  },
  async "websocket-previous-response-not-found"({ connect, model }) {
    const socket = await connect();
    const body = { model, store: false, previous_response_id: "resp_none", input: [user("Hello")] };
    assertEquals(await socket.turn(body), NOT_FOUND);
    await socket.close();
  },
  async "websocket-failed-continuation-evicts-cache"({ connect, model }) {
    const socket = await connect();
    const { id } = await socket.turn({ model, store: false, input: "Hello" });
    const orphan = { type: "function_call_output", call_id: "call_none", output: "?" };
    const failed = await socket.turn({ model, store: false, previous_response_id: id, input: [orphan] });
    assert(failed.code !== undefined);
    const gone = await socket.turn({ model, store: false, previous_response_id: id, input: [user("Go on")] });
    assertEquals(gone, NOT_FOUND);
    await socket.close();
  },
  async "websocket-compact-new-chain"({ connect, compact, model }) {
    const said = { type: "message", role: "assistant", content: [{ type: "output_text", text: "Noted." }] };
    const compacted = await compact({ model, input: [user("My word is plum."), said, user("Keep it.")] });
    assertEquals(compacted.status, 200);
    const { output }: { output: JsonObject[] } = await compacted.json();
    const socket = await connect();
    const input = [...output, user("What is my word?")];
    assert((await socket.turn({ model, store: false, tools: [], input })).id);
    await socket.close();
  },
  async "compact-response"({ compact, model }) {
    const input = [user("Hello"), { type: "message", role: "assistant", content: "Hi" }];
    const answer = await compact({ model, prompt_cache_key: "key", input });
    assertEquals(answer.status, 200);
    const { output } = compaction.parse(await answer.json());
    const items = output.filter(({ type }) => type === "compaction");
    assert(items.length >= 1);
    for (const { id, encrypted_content } of items) {
      assertEquals([typeof id, typeof encrypted_content], ["string", "string"]);
    }
  },
  async "compact-missing-model"({ compact }) {
    const answer = await compact({ input: [user("Hello")] });
    assertEquals(answer.status, 400);
    await answer.body?.cancel();
  },
};

for (const wire of WIRES) {
  Deno.test(`Open Responses: the nine cases beyond one request, before a ${wire} upstream`, async () => {
    const app = newAppBefore(wire);
    const server = Deno.serve(
      { hostname: "127.0.0.1", port: 0, onListen() {} },
      (request, info) => app.fetch(request, info),
    );
    const base = `127.0.0.1:${server.addr.port}/oss/v1/responses`;
    const rig: Rig = {
      base,
      model: "sandbox",
      connect: () => new Connection(`ws://${base}`).open(),
      compact: (body) => fetch(`http://${base}/compact`, { method: "POST", body: JSON.stringify(body) }),
    };
    try {
      await Promise.all(Object.values(CASES).map((run) => run(rig)));
    } finally {
      app.abort();
      await app.settled();
      await server.shutdown();
    }
  });
}
