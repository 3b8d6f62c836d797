/** Redaction through a running gateway: upstreams see placeholders, clients what they wrote. */
import { assert, assertEquals, assertNotEquals } from "@std/assert";
import type { JsonObject } from "../../src/canonical/json.ts";
import type { Store } from "../../src/state/store.ts";
import { ENV } from "../support/app.ts";
import {
  type Answering,
  assertClean,
  assertReceivedClean,
  assertRecordsClean,
  DOORS,
  EMAIL,
  HELD,
  newRedactionRig,
  PASSWORD,
  readText,
  RECORD,
  SAID,
} from "../support/redaction_rig.ts";
import { WIRES } from "../support/wires.ts";

const { chat } = DOORS;

for (const [name, door] of Object.entries(DOORS)) {
  for (const wire of WIRES) {
    Deno.test(`redaction: ${name} to ${wire.name}, whole and streamed`, async () => {
      for (const stream of [false, true]) {
        const { app, received } = newRedactionRig({ wire, config: RECORD });
        const response = await app.post(door.path(stream), door.body(SAID, stream));
        const text = await response.text();
        assertEquals(response.status, 200, text);
        assertReceivedClean(received);
        assertEquals(received[0]!.text.match(HELD)?.length, 2);
        assertEquals(readText(door, text, stream), `You said: ${SAID}!`);
        assertEquals(await assertRecordsClean(app), 1);
      }
    });
  }
}

Deno.test("redaction: a placeholder in a stream may be cut anywhere", async () => {
  for (const [name, door] of Object.entries(DOORS)) {
    for (let piece = 1; piece < 48; piece += name === "chat" ? 1 : 7) {
      const { app } = newRedactionRig({ piece });
      const response = await app.post(door.path(true), door.body(SAID, true));
      assertEquals(readText(door, await response.text(), true), `You said: ${SAID}!`, `${name}, ${piece}`);
    }
  }
});

/** Thinks of the first placeholder, and calls a tool with all, or says the last. */
const working: Answering = ({ text }, round) => {
  const held = text.match(HELD)!;
  const call = { type: "tool-call", kind: "function", id: "call_1", name: "send", input: JSON.stringify({ to: held }) };
  return [
    { type: "reasoning", text: `think ${held[0]}` },
    ...round === 0
      ? [call as { type: "tool-call" } & typeof call as never]
      : [{ type: "text" as const, text: held.at(-1)! }],
  ];
};

/** How a client of each wire offers a tool, and goes on with its result. */
const TURNS: Record<string, { more: JsonObject; next(answer: JsonObject, result: string): JsonObject }> = {
  chat: {
    more: { tools: [{ type: "function", function: { name: "send", parameters: { type: "object" } } }] },
    next({ choices }, content) {
      const [{ message }] = choices as [{ message: { tool_calls: [{ id: string }] } & JsonObject }];
      const result = { role: "tool", tool_call_id: message.tool_calls[0].id, content };
      return { messages: [{ role: "user", content: SAID }, message, result] };
    },
  },
  messages: {
    more: {
      tools: [{ name: "send", description: `to ${EMAIL}`, input_schema: { type: "object" } }],
      thinking: { type: "enabled", budget_tokens: 1_024 },
      max_tokens: 4_000,
    },
    next({ content }, text) {
      const { id } = (content as { id: string }[]).at(-1)!;
      const result = { role: "user", content: [{ type: "tool_result", tool_use_id: id, content: text }] };
      const answer = { role: "assistant", content: content! };
      return { messages: [{ role: "user", content: SAID }, answer, result] };
    },
  },
  responses: {
    more: {
      tools: [{ type: "function", name: "send", parameters: { type: "object" } }],
      store: false,
      include: ["reasoning.encrypted_content"],
      reasoning: { effort: "high" },
    },
    next({ output }, text) {
      const items = output as JsonObject[];
      const result = { type: "function_call_output", call_id: items.at(-1)!.call_id!, output: text };
      return { input: [{ role: "user", content: SAID }, ...items, result] };
    },
  },
};

for (const [name, { more, next }] of Object.entries(TURNS)) {
  Deno.test(`redaction: ${name}: calls and thoughts have originals, and the next turn begins with the same bytes`, async () => {
    const { path, body } = DOORS[name]!;
    for (const wire of WIRES) {
      const { app, received } = newRedactionRig({ wire, answers: working });
      const first = await (await app.post(path(false), body(SAID, false, more))).text();
      assert(first.includes(PASSWORD) && first.includes(`think ${EMAIL}`), first);
      const second = body(SAID, false, { ...more, ...next(JSON.parse(first), `sent ${PASSWORD}`) });
      const last = await (await app.post(path(false), second)).text();
      for (const text of [first, last]) assert(!text.includes("redacted-"), text);
      assertReceivedClean(received);
      const [one, two] = received.map(({ body: { messages, input } }) => (messages ?? input) as JsonObject[]);
      assertEquals(JSON.stringify(two!.slice(0, one!.length)), JSON.stringify(one));
    }
  });
}

Deno.test("redaction: keys have placeholders of their own, and another's come back as they were", async () => {
  const keys = [{ name: "team", secret: { env: "TEAM_KEY" } }, { name: "guest", secret: { env: "GUEST_KEY" } }];
  const { app, received } = newRedactionRig({ config: { keys } });
  const ask = async (said: string, key: string) => {
    const headers = { authorization: `Bearer ${ENV[key]}` };
    const response = await app.post(chat!.path(false), chat!.body(said, false), headers);
    assertEquals(readText(chat!, await response.text(), false), `You said: ${said}!`);
    return received.at(-1)!.text.match(HELD)!.join(" ");
  };
  const own = await ask(SAID, "TEAM_KEY");
  assertNotEquals(await ask(SAID, "GUEST_KEY"), own);
  assertEquals(await ask(SAID, "TEAM_KEY"), own);
  for (const key of ["TEAM_KEY", "GUEST_KEY"]) await ask(`Is it ${own} or ${own.toUpperCase()}, ${EMAIL}?`, key);
});

Deno.test("redaction: an error that quotes the request has placeholders, for the client and in the log", async () => {
  for (const door of Object.values(DOORS)) {
    const { app } = newRedactionRig({
      answers: ({ text }) => Response.json({ error: { message: `bad: ${text}` } }, { status: 400 }),
    });
    const response = await app.post(door.path(true), door.body(SAID, true));
    assertEquals(response.status, 400);
    assertClean(await response.text(), "The error");
    await assertRecordsClean(app);
  }
});

Deno.test("redaction: without its key, nothing is sent, and every client gets an error of its own API", async () => {
  const store = new Proxy({}, { get: () => () => Promise.reject(new Error("The disk is full")) }) as Store;
  for (const [name, door] of Object.entries(DOORS)) {
    const { app, received } = newRedactionRig({ store, config: RECORD });
    const more: JsonObject = name === "responses" ? { store: false } : {};
    const response = await app.post(door.path(true), door.body(SAID, true, more));
    assertEquals(response.status, name === "messages" ? 529 : 503);
    assert((await response.text()).includes("The store did not give the gateway's key"));
    assertEquals(received, []);
    assertEquals(await assertRecordsClean(app), 1);
  }
});

Deno.test("redaction: a client that leaves while the key is awaited is let go", async () => {
  const hangs = Promise.withResolvers<void>();
  const store = new Proxy({}, { get: () => () => hangs.promise.then(() => undefined) }) as Store;
  const { app, received } = newRedactionRig({ store });
  const client = new AbortController();
  const body = JSON.stringify(chat!.body(SAID, true));
  const url = `http://gateway${chat!.path(true)}`;
  const asked = app.fetch(new Request(url, { method: "POST", body, signal: client.signal }));
  client.abort();
  assertEquals((await asked).status, 499);
  assertEquals(received, []);
  hangs.resolve();
  await app.settled();
});

Deno.test("redaction: many streams at once, of which some are left, do not mix", async () => {
  const { app, received } = newRedactionRig({ piece: 2, config: RECORD });
  const doors = Object.values(DOORS);
  await Promise.all(Array.from({ length: 40 }, async (_, at) => {
    const door = doors[at % doors.length]!;
    const said = `${SAID} user${at}@example.com`;
    const response = await app.post(door.path(true), door.body(said, true));
    if (at % 3 > 0) return assertEquals(readText(door, await response.text(), true), `You said: ${said}!`);
    const reader = response.body!.getReader();
    await reader.read();
    await reader.cancel();
  }));
  await app.settled();
  assertReceivedClean(received);
  assertEquals(await assertRecordsClean(app), 40);
});
