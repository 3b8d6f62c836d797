/** Clients that take nothing of a streamed answer, by timers that the test moves. */
import { assertEquals, assertRejects } from "@std/assert";
import { mock } from "node:test";
import { passOn, streamResponse } from "../../src/http/respond.ts";

const encoder = new TextEncoder();
/** Short ones, the preset and the longest that there is. */
const LIMITS = [4, 1_000, 60_000, 2_147_483_647];

interface Source {
  body: ReadableStream<Uint8Array>;
  /** Hands over one more piece. */
  give(): void;
  happened: string[];
}

/** A streamed answer, in each of the two ways in which there are any. */
const WAYS: Record<string, (sendStallMs: number) => Source> = {
  events(sendStallMs) {
    const { pieces, give, happened, options } = source(sendStallMs);
    const chunks = {
      next: async () => (await pieces.next()).value as string,
      cancel: async () => void await pieces.return(undefined),
    };
    const response = streamResponse(chunks, {
      ...options,
      mediaType: "text/event-stream",
      keepAlive: () => "",
      keepAliveMs: 2 ** 31 - 1,
      isServed: true,
    });
    return { body: response.body!, give, happened };
  },
  bytes(sendStallMs) {
    const { pieces, give, happened, options } = source(sendStallMs);
    const bytes = new ReadableStream<Uint8Array<ArrayBuffer>>({
      async pull(controller) {
        const { value } = await pieces.next();
        controller.enqueue(encoder.encode(value!));
      },
      cancel: async () => void await pieces.return(undefined),
    }, { highWaterMark: 0 });
    return { body: passOn(bytes, options), give, happened };
  },
};

function source(sendStallMs: number) {
  const happened: string[] = [];
  const due: string[] = [];
  let more = Promise.withResolvers<void>();
  const pieces = (async function* (): AsyncGenerator<string, void> {
    try {
      for (;;) {
        while (due.length > 0) yield due.shift()!;
        await more.promise;
      }
    } finally {
      happened.push("source over");
    }
  })();
  const give = () => {
    due.push("piece");
    more.resolve();
    more = Promise.withResolvers();
  };
  const tell = (what: string) => () => void happened.push(what);
  const options = {
    sendStallMs,
    onStall: tell("stalled"),
    onLeave: tell("left"),
    onFailure: tell("failed"),
    onEnd: tell("ended"),
  };
  return { pieces, give, happened, options };
}

/** Lets promises that are due go on. */
async function settle(): Promise<void> {
  for (let turn = 0; turn < 50; turn++) await Promise.resolve();
}

/** Time passes in steps, as it does. */
function pass(ms: number): void {
  const step = Math.max(1, Math.floor(ms / 50));
  for (let passed = 0; passed < ms; passed += step) mock.timers.tick(Math.min(step, ms - passed));
}

function withTimers(name: string, run: () => Promise<void>): void {
  Deno.test(name, async () => {
    mock.timers.enable({ apis: ["setInterval"] });
    try {
      await run();
    } finally {
      mock.timers.reset();
    }
  });
}

for (const [way, open] of Object.entries(WAYS)) {
  for (const limitMs of LIMITS) {
    withTimers(`unread ${way}: a client that takes nothing for ${limitMs} ms is let go, once`, async () => {
      const { body, give, happened } = open(limitMs);
      const reader = body.getReader();
      give();
      await reader.read();
      await settle();
      pass(limitMs);
      assertEquals(happened, []);
      pass(limitMs);
      await settle();
      assertEquals(happened.toSorted(), ["ended", "source over", "stalled"]);
      await assertRejects(() => reader.read(), Error, "was cut off");
      pass(10 * limitMs);
      assertEquals(happened.length, 3);
    });
  }

  withTimers(`unread ${way}: a client that never begins to read is let go, too`, async () => {
    const { body, happened } = open(60_000);
    pass(120_000);
    await settle();
    assertEquals(happened.slice(0, 2), ["stalled", "ended"]);
    await assertRejects(() => body.getReader().read(), Error, "was cut off");
  });

  withTimers(`unread ${way}: a client that reads slowly, but steadily, is served for as long as it takes`, async () => {
    const { body, give, happened } = open(60_000);
    const reader = body.getReader();
    for (let piece = 0; piece < 500; piece++) {
      give();
      await reader.read();
      await settle();
      pass(60_000);
    }
    assertEquals(happened, []);
    await reader.cancel();
    assertEquals(happened.includes("left"), true);
  });

  withTimers(`unread ${way}: a client that waits for a silent upstream is not blamed`, async () => {
    const { body, give, happened } = open(60_000);
    const reader = body.getReader();
    const first = reader.read();
    await settle();
    pass(100 * 60_000);
    await settle();
    assertEquals(happened, []);
    give();
    assertEquals((await first).done, false);
    const cancelled = reader.cancel();
    give();
    await cancelled;
  });
}
