/** Threads: the gateway keeps the conversation, and each request of a client holds its new turn alone. */
import { assert, assertEquals, assertNotEquals, assertStringIncludes } from "@std/assert";
import { mock } from "node:test";
import type { JsonObject } from "../../../src/canonical/json.ts";
import type { Store } from "../../../src/state/store.ts";
import { createMemoryStore } from "../../../src/state/memory_store.ts";
import { CONFIG, MODES, PATH, SHORTEST } from "../../regressions/support.ts";
import { framesOf } from "../../sdk/responses_clients.ts";
import { type ConfigInput, ENV, newApp, NOW } from "../../support/app.ts";
import { answerStream } from "../../support/chat.ts";
import { fakeUpstream } from "../../support/fake_upstream.ts";
import {
  after,
  answering,
  asked,
  assertRefused,
  clientOf,
  CREATE,
  newClient,
  readTurn,
  textOf,
  THREAD_HEADERS,
  user,
} from "./thread_rig.ts";

const WEATHER = {
  name: "get_weather",
  description: "The weather of a city",
  input_schema: { type: "object", properties: { city: { type: "string" } } },
};

for (const mode of MODES) {
  const test = (name: string, run: () => Promise<void>) => Deno.test(`threads, ${mode}: ${name}`, run);

  test("the model is asked with all turns, the system prompt and the tools, of which the client sends none again", async () => {
    const client = newClient([
      { thought: "I need the weather.", calls: [{ id: "call_1", name: "get_weather", input: '{"city":"Oslo"}' }] },
      { text: "Sunny." },
      { text: "You are welcome." },
    ]);
    const first = await client.ask({
      system: "Be brief.",
      tools: [WEATHER],
      messages: [user("Is it nice?")],
      thread: CREATE,
    }, mode);
    assertEquals([first.status, first.stop], [200, "tool_use"]);
    const { id } = first.content.find(({ type }) => type === "tool_use")!;
    const result = { type: "tool_result", tool_use_id: id, content: "sunny" };
    const second = await client.ask({ messages: [user([result])], thread: after(first.id) }, mode);
    assertEquals(textOf(second), "Sunny.");
    const third = await client.ask({ messages: [user("Thanks")], thread: after(second.id) }, mode);
    assertEquals(textOf(third), "You are welcome.");
    const last = client.bodies()[2]!;
    const messages = last.messages as JsonObject[];
    assertEquals(messages.map(({ role }) => role), ["system", "user", "assistant", "tool", "assistant", "user"]);
    assertEquals([messages[0]!.content, messages[4]!.content, messages[5]!.content], ["Be brief.", "Sunny.", "Thanks"]);
    assertEquals((last.tools as JsonObject[]).map((tool) => (tool.function as JsonObject).name), ["get_weather"]);
    assertEquals(new Set([first.id, second.id, third.id]).size, 3);
    assertEquals([first.notes, second.notes, third.notes], ["", "", ""]);
  });

  test("a response is continued once", async () => {
    const client = newClient([{ text: "one" }, { text: "two" }]);
    const first = await client.ask({ messages: [user("a")], thread: CREATE }, mode);
    const second = await client.ask({ messages: [user("b")], thread: after(first.id) }, mode);
    assertEquals(second.status, 200);
    assertRefused(
      await client.ask({ messages: [user("c")], thread: after(first.id) }, mode),
      "thread_already_continued",
    );
    assertEquals(client.upstream.asked.length, 2);
    assertEquals((await client.ask({ messages: [user("c")], thread: after(second.id) }, mode)).status, 200);
  });

  test("while a request continues a response, no other does, at any gateway on the store", async () => {
    const store = createMemoryStore({ now: () => NOW, limitBytes: 1e7 });
    const gate = Promise.withResolvers<void>();
    const arrived = Promise.withResolvers<void>();
    const said = { text: "two" };
    const one = newClient([{ text: "one" }, async (asked) => {
      arrived.resolve();
      await gate.promise;
      return answering(said)(asked);
    }], { store });
    let ids = 1000;
    const two = newClient([said], { store, newId: () => String(ids++) });
    const first = await one.ask({ messages: [user("a")], thread: CREATE }, mode);
    const slow = one.ask({ messages: [user("b")], thread: after(first.id) }, mode);
    await arrived.promise;
    for (const client of [one, two]) {
      assertRefused(
        await client.ask({ messages: [user("c")], thread: after(first.id) }, mode),
        "thread_continue_in_flight",
      );
    }
    gate.resolve();
    const second = await slow;
    assertEquals(textOf(second), "two");
    assertRefused(await two.ask({ messages: [user("c")], thread: after(first.id) }, mode), "thread_already_continued");
    const third = await two.ask({ messages: [user("c")], thread: after(second.id) }, mode);
    assertEquals(third.status, 200);
    assertEquals((two.bodies()[0]!.messages as JsonObject[]).map(({ content }) => content), [
      "a",
      "one",
      "b",
      "two",
      "c",
    ]);
  });

  test("of many requests that continue one response at once, one is served", async () => {
    const client = newClient([{ text: "one" }]);
    const first = await client.ask({ messages: [user("a")], thread: CREATE }, mode);
    const turns = await Promise.all(
      Array.from({ length: 20 }, (_, at) => client.ask({ messages: [user(`b${at}`)], thread: after(first.id) }, mode)),
    );
    assertEquals(turns.filter(({ status }) => status === 200).length, 1);
    for (const { status, error } of turns) {
      if (status === 200) continue;
      assert(["thread_continue_in_flight", "thread_already_continued"].includes(error!.details!.error_code!));
    }
  });

  test("a refused turn is not kept, and the response before it can be continued again", async () => {
    const client = newClient([{ text: "one" }, { text: "no", finish: "content_filter" }, { text: "two" }]);
    const first = await client.ask({ messages: [user("a")], thread: CREATE }, mode);
    const refused = await client.ask({ messages: [user("bad")], thread: after(first.id) }, mode);
    assertEquals(refused.stop, "refusal");
    assertRefused(
      await client.ask({ messages: [user("c")], thread: after(refused.id) }, mode),
      "thread_not_found",
      404,
    );
    assertEquals(textOf(await client.ask({ messages: [user("c")], thread: after(first.id) }, mode)), "two");
    assertEquals((client.bodies()[2]!.messages as JsonObject[]).map(({ content }) => content), ["a", "one", "c"]);
  });

  test("an upstream that fails leaves the response before it to be continued", async () => {
    const client = newClient([{ text: "one" }, () => Response.json({ error: { message: "no" } }, { status: 422 }), {
      text: "two",
    }]);
    const first = await client.ask({ messages: [user("a")], thread: CREATE }, mode);
    assertNotEquals((await client.ask({ messages: [user("b")], thread: after(first.id) }, mode)).status, 200);
    assertEquals(textOf(await client.ask({ messages: [user("b")], thread: after(first.id) }, mode)), "two");
  });

  test("a request that cannot be read leaves the response to be continued", async () => {
    const client = newClient([{ text: "one" }, { text: "two" }]);
    const first = await client.ask({ messages: [user("a")], thread: CREATE }, mode);
    for (
      const wrong of [{ messages: [{ role: "nobody", content: "b" }] }, { messages: [user("b")], model: "nothing" }, {}]
    ) {
      const { status, error } = await client.ask({ ...wrong, thread: after(first.id) } as JsonObject, mode);
      assert(status === 400 || status === 404, JSON.stringify(error));
      assertEquals(error?.details?.error_code, undefined);
    }
    assertEquals(textOf(await client.ask({ messages: [user("b")], thread: after(first.id) }, mode)), "two");
  });

  test("the system prompt and the tools may be repeated, and not changed", async () => {
    const client = newClient([{ text: "one" }, { text: "two" }]);
    const created = { system: "Be brief.", tools: [WEATHER] };
    const first = await client.ask({ ...created, messages: [user("a")], thread: CREATE }, mode);
    const changed = {
      "system": { system: "Be long." },
      "tools": { tools: [] },
      "system, tools": { system: "", tools: [{ ...WEATHER, name: "x" }] },
    };
    for (const [names, fields] of Object.entries(changed)) {
      const refused = await client.ask(
        { ...fields, messages: [user("b")], thread: after(first.id) } as JsonObject,
        mode,
      );
      assertRefused(refused, "thread_fingerprint_mismatch");
      assertStringIncludes(refused.error!.message, `differing field(s): ${names}`);
    }
    const { description, ...others } = WEATHER;
    const same = {
      system: [{ type: "text", text: "Be brief.", cache_control: { type: "ephemeral" } }],
      tools: [{ ...others, description, cache_control: { type: "ephemeral" } }],
    };
    assertEquals((await client.ask({ ...same, messages: [user("b")], thread: after(first.id) }, mode)).status, 200);
  });

  test("tools change by blocks of system turns, for all later turns", async () => {
    const client = newClient([{ text: "one" }, { text: "two" }, { text: "three" }]);
    const first = await client.ask({ tools: [WEATHER], messages: [user("a")], thread: CREATE }, mode);
    const removal = { type: "tool_removal", tool: { type: "tool_reference", name: "get_weather" } };
    const second = await client.ask(
      { messages: [{ role: "system", content: [removal] }, user("b")], thread: after(first.id) },
      mode,
    );
    const addition = {
      type: "tool_addition",
      tool: { type: "tool_definition", definition: { name: "get_time", input_schema: { type: "object" } } },
    };
    const third = await client.ask(
      { messages: [{ role: "system", content: [addition] }, user("c")], thread: after(second.id) },
      mode,
    );
    assertEquals([first.status, second.status, third.status], [200, 200, 200], JSON.stringify(third.error));
    const named = client.bodies().map(({ tools }) =>
      ((tools ?? []) as JsonObject[]).map((tool) => (tool.function as JsonObject).name)
    );
    assertEquals(named, await replayed([removal, addition], mode));
  });

  test("a stream that breaks is not kept, and the response before it can be continued again", async () => {
    if (mode === "whole") return;
    const broken = () => answerStream(framesOf({ text: "two and more" }).slice(0, 2), new Error("gone"));
    const client = newClient([{ text: "one" }, broken, { text: "three" }]);
    const first = await client.ask({ messages: [user("a")], thread: CREATE }, mode);
    const second = await client.ask({ messages: [user("b")], thread: after(first.id) }, mode);
    assert(second.error, "The stream did not break");
    assertRefused(await client.ask({ messages: [user("c")], thread: after(second.id) }, mode), "thread_not_found", 404);
    assertEquals(textOf(await client.ask({ messages: [user("b")], thread: after(first.id) }, mode)), "three");
  });
}

/** The names of the tools in each turn where the client sends the whole conversation. */
async function replayed([removal, addition]: JsonObject[], mode: typeof MODES[number]): Promise<unknown> {
  const client = newClient([{ text: "one" }, { text: "two" }, { text: "three" }]);
  const said = (text: string): JsonObject => ({ role: "assistant", content: text });
  const system = (block: JsonObject): JsonObject => ({ role: "system", content: [block] });
  const turns = [[user("a")], [said("one"), system(removal!), user("b")], [said("two"), system(addition!), user("c")]];
  for (let count = 1; count <= turns.length; count++) {
    await client.ask({ tools: [WEATHER], messages: turns.slice(0, count).flat() }, mode);
  }
  return client.bodies().map(({ tools }) =>
    ((tools ?? []) as JsonObject[]).map((tool) => (tool.function as JsonObject).name)
  );
}

/** An answer of an upstream that speaks the wire itself. */
function message(text: string, more: JsonObject = {}) {
  return () => Response.json({ ...SHORTEST.messages, content: [{ type: "text", text }], ...more });
}

Deno.test("threads: an unfinished answer goes on by a request without messages, a finished one does not", async () => {
  const client = newClient([message("half", { stop_reason: "pause_turn" }), message("whole")]);
  const model = "messages";
  const first = await client.ask({ model, messages: [user("a")], thread: CREATE });
  assertEquals(first.stop, "pause_turn");
  const second = await client.ask({ model, messages: [], thread: after(first.id) });
  assertEquals(textOf(second), "whole");
  assertEquals((client.bodies()[1]!.messages as JsonObject[]).map(({ role }) => role), ["user", "assistant"]);
  const third = await client.ask({ model, messages: [], thread: after(second.id) });
  assertEquals([third.status, third.error?.type], [400, "invalid_request_error"]);
  assertStringIncludes(third.error!.message, "messages");
  const created = await client.ask({ model, messages: [], thread: CREATE });
  assertEquals(created.status, 400);
});

Deno.test("threads: an answer that another model of the vendor wrote is not kept", async () => {
  const usage = { input_tokens: 5, output_tokens: 2, iterations: [{ type: "fallback_message", input_tokens: 5 }] };
  const client = newClient([message("from another", { usage })]);
  const first = await client.ask({ model: "messages", messages: [user("a")], thread: CREATE });
  assertEquals(first.status, 200);
  assertRefused(
    await client.ask({ model: "messages", messages: [user("b")], thread: after(first.id) }),
    "thread_not_found",
    404,
  );
});

Deno.test("threads: marks for caches are those of the new turn alone", async () => {
  const client = newClient([message("one")]);
  const marked = (text: string) => user([{ type: "text", text, cache_control: { type: "ephemeral" } }]);
  let thread: JsonObject = CREATE;
  for (const text of ["a", "b", "c", "d", "e", "f"]) {
    thread = after((await client.ask({ model: "messages", messages: [marked(text)], thread })).id);
  }
  const last = JSON.stringify(client.bodies().at(-1));
  assertEquals(last.split("cache_control").length - 1, 1);
  assertStringIncludes(last, `"text":"f","cache_control"`);
});

Deno.test("threads: tokens are counted with all turns, and no count continues a response", async () => {
  const client = newClient([{ text: "one ".repeat(400) }, { text: "two" }]);
  const first = await client.ask({ messages: [user("a")], thread: CREATE });
  const count = async (body: JsonObject) => {
    const path = `${PATH.messages}/count_tokens`;
    const response = await client.app.post(path, { model: "chat", ...body }, THREAD_HEADERS);
    return (await response.json()).input_tokens;
  };
  const alone = await count({ messages: [user("b")] });
  const whole = await count({ messages: [user("b")], thread: after(first.id) });
  assert(whole > alone + 200, `${whole} and ${alone} tokens`);
  assertEquals((await client.ask({ messages: [user("b")], thread: after(first.id) })).status, 200);
});

Deno.test("threads: an explanation shows all turns, and continues nothing", async () => {
  const client = newClient([{ text: "one" }, { text: "two" }]);
  const first = await client.ask({ messages: [user("a")], thread: CREATE });
  const body = asked({ messages: [user("b")], thread: after(first.id) }, "whole");
  for (let times = 0; times < 2; times++) {
    const response = await client.app.post(PATH.messages, body, { ...THREAD_HEADERS, "x-laneway-explain": "true" });
    const { object, targets } = await response.json();
    assertEquals(object, "explanation");
    assertStringIncludes(JSON.stringify(targets), `"one"`);
  }
  assertEquals(client.upstream.asked.length, 1);
  assertEquals((await client.ask({ messages: [user("b")], thread: after(first.id) })).status, 200);
});

const TWO_KEYS = {
  ...CONFIG,
  keys: [{ name: "team", secret: { env: "TEAM_KEY" } }, { name: "guest", secret: { env: "GUEST_KEY" } }],
} satisfies ConfigInput;

Deno.test("threads: nobody continues a response of another key, a response of another endpoint, or a guessed one", async () => {
  const client = newClient([{ text: "one" }], { config: TWO_KEYS });
  const team = { "x-api-key": ENV.TEAM_KEY! };
  const guest = { "x-api-key": ENV.GUEST_KEY! };
  const first = await client.ask({ messages: [user("a")], thread: CREATE }, "whole", team);
  const plain = await client.ask({ messages: [user("a")] }, "whole", team);
  const stored = await client.app.post(PATH.responses, { model: "chat", input: "a" }, team);
  const { id: response } = await stored.json();
  const ids: [string, Record<string, string>][] = [
    [first.id, guest],
    [plain.id, team],
    [response, team],
    ["msg_1234", team],
    [first.id.slice(0, -1), team],
    ["../../answers", team],
  ];
  for (const [id, key] of ids) {
    const refused = await client.ask({ messages: [user("b")], thread: after(id) }, "whole", key);
    assertRefused(refused, "thread_not_found", 404);
  }
  // Another endpoint does not know what is kept here.
  const previous = { model: "chat", input: "b", previous_response_id: first.id };
  assertEquals((await client.app.post(PATH.responses, previous, team)).status, 400);
  assertEquals((await client.app.get(`${PATH.responses}/${first.id}`, team)).status, 404);
  assertEquals((await client.ask({ messages: [user("b")], thread: after(first.id) }, "whole", team)).status, 200);
});

for (const mode of MODES) {
  Deno.test(`threads, ${mode}: a response is claimed for as long as its request runs, and no more than a minute longer`, async () => {
    mock.timers.enable({ apis: ["setInterval"] });
    try {
      let time = NOW;
      const now = () => time;
      const store = createMemoryStore({ now, limitBytes: 1e7 });
      const [gate, arrived] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
      const one = newClient([{ text: "one" }, async (asked) => {
        arrived.resolve();
        await gate.promise;
        return answering({ text: "two" })(asked);
      }], { store, now });
      let ids = 1_000;
      const two = newClient([{ text: "three" }], { store, now, newId: () => String(ids++) });
      const first = await one.ask({ messages: [user("a")], thread: CREATE }, mode);
      const slow = one.ask({ messages: [user("b")], thread: after(first.id) }, mode);
      await arrived.promise;
      const goOn = () => two.ask({ messages: [user("c")], thread: after(first.id) }, mode);
      for (let minutes = 0; minutes < 5; minutes += 0.25) {
        time += 15_000;
        mock.timers.tick(15_000);
        assertRefused(await goOn(), "thread_continue_in_flight");
      }
      // Its gateway is gone: nothing renews the claim any more.
      time += 60_000;
      assertEquals(textOf(await goOn()), "three");
      gate.resolve();
      await slow;
    } finally {
      mock.timers.reset();
    }
  });
}

Deno.test("threads: nothing of a claim is renewed once its request is over", async () => {
  const timers = new Set<unknown>();
  const { setInterval: set, clearInterval: clear } = globalThis;
  Object.assign(globalThis, {
    setInterval: (...args: Parameters<typeof set>) => {
      const timer = set(...args);
      timers.add(timer);
      return timer;
    },
    clearInterval(timer: number) {
      timers.delete(timer);
      clear(timer);
    },
  });
  try {
    const client = newClient([
      { text: "one" },
      { text: "two" },
      () => Response.json({ error: { message: "no" } }, { status: 422 }),
    ]);
    const first = await client.ask({ messages: [user("a")], thread: CREATE });
    const second = await client.ask({ messages: [user("b")], thread: after(first.id) }, "streamed");
    await client.ask({ messages: [user("c")], thread: after(second.id) });
    assertEquals([client.upstream.asked.length, timers.size], [3, 0]);
  } finally {
    Object.assign(globalThis, { setInterval: set, clearInterval: clear });
  }
});

Deno.test("threads: one that is longer than a request may be is refused as a thread", async () => {
  const client = newClient([{ text: "x".repeat(3_000) }], { config: { ...CONFIG, limits: { bodyBytes: 4_000 } } });
  let thread: JsonObject = CREATE;
  for (let turns = 0;; turns++) {
    assert(turns < 5, "It was never too long");
    const { status, id, error } = await client.ask({ messages: [user("a")], thread });
    thread = after(id);
    if (status === 200) continue;
    assertEquals([status, error?.type], [400, "invalid_request_error"]);
    assertEquals(error!.message, "The thread is longer than one request may be: begin a new one");
    break;
  }
});

Deno.test("threads: a field that is no thread is refused with its path", async () => {
  const client = newClient([{ text: "one" }]);
  for (const thread of ["x", { type: "fork" }, { type: "continue" }, after(""), { previous_message_id: "msg_1" }]) {
    const { status, error } = await client.ask({ messages: [user("a")], thread });
    assertEquals([status, error?.type], [400, "invalid_request_error"]);
    assertStringIncludes(error!.message, "thread");
  }
  assertEquals((await client.ask({ messages: [user("a")], thread: null })).status, 200);
  assertEquals(client.upstream.asked.length, 1);
});

Deno.test("threads: a thread among an SDK's options is one", async () => {
  const client = newClient([{ text: "one" }, { text: "two" }]);
  const first = await client.ask({ messages: [user("a")], extra_body: { thread: CREATE } });
  assertEquals([first.status, textOf(first)], [200, "one"]);
  const second = await client.ask({ messages: [user("b")], extra_body: { thread: after(first.id) } });
  assertEquals([second.status, textOf(second)], [200, "two"]);
  assertEquals((client.bodies()[1]!.messages as JsonObject[]).length, 3);
});

Deno.test("threads: after a summary the model is asked with that, in a thread and without one", async () => {
  const edits = {
    context_management: { edits: [{ type: "compact_20260112", trigger: { type: "input_tokens", value: 1_000 } }] },
  };
  const headers = { "anthropic-beta": "compact-2026-01-12,message-threads-2026-08-12" };
  const client = newClient([
    { text: "one" },
    { text: "<summary>They talked at length.</summary>" },
    { text: "two" },
    { text: "three" },
    { text: "four" },
  ]);
  const long = "a long text ".repeat(1_000);
  const first = await client.ask({ messages: [user(long)], thread: CREATE }, "whole", headers);
  const second = await client.ask({ ...edits, messages: [user("b")], thread: after(first.id) }, "whole", headers);
  assertEquals([second.status, second.content[0]!.type], [200, "compaction"], JSON.stringify(second));
  const third = await client.ask({ ...edits, messages: [user("c")], thread: after(second.id) }, "whole", headers);
  assertEquals(third.status, 200, JSON.stringify(third.error));
  const whole = [user(long), { role: "assistant", content: first.content }, user("b"), {
    role: "assistant",
    content: second.content,
  }, user("c")];
  await client.ask({ ...edits, messages: whole as JsonObject[] }, "whole", headers);
  const [own, other] = client.bodies().slice(-2);
  assertEquals(own, other);
  assert(!JSON.stringify(own).includes(long));
  assertStringIncludes(JSON.stringify(own), "They talked at length.");
});

Deno.test("threads: ids of any length and form are looked for, and nothing more", async () => {
  const client = newClient([{ text: "one" }]);
  for (const id of ["x".repeat(100_000), "\u0000", "msg_1\n", "💬", "__proto__", "constructor"]) {
    assertRefused(await client.ask({ messages: [user("b")], thread: after(id) }), "thread_not_found", 404);
  }
});

Deno.test("threads: what has expired is not found", async () => {
  let time = NOW;
  const now = () => time;
  const store = createMemoryStore({ now, limitBytes: 1e7 });
  const client = newClient([{ text: "one" }], { store, now, config: { ...CONFIG, store: { retentionDays: 1 } } });
  const first = await client.ask({ messages: [user("a")], thread: CREATE });
  time += 86_400_000 - 1;
  const second = await client.ask({ messages: [user("b")], thread: after(first.id) });
  assertEquals(second.status, 200);
  time += 86_400_000 - 1;
  // The whole thread is kept for as long as its last response.
  const third = await client.ask({ messages: [user("c")], thread: after(second.id) });
  assertEquals(third.status, 200);
  time += 86_400_001;
  assertRefused(await client.ask({ messages: [user("d")], thread: after(third.id) }), "thread_not_found", 404);
});

/** A store whose calls fail while it is away. */
function shakyStore() {
  const inner = createMemoryStore({ now: () => NOW, limitBytes: 1e7 });
  const state = { isAway: false };
  const away = () => Promise.reject(new Error("The store is away"));
  const store: Store = {
    ...inner,
    get: (key) => state.isAway ? away() : inner.get(key),
    getRange: (...range) => state.isAway ? away() : inner.getRange(...range),
    add: (...args) => state.isAway ? away() : inner.add(...args),
    delete: (...keys) => state.isAway ? away() : inner.delete(...keys),
  };
  return { state, store };
}

for (const mode of MODES) {
  Deno.test(`threads: without the store nothing is continued, and an answer says that it is not kept (${mode})`, async () => {
    const { state, store } = shakyStore();
    const client = newClient([{ text: "one" }], { store });
    const first = await client.ask({ messages: [user("a")], thread: CREATE }, mode);
    state.isAway = true;
    const lost = await client.ask({ messages: [user("x")], thread: CREATE }, mode);
    assertEquals(lost.status, 200);
    assertStringIncludes(lost.notes, "could not store the response");
    const refused = await client.ask({ messages: [user("b")], thread: after(first.id) }, mode);
    assertEquals([refused.status, refused.error?.type], [529, "overloaded_error"]);
    state.isAway = false;
    assertRefused(await client.ask({ messages: [user("y")], thread: after(lost.id) }, mode), "thread_not_found", 404);
    assertEquals((await client.ask({ messages: [user("b")], thread: after(first.id) }, mode)).status, 200);
  });
}

Deno.test("threads: a key that stores its share loses its oldest thread as a whole", async () => {
  const client = newClient([{ text: "one" }], { config: { ...TWO_KEYS, store: { bytesPerKey: 1_048_576 } } });
  const team = { "x-api-key": ENV.TEAM_KEY! };
  const long = "x".repeat(300_000);
  const ids: string[] = [];
  for (let count = 0; count < 5; count++) {
    const { id, notes } = await client.ask({ messages: [user(long)], thread: CREATE }, "whole", team);
    assertEquals(notes, "");
    ids.push(id);
  }
  const next = (id: string) => client.ask({ messages: [user("b")], thread: after(id) }, "whole", team);
  assertRefused(await next(ids[0]!), "thread_not_found", 404);
  assertEquals((await next(ids.at(-1)!)).status, 200);
});

Deno.test("threads: a client that leaves in the middle keeps nothing, and may continue the response before", async () => {
  const gone = Promise.withResolvers<void>();
  const upstream = fakeUpstream(
    answering({ text: "one" }),
    ({ signal }) => {
      const body = new ReadableStream<Uint8Array>({
        start(controller) {
          controller.enqueue(new TextEncoder().encode(framesOf({ text: "two" })[0]));
          signal.addEventListener("abort", () => {
            controller.error(signal.reason);
            gone.resolve();
          }, { once: true });
        },
      });
      return new Response(body, { headers: { "content-type": "text/event-stream" } });
    },
    answering({ text: "three" }),
  );
  const client = clientOf(newApp({ config: CONFIG, fetch: upstream.fetch }), upstream);
  const first = await client.ask({ messages: [user("a")], thread: CREATE });
  const body = asked({ messages: [user("b")], thread: after(first.id) }, "streamed");
  const response = await client.app.post(PATH.messages, body, THREAD_HEADERS);
  const reader = response.body!.getReader();
  const { value } = await reader.read();
  const { id } = readTurn(new TextDecoder().decode(value));
  assertRefused(await client.ask({ messages: [user("c")], thread: after(first.id) }), "thread_continue_in_flight");
  await reader.cancel();
  await gone.promise;
  assertEquals(textOf(await client.ask({ messages: [user("c")], thread: after(first.id) })), "three");
  assertRefused(await client.ask({ messages: [user("d")], thread: after(id) }), "thread_not_found", 404);
});

Deno.test("threads: a gateway that starts anew, or another configuration, goes on with what is stored", async () => {
  const store = createMemoryStore({ now: () => NOW, limitBytes: 1e7 });
  const client = newClient([{ text: "one" }], { store });
  const first = await client.ask({ system: "Be brief.", messages: [user("a")], thread: CREATE });
  let ids = 500;
  const later = newClient([{ text: "two" }], { store, newId: () => String(ids++) });
  const second = await later.ask({ messages: [user("b")], thread: after(first.id) });
  assertEquals(second.status, 200);
  assertEquals((later.bodies()[0]!.messages as JsonObject[]).map(({ content }) => content), [
    "Be brief.",
    "a",
    "one",
    "b",
  ]);
});
