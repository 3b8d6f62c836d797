import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { openFileStore } from "../file_stores.ts";
import { createMemoryStore } from "../../../src/state/memory_store.ts";
import type { Store } from "../../../src/state/store.ts";
import { type ConfigInput, newApp, NOW } from "../../support/app.ts";
import { answerStream, ENDING, frame, word } from "../../support/chat.ts";
import { type Asked, fakeUpstream } from "../../support/fake_upstream.ts";
import { withFolder } from "../temp_folder.ts";
import { type Answer, answerTo, echoUpstream, respond, RESPONSES, said, talkIn, talkOf, WAYS } from "./echo.ts";

/** A store that counts what passes it. */
function counted(store: Store) {
  const count = { bytes: 0, writes: 0, reads: [] as string[] };
  const counting: Store = {
    ...store,
    get(key) {
      count.reads.push(JSON.stringify(key));
      return store.get(key);
    },
    getRange(list, from, to) {
      count.reads.push(JSON.stringify([list, from, to]));
      return store.getRange(list, from, to);
    },
    add(entries, expiresAt) {
      count.writes++;
      count.bytes += JSON.stringify(entries.map(([, value]) => value)).length;
      return store.add(entries, expiresAt);
    },
  };
  return { count, store: counting };
}

function memory(): Store {
  return createMemoryStore({ now: () => NOW, limitBytes: 64 * 1024 * 1024 });
}

// Long

const TURNS = 200;
const PICTURE_BYTES = 100_000;

/** A picture that is unlike the others, as a data URL. */
function picture(turn: number): string {
  return `data:image/png;base64,${String(turn).padStart(4, "0").repeat(PICTURE_BYTES / 4)}`;
}

Deno.test(`a conversation of ${TURNS} turns with pictures: what is stored grows by what is new, and all is read in one read`, async () => {
  const { count, store } = counted(memory());
  const upstream = echoUpstream();
  const app = newApp({ fetch: upstream.fetch, store });
  const texts: string[] = [];
  const pictures: string[] = [];
  let previous: string | undefined;
  for (let turn = 0; turn < TURNS; turn++) {
    const text = `turn ${String(turn).padStart(3, "0")}`;
    texts.push(text);
    const content: object[] = [{ type: "input_text", text }];
    if (turn % 10 === 0) {
      pictures.push(picture(turn));
      content.push({ type: "input_image", image_url: picture(turn), detail: "auto" });
    }
    count.bytes = count.writes = 0;
    count.reads = [];
    const body = { input: [{ role: "user", content }], ...(previous && { previous_response_id: previous }) };
    const answer = (await WAYS[turn % 2 === 0 ? "whole" : "streamed"](app, body)).body;
    assertEquals([answer.status, answer.store, said(answer)], ["completed", true, answerTo(text)]);

    assertEquals([count.reads.length, count.writes], [turn === 0 ? 0 : 1, 1]);
    const own = JSON.stringify(body).length;
    assert(count.bytes < own + 2_000, `Turn ${turn} of ${own} bytes stored ${count.bytes}`);
    const [asked] = upstream.asked.splice(0) as [Asked];
    assertEquals(talkIn(asked.body), talkOf(...texts));
    assertEquals(asked.body.match(/data:image\/png;base64,\d+/g) ?? [], pictures);
    previous = answer.id;
  }
});

Deno.test("items of answers that are not there: the store is asked for few of them", async () => {
  const { count, store } = counted(memory());
  const app = newApp({ fetch: echoUpstream().fetch, store });
  const { body } = await respond(app, { input: "Hello" });
  count.reads = [];
  const known = { type: "item_reference", id: body.output[0]!.id };
  const unknown = Array.from({ length: 1_000 }, (_, at) => ({ type: "item_reference", id: `msg_none${at}_0` }));
  const response = await app.post(RESPONSES, { model: "model", input: [known, ...unknown] });
  assertEquals(response.status, 400);
  assertStringIncludes(await response.text(), "Item with id 'msg_none0_0' not found");
  assertEquals(count.reads.length, 3);
});

Deno.test("a turn of 10,000 items, and a text of 5 MB, in a file: both are there for the turn after them", async () => {
  await withFolder(async (folder) => {
    const store = openFileStore(`${folder}/store.sqlite3`, () => Date.now());
    const upstream = echoUpstream();
    const app = newApp({ fetch: upstream.fetch, store, now: () => Date.now() });
    try {
      const items = Array.from({ length: 10_000 }, (_, index) => ({
        role: index % 2 === 0 ? "user" : "assistant",
        content: `item ${index}`,
      }));
      items.push({ role: "user", content: "last" });
      const many = (await respond(app, { input: items })).body;
      assertEquals([many.store, said(many)], [true, answerTo("last")]);
      const large = "5 MB ".repeat(1_000_000);
      const input = [
        { role: "user", content: large },
        { role: "assistant", content: "well" },
        { role: "user", content: "short" },
      ];
      const long = (await WAYS.streamed(app, { input, previous_response_id: many.id })).body;
      assertEquals([long.store, said(long)], [true, answerTo("short")]);
      const next = await respond(app, { input: "next", previous_response_id: long.id });
      assertEquals(next.status, 200);
      const talk = talkIn(upstream.asked.at(-1)!.body);
      const expected = [
        ...items.map(({ role, content }) => [role, content]),
        ["assistant", answerTo("last")],
        ["user", large],
        ["assistant", "well"],
        ["user", "short"],
        ["assistant", answerTo("short")],
        ["user", "next"],
      ];
      // Not `assertEquals`: the difference of two such lists would take minutes to print.
      assert(JSON.stringify(talk) === JSON.stringify(expected), `${talk.length} turns of ${expected.length}`);

      const page = await app.get(`${RESPONSES}/${many.id}/input_items?order=asc&limit=100`);
      const list: { data: { content: { text: string }[] }[]; has_more: boolean } = await page.json();
      assertEquals([list.data.length, list.has_more, list.data[99]!.content[0]!.text], [100, true, "item 99"]);
    } finally {
      await app.close();
    }
  });
});

// Odd

for (const [way, ask] of Object.entries(WAYS)) {
  Deno.test(`a conversation whose middle was deleted cannot go on, and says which answer is missing: ${way}`, async () => {
    const upstream = echoUpstream();
    const app = newApp({ fetch: upstream.fetch });
    const ids: string[] = [];
    for (const input of ["a", "b", "c", "d"]) {
      ids.push((await ask(app, { input, previous_response_id: ids.at(-1) })).body.id);
    }
    const deleted = await app.fetch(new Request(`http://gateway${RESPONSES}/${ids[1]}`, { method: "DELETE" }));
    assertEquals(await deleted.json(), { id: ids[1], object: "response", deleted: true });
    const asked = upstream.asked.length;
    for (const id of [ids[2]!, ids[3]!]) {
      const { status, body } = await ask(app, { input: "e", previous_response_id: id });
      const { code, param, message } = body.error!;
      assertEquals([status, code, param], [400, "previous_response_not_found", "previous_response_id"]);
      assertStringIncludes(message, `'${id}'`);
      assertStringIncludes(message, `'${ids[1]}'`);
      assertEquals((await app.get(`${RESPONSES}/${id}`)).status, 200);
    }
    assertEquals(upstream.asked.length, asked);
    // From before it, the conversation goes on.
    assertEquals((await ask(app, { input: "f", previous_response_id: ids[0] })).status, 200);
    assertEquals(talkIn(upstream.asked.at(-1)!.body), talkOf("a", "f"));
  });

  Deno.test(`two conversations go on from one answer, and know nothing of each other: ${way}`, async () => {
    const upstream = echoUpstream();
    const app = newApp({ fetch: upstream.fetch });
    const root = (await ask(app, { input: "root" })).body.id;
    const branch = async (name: string) => {
      let id = root;
      for (const turn of [1, 2, 3]) {
        const { body } = await ask(app, { input: `${name} ${turn}`, previous_response_id: id });
        assertEquals(body.previous_response_id, id);
        id = body.id;
      }
      return id;
    };
    const [left, right] = await Promise.all([branch("left"), branch("right")]);
    for (const [name, id] of [["left", left], ["right", right]] as const) {
      await ask(app, { input: "end", previous_response_id: id });
      const talk = talkIn(upstream.asked.at(-1)!.body);
      assertEquals(talk, talkOf("root", ...[1, 2, 3].map((turn) => `${name} ${turn}`), "end"));
    }
    // One that ends leaves the other.
    await (await app.fetch(new Request(`http://gateway${RESPONSES}/${left}`, { method: "DELETE" }))).body?.cancel();
    assertEquals((await ask(app, { input: "on", previous_response_id: right })).status, 200);
  });

  Deno.test(`an answer that is not to be kept knows what was before it, and nothing follows it: ${way}`, async () => {
    const { count, store } = counted(memory());
    const upstream = echoUpstream();
    const app = newApp({ fetch: upstream.fetch, store });
    const first = (await ask(app, { input: "a" })).body;
    count.writes = 0;
    const { body } = await ask(app, { input: "b", previous_response_id: first.id, store: false });
    assertEquals(talkIn(upstream.asked.at(-1)!.body), talkOf("a", "b"));
    assertEquals([body.store, body.previous_response_id, count.writes], [false, first.id, 0]);
    const after = await ask(app, { input: "c", previous_response_id: body.id });
    assertEquals([after.status, after.body.error?.code], [400, "previous_response_not_found"]);
    // A reference to its words is one to nothing, too.
    const { status } = await ask(app, { input: [{ type: "item_reference", id: body.output[0]!.id }] });
    assertEquals(status, 400);
    assertEquals((await ask(app, { input: "d", previous_response_id: first.id })).status, 200);
    assertEquals(talkIn(upstream.asked.at(-1)!.body), talkOf("a", "d"));
  });

  Deno.test(`an answer that was cut at its longest goes on: ${way}`, async () => {
    const end = { delta: {}, finish_reason: "length" };
    const upstream = fakeUpstream(({ body }) =>
      JSON.parse(body).stream ? answerStream([word("cut"), frame(end), "data: [DONE]\n\n"]) : Response.json({
        model: "org/model",
        choices: [{ index: 0, message: { role: "assistant", content: "cut" }, finish_reason: "length" }],
      })
    );
    const app = newApp({ fetch: upstream.fetch });
    const first = (await ask(app, { input: "a" })).body;
    assertEquals([first.status, first.store], ["incomplete", true]);
    await ask(app, { input: "b", previous_response_id: first.id });
    const talk = talkIn(upstream.asked.at(-1)!.body);
    assertEquals(talk, [["user", "a"], ["assistant", "cut"], ["user", "b"]]);
    const again: Answer = await (await app.get(`${RESPONSES}/${first.id}`)).json();
    assertEquals([again.status, said(again)], ["incomplete", "cut"]);
  });
}

Deno.test("instructions and tools hold for one answer", async () => {
  const upstream = echoUpstream();
  const app = newApp({ fetch: upstream.fetch });
  const tool = (name: string) => ({ type: "function", name, parameters: { type: "object" }, strict: false });
  const settings = { tools: [tool("first")], tool_choice: "required", temperature: 0.25, max_output_tokens: 99 };
  const first = (await respond(app, { input: "a", instructions: "Be brief.", ...settings })).body;
  const second = (await respond(app, { input: "b", previous_response_id: first.id })).body;
  await respond(app, {
    input: "c",
    previous_response_id: second.id,
    instructions: "Be long.",
    tools: [tool("second")],
  });
  const bodies = upstream.asked.map(({ body }) => JSON.parse(body));
  assertEquals(bodies.map(({ tools }) => tools?.map((one: { function: { name: string } }) => one.function.name)), [
    ["first"],
    undefined,
    ["second"],
  ]);
  const settled = bodies.map((
    body,
  ) => [body.tool_choice, body.temperature, body.max_completion_tokens ?? body.max_tokens]);
  assertEquals(settled, [["required", 0.25, 99], [undefined, undefined, undefined], [undefined, undefined, undefined]]);
  const said = upstream.asked.map(({ body }) => talkIn(body));
  assertEquals(said, [
    [["system", "Be brief."], ...talkOf("a")],
    talkOf("a", "b"),
    [["system", "Be long."], ...talkOf("a", "b", "c")],
  ]);
});

Deno.test("instructions among the input are part of the conversation", async () => {
  const upstream = echoUpstream();
  const app = newApp({ fetch: upstream.fetch });
  const input = [{ role: "developer", content: "Be brief." }, { role: "user", content: "a" }];
  const { id } = (await respond(app, { input, instructions: "Be kind." })).body;
  await respond(app, { input: "b", previous_response_id: id });
  assertEquals(talkIn(upstream.asked[1]!.body), [["system", "Be brief."], ...talkOf("a", "b")]);
});

// Another model in the middle

const TWO_MODELS: ConfigInput = {
  upstreams: {
    one: { driver: "responses", baseUrl: "http://one.test/v1" },
    other: { driver: "responses", baseUrl: "http://other.test/v1" },
    plain: { driver: "chat", baseUrl: "http://plain.test/v1" },
  },
  lanes: {
    oss: {
      models: {
        one: { task: "chat", targets: [{ upstream: "one", model: "gpt-5" }] },
        other: { task: "chat", targets: [{ upstream: "other", model: "gpt-5" }] },
        plain: { task: "chat", targets: [{ upstream: "plain", model: "org/model" }] },
      },
    },
  },
};

/** What the upstreams of the Responses wire answer: thoughts that only they can read, with a summary that all can. */
const THOUGHTFUL = {
  id: "resp_up",
  object: "response",
  status: "completed",
  model: "gpt-5",
  output: [
    {
      id: "rs_up",
      type: "reasoning",
      summary: [{ type: "summary_text", text: "Plain thought" }],
      encrypted_content: "SEALED",
    },
    {
      id: "msg_up",
      type: "message",
      role: "assistant",
      status: "completed",
      content: [{ type: "output_text", text: "Said", annotations: [] }],
    },
  ],
  usage: { input_tokens: 1, output_tokens: 1, total_tokens: 2 },
};

Deno.test("a conversation that changes its model shows nobody else's sealed thoughts, and everybody's words", async () => {
  const upstream = fakeUpstream(({ url }) =>
    url.host === "plain.test"
      ? Response.json({
        choices: [{ index: 0, message: { role: "assistant", content: "Plain" }, finish_reason: "stop" }],
      })
      : Response.json({
        ...THOUGHTFUL,
        output: JSON.parse(JSON.stringify(THOUGHTFUL.output).replace("SEALED", `SEALED BY ${url.host}`)),
      })
  );
  const app = newApp({ config: TWO_MODELS, fetch: upstream.fetch });
  const notes: (string | null)[] = [];
  let previous: string | undefined;
  for (const model of ["one", "one", "other", "plain", "other", "one"]) {
    const reply = await respond(app, { model, input: "Go on", previous_response_id: previous });
    assertEquals(reply.status, 200, JSON.stringify(reply.body));
    notes.push(reply.headers.get("x-laneway-notes"));
    previous = reply.body.id;
  }
  const bodies = upstream.asked.map(({ body }) => body);
  const sealed = bodies.map((body) => body.match(/SEALED BY \w+/g) ?? []);
  const [one, other] = ["SEALED BY one", "SEALED BY other"];
  assertEquals(sealed, [[], [one], [], [], [other], [one, one]]);
  const foreign = "dropped reasoning that only another model can read";
  assertEquals(notes.map((note) => note?.includes(foreign) ?? false), [false, false, true, true, true, true]);
  // What all can read stays; the vendor's own models take thoughts back sealed or not at all.
  assertEquals(bodies.map((body) => body.match(/"Said"/g)?.length ?? 0), [0, 1, 2, 3, 3, 4]);
  assertEquals(bodies.map((body) => body.match(/Plain thought/g)?.length ?? 0), [0, 1, 0, 3, 1, 2]);
});

Deno.test("thoughts are read again with their answer", async () => {
  const upstream = fakeUpstream(() =>
    answerStream([frame({ delta: { reasoning_content: "Hm." } }), word("Hi"), ENDING])
  );
  const app = newApp({ fetch: upstream.fetch });
  const first = (await WAYS.streamed(app, { input: "a" })).body;
  const again: Answer = await (await app.get(`${RESPONSES}/${first.id}`)).json();
  assertEquals(again.output, first.output);
  assertEquals(first.output.map(({ type }) => type), ["reasoning", "message"]);
});
