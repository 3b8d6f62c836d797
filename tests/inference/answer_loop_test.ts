import { assert, assertEquals } from "@std/assert";
import type { Emit, StreamTransform, StreamWriter } from "../../src/contract/stream.ts";
import type { Frame } from "../../src/contract/frame.ts";
import type { FrameText } from "../../src/http/framing.ts";
import { AnswerLoop, type LoopOptions, type Passage } from "../../src/inference/answer_loop.ts";
import type { EventSource } from "../../src/util/event_source.ts";
import type { SlicedWork } from "../../src/util/sliced_work.ts";
import { turnsDuring } from "../support/turns.ts";

interface Event {
  type: "text" | "part-delta" | "finish" | "error";
  text: string;
}

const event = (text: string, type: Event["type"] = "text"): Event => ({ type, text });
const WRITER: StreamWriter<Event> = { write: ({ text }, emit) => emit({ data: text }) };

function textOf(format: (frame: Frame) => string): FrameText {
  const frames = { text: "", add: (frame: Frame) => void (frames.text += format(frame)) };
  return frames;
}

function loopOf(batches: Event[][], passage: Passage<Event> = {}, more: Partial<LoopOptions> = {}, writer = WRITER) {
  const left = [...batches];
  let pulls = 0;
  const source: EventSource<Event> = {
    next: () => (pulls++, Promise.resolve(left.shift())),
    cancel: () => Promise.resolve(),
  };
  const loop = new AnswerLoop(source, writer, passage, {
    frames: textOf(({ data, comment }) => comment ? `#${comment} ` : `${data} `),
    lateNotes: () => [],
    signal: new AbortController().signal,
    ...more,
  });
  return { loop, pulls: () => pulls };
}

async function chunksOf({ loop }: ReturnType<typeof loopOf>): Promise<string[]> {
  const chunks: string[] = [];
  for (let chunk = await loop.next(); chunk !== undefined; chunk = await loop.next()) chunks.push(chunk);
  return chunks;
}

Deno.test("loop: what one read gave goes out as one chunk, and nothing is read ahead", async () => {
  const one = loopOf([[event("a"), event("b")], [event("c")]]);
  assertEquals([one.pulls(), await one.loop.next(), one.pulls()], [0, "a b ", 1]);
  assertEquals(await chunksOf(one), ["c "]);
});

Deno.test("loop: where a read gives nothing to send, it reads on", async () => {
  const silent: StreamWriter<Event> = { write: ({ text }, emit) => text === "b" ? emit({ data: text }) : undefined };
  assertEquals(await chunksOf(loopOf([[event("a")], [event("b")], [event("c")]], {}, {}, silent)), ["b "]);
});

Deno.test("loop: events pass every transform in turn; what they hold back comes with what releases it", async () => {
  let held = "";
  const hold: StreamTransform<Event> = {
    push(one, emit) {
      held += one.text;
      if (one.type === "finish") emit(event(held, "finish"));
    },
  };
  const double: StreamTransform<Event> = {
    push(one, emit) {
      emit({ ...one, text: one.text.toUpperCase() });
      emit({ ...one, text: "+" });
    },
  };
  const batches = [[event("a"), event("b")], [event("c", "finish")]];
  assertEquals(await chunksOf(loopOf(batches, { transforms: [hold, double] })), ["ABC + "]);
});

Deno.test("loop: increments pass a transform that has nothing to do with them, until another event changes that", async () => {
  const seen: string[] = [];
  const transform = {
    passesDeltas: true,
    push(one: Event, emit: Emit<Event>) {
      seen.push(one.text);
      transform.passesDeltas = one.text === "pass";
      emit({ ...one, text: one.text.toUpperCase() });
    },
  };
  const asked: string[] = [];
  const before = ({ text }: Event) => void asked.push(text);
  const delta = (text: string) => event(text, "part-delta");
  const batches = [[event("a"), delta("b")], [delta("c")], [event("pass"), delta("d")], [delta("e"), delta("f")]];
  const { loop } = loopOf(batches, { transforms: [transform], before });
  assertEquals(await chunksOf({ loop, pulls: () => 0 }), ["A B ", "C ", "PASS d ", "e f "]);
  assertEquals([seen, asked], [["a", "b", "c", "pass"], ["a", "pass"]]);
});

Deno.test("loop: long work of a transform is done in slices, and ends with the client", async () => {
  const done: string[] = [];
  function* work(emit: () => void): SlicedWork<void> {
    for (let slice = 0; slice < 20; slice++) {
      done.push("slice");
      yield;
    }
    emit();
  }
  const long: StreamTransform<Event> = { push: (one, emit) => work(() => emit(one)) };
  const turns = await turnsDuring(async () => {
    assertEquals(await chunksOf(loopOf([[event("a")]], { transforms: [long] })), ["a "]);
  });
  assert(turns >= 10, `${turns} turns`);
  done.length = 0;
  await turnsDuring(async () => {
    const gone = new AbortController();
    const { loop } = loopOf([[event("a")]], { transforms: [long] }, { signal: gone.signal });
    const next = loop.next().catch(() => "ended");
    gone.abort(new Error("left"));
    assertEquals(await next, "ended");
  });
  assert(done.length < 20, `${done.length} slices for nobody`);
});

Deno.test("loop: what comes before a wait is sent, then the wait begins, and then the event goes on", async () => {
  const log: string[] = [];
  const stored = Promise.withResolvers<void>();
  const before = ({ type }: Event) =>
    type === "finish"
      ? () => {
        log.push("storing");
        return stored.promise.then(() => void log.push("stored"));
      }
      : undefined;
  const note: StreamTransform<Event> = { push: (one, emit) => (log.push(one.text), emit(one)) };
  const { loop } = loopOf([[event("a"), event("b"), event("end", "finish")]], { transforms: [note], before });
  assertEquals([await loop.next(), log.splice(0)], ["a b ", ["a", "b"]]);
  const last = loop.next();
  await Promise.resolve();
  assertEquals(log, ["storing"]);
  stored.resolve();
  assertEquals([await last, log], ["end ", ["storing", "stored", "end"]]);
  assertEquals(await loop.next(), undefined);
});

Deno.test("loop: several events of one read may each be waited for", async () => {
  const log: string[] = [];
  const before = ({ text }: Event) => text < "c" ? () => Promise.resolve(void log.push(text)) : undefined;
  const chunks = await chunksOf(loopOf([[event("a"), event("b"), event("c")], [event("d")]], { before }));
  assertEquals([chunks, log], [["a ", "b c ", "d "], ["a", "b"]]);
});

for (const type of ["finish", "error"] as const) {
  Deno.test(`loop: a note that comes while "${type}" is written goes out before its frames`, async () => {
    let note: string | undefined;
    const writer: StreamWriter<Event> = {
      write(one, emit) {
        if (one.type === type) note = "late";
        emit({ data: one.text });
        emit({ data: "." });
      },
    };
    const lateNotes = () => note ? [{ comment: note }] : [];
    const chunks = await chunksOf(loopOf([[event("a"), event("end", type)]], {}, { lateNotes }, writer));
    assertEquals(chunks, ["a . #late end . "]);
  });
}

Deno.test("loop: much to write is sent in slices, and others have a turn between them", async () => {
  const texts = Array.from({ length: 6 }, (_, at) => `${at}`.repeat(8_192));
  const many = texts.map((text) => event(text));
  let chunks: string[] = [];
  const turns = await turnsDuring(async () => {
    chunks = await chunksOf(loopOf([many]));
  });
  assertEquals(chunks.join(""), `${texts.join(" ")} `);
  assert(chunks.length > 1 && turns >= chunks.length - 1, `${chunks.length} chunks, ${turns} turns`);
});
