/** However many background responses one key asks for, others still get theirs. */
import { assert, assertEquals } from "@std/assert";
import { CONFIG, ENV, newApp, type TestApp } from "../support/app.ts";
import { ENDING, word } from "../support/chat.ts";

const RESPONSES = "/oss/v1/responses";

/** An upstream that says a long word, and ends each answer once it is let to. */
function newUpstream() {
  const endings: (() => void)[] = [];
  const fetch = () => {
    const body = new ReadableStream<Uint8Array>({
      start(controller) {
        controller.enqueue(new TextEncoder().encode(word("x".repeat(1_000))));
        endings.push(() => {
          controller.enqueue(new TextEncoder().encode(ENDING));
          controller.close();
        });
      },
    });
    return Promise.resolve(new Response(body, { headers: { "content-type": "text/event-stream" } }));
  };
  return { fetch, end: () => endings.splice(0).forEach((end) => end()) };
}

interface Rig {
  app: TestApp;
  ask(key: number, stream?: boolean): Promise<Response>;
  /** How many a key gets that asks until it is refused, and the refusal. */
  takeAll(key: number): Promise<{ taken: number; refusal: Response }>;
  /** Lets all answers end. */
  end(): Promise<void>;
}

function newRig(keys: number, limits: Record<string, number>): Rig {
  const upstream = newUpstream();
  const names = Array.from({ length: keys }, (_, index) => `KEY_${index}`);
  const app = newApp({
    config: {
      ...CONFIG,
      keys: names.map((name) => ({ name: name.toLowerCase().replace("_", "-"), secret: { env: name } })),
      limits: { concurrentRequests: 1_000, ...limits },
    },
    env: { ...ENV, ...Object.fromEntries(names.map((name) => [name, `secret-of-${name}`])) },
    fetch: upstream.fetch,
    newId: undefined,
  });
  const ask = (key: number, stream = false) =>
    app.post(RESPONSES, { model: "model", input: "Hello", background: true, stream }, {
      authorization: `Bearer secret-of-KEY_${key}`,
    });
  return {
    app,
    ask,
    async takeAll(key) {
      for (let taken = 0;; taken++) {
        const response = await ask(key);
        if (response.status !== 200) return { taken, refusal: response };
        await response.body?.cancel();
      }
    },
    async end() {
      const over = app.settled();
      let isOver = false;
      over.then(() => isOver = true);
      while (!isOver) {
        upstream.end();
        await new Promise((resolve) => setTimeout(resolve, 1));
      }
    },
  };
}

Deno.test("background shares: the only key gets all", async () => {
  const rig = newRig(1, { backgroundResponses: 20 });
  const { taken, refusal } = await rig.takeAll(0);
  assertEquals([taken, refusal.status], [20, 503]);
  await refusal.body?.cancel();
  await rig.end();
});

for (const keys of [2, 20]) {
  Deno.test(`background shares: a key that takes all it can leaves room for ${keys - 1} others`, async () => {
    const rig = newRig(keys, { backgroundResponses: 80 });
    const { taken, refusal } = await rig.takeAll(0);
    assertEquals([taken, refusal.status, refusal.headers.get("retry-after")], [60, 429, "5"]);
    const { error } = await refusal.json();
    assert(/^You already run 60 responses in the background/.test(error.message), error.message);
    for (let key = 1; key < keys; key++) {
      const response = await rig.ask(key);
      assertEquals(response.status, 200, `key ${key}`);
      await response.body?.cancel();
    }
    await rig.end();
  });
}

Deno.test("background shares: what has ended is free again", async () => {
  const rig = newRig(2, { backgroundResponses: 4 });
  for (let time = 0; time < 2; time++) {
    const { taken, refusal } = await rig.takeAll(0);
    assertEquals(taken, 3);
    await refusal.body?.cancel();
    await rig.end();
  }
});

Deno.test("background shares: the events that one key wants kept push out none of another's", async () => {
  const rig = newRig(2, { backgroundResponses: 100, backgroundEvents: 30_000 });
  const own = await idIn(await rig.ask(1, true));
  await rig.end();
  const others: string[] = [];
  for (let count = 0; count < 30; count++) {
    others.push(await idIn(await rig.ask(0, true)));
    await rig.end();
  }
  const eventsOf = async (id: string, key: number) => {
    const headers = { authorization: `Bearer secret-of-KEY_${key}` };
    const response = await rig.app.get(`${RESPONSES}/${id}?stream=true`, headers);
    return { status: response.status, text: await response.text() };
  };
  const found = await Promise.all(others.map((id) => eventsOf(id, 0)));
  assertEquals([found[0]!.status, found.at(-1)!.status], [404, 200], "its first ones make room for its last");
  const { status, text } = await eventsOf(own, 1);
  assertEquals([status, text.includes("response.completed")], [200, true]);
});

/** The id of the response that a stream begins with. The stream is left then. */
async function idIn({ body }: Response): Promise<string> {
  const reader = body!.pipeThrough(new TextDecoderStream()).getReader();
  let text = "";
  for (;;) {
    const { value, done } = await reader.read();
    text += value ?? "";
    const id = /"id":"(resp_\w+)"/.exec(text)?.[1];
    if (id || done) {
      await reader.cancel();
      return id!;
    }
  }
}
