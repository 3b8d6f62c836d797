import { assert, assertEquals, assertRejects } from "@std/assert";
import { gzipSync } from "node:zlib";
import { GatewayError } from "../../src/errors.ts";
import { Room, uploadBytesOf } from "../../src/http/body_memory.ts";
import { createUploads } from "../../src/http/uploads.ts";
import { until } from "../support/wait.ts";

const LIMITS = { limitBytes: 1_000, timeoutMs: 10_000 };

const CALLER = "key:one";

function newUploads(totalBytes: number, limits = LIMITS) {
  return createUploads({ form: limits, json: limits, totalBytes });
}

/** A form that says how long it is, with a file of so many bytes. */
async function upload(bytes: number, headers: HeadersInit = {}): Promise<Request> {
  const form = new FormData();
  form.append("file", new Blob([new Uint8Array(bytes)]), "a.wav");
  const { headers: own, body } = new Request("http://gateway/", { method: "POST", body: form });
  const whole = await new Response(body).bytes();
  const sent = { "content-type": own.get("content-type")!, "content-length": String(whole.length), ...headers };
  return new Request("http://gateway/", { method: "POST", body: whole, headers: sent });
}

async function refusal(reading: Promise<unknown>): Promise<unknown[]> {
  const { code, status, details } = await assertRejects(() => reading, GatewayError);
  return [code, status, details.retryAfter];
}

const BUSY = ["unavailable", 503, "5"];

Deno.test("uploads: what is left can be taken, and what is released again", async () => {
  const uploads = newUploads(1_000);
  const first = await uploads.read(await upload(600), CALLER);
  assertEquals(first.fields.map(({ file }) => file?.bytes.length), [600]);
  assertEquals(await refusal(uploads.read(await upload(400), CALLER)), BUSY);
  const second = await uploads.read(await upload(100), CALLER);
  first.release();
  const third = await uploads.read(await upload(600), CALLER);
  assertEquals(await refusal(uploads.read(await upload(300), CALLER)), BUSY);
  second.release();
  third.release();
  await uploads.read(await upload(700), CALLER);
});

Deno.test("uploads: what is refused, for whatever reason, takes nothing", async () => {
  const uploads = newUploads(1_000);
  for (let time = 0; time < 5; time++) {
    const broken = new Request("http://gateway/", {
      method: "POST",
      body: "--x\r\n",
      headers: { "content-type": "multipart/form-data; boundary=x" },
    });
    assertEquals((await refusal(uploads.read(broken, CALLER)))[0], "invalid_request");
    assertEquals((await refusal(uploads.read(await upload(2_000), CALLER)))[0], "request_too_large");
  }
  await uploads.read(await upload(800), CALLER);
});

Deno.test("uploads: what can never fit is too large, and not to be tried again", async () => {
  const uploads = newUploads(500);
  assertEquals(await refusal(uploads.read(await upload(600), CALLER)), ["request_too_large", 413, undefined]);
});

Deno.test("uploads: a length that makes no sense counts as none, which is the longest", async () => {
  for (const length of ["", "-5", "many"]) {
    const uploads = newUploads(1_200);
    const held = await uploads.read(await upload(300, { "content-length": length }), CALLER);
    assertEquals(await refusal(uploads.read(await upload(300, { "content-length": length }), CALLER)), BUSY);
    held.release();
  }
});

// JSON, in the same room

const ROOM = 256_000;

/** JSON that says how long it is, or not, and whose last bytes do not come until `end` is called. */
function heldBack(bytes: number, isDeclared: boolean) {
  const text = new TextEncoder().encode(`{"a":"${"a".repeat(bytes - 8)}"}`);
  const held = Promise.withResolvers<void>();
  let taken = 0;
  const body = new ReadableStream<Uint8Array>({
    async pull(controller) {
      const piece = text.slice(taken, Math.min(taken + 1_000, text.length - (taken < text.length - 2 ? 2 : 0)));
      if (taken >= text.length - 2) await held.promise;
      if (piece.length === 0) return controller.close();
      taken += piece.length;
      controller.enqueue(piece);
    },
    cancel: () => held.resolve(),
  }, { highWaterMark: 0 });
  const headers: HeadersInit = isDeclared ? { "content-length": String(text.length) } : {};
  const request = new Request("http://gateway/", { method: "POST", body, headers });
  return { request, taken: () => taken, end: () => held.resolve() };
}

for (const isDeclared of [true, false]) {
  const how = isDeclared ? "say how much comes" : "do not say how much comes";
  Deno.test(`uploads: sixty that ${how} and hold back its end stay within the room, and keep out no small body`, async () => {
    let most = 0;
    const room = new Room();
    const add = room.shares.add.bind(room.shares);
    room.shares.add = (caller, bytes) => {
      add(caller, bytes);
      most = Math.max(most, room.shares.taken);
    };
    const limits = { limitBytes: 30_000, timeoutMs: 10_000 };
    const uploads = createUploads({ form: limits, json: limits, totalBytes: ROOM }, room);
    const slow = Array.from({ length: 60 }, () => heldBack(30_000, isDeclared));
    let refused = 0;
    const outcomes = slow.map(({ request }) =>
      uploads.readJson(request, CALLER).then(() => "read", ({ code }) => {
        refused++;
        return code;
      })
    );
    await until(() => slow.filter(({ taken }) => taken() >= 29_998).length + refused >= 60);
    if (isDeclared) assertEquals(await refusal(uploads.readJson(heldBack(30_000, true).request, CALLER)), BUSY);
    const { body, release } = await uploads.readJson(small(), CALLER);
    assertEquals(body, { a: "b" });
    release?.();
    for (const { end } of slow) end();
    const codes = await Promise.all(outcomes);
    assert(most <= ROOM + 9, `${most} bytes were held`);
    const served = codes.filter((one) => one === "read").length;
    // The first bytes of those that do not say how much comes take room, too.
    assert(served <= 8 && served >= (isDeclared ? 8 : 6), `${served} were served`);
    assertEquals(codes.filter((one) => one === "unavailable").length, 60 - served);
  });
}

Deno.test("uploads: in the room of a gateway of a GiB, many chats of a MB that do not say how long they are fit at once", async () => {
  const limits = { limitBytes: 32 * 2 ** 20, timeoutMs: 60_000 };
  const uploads = createUploads({ form: limits, json: limits, totalBytes: 64 * 2 ** 20 });
  const slow = Array.from({ length: 20 }, () => heldBack(1_000_000, false));
  let refused = 0;
  const outcomes = slow.map(({ request }) =>
    uploads.readJson(request, CALLER).then(() => "read", ({ code }) => {
      refused++;
      return code;
    })
  );
  await until(() => slow.filter(({ taken }) => taken() >= 999_998).length + refused >= slow.length);
  for (const { end } of slow) end();
  assertEquals(new Set(await Promise.all(outcomes)), new Set(["read"]));
});

Deno.test("uploads: JSON that is worked on holds its room until it is released, whatever becomes of it", async () => {
  const room = new Room();
  const limits = { limitBytes: 30_000, timeoutMs: 10_000 };
  const uploads = createUploads({ form: limits, json: limits, totalBytes: ROOM }, room);
  const whole = heldBack(20_000, false);
  whole.end();
  const { release } = await uploads.readJson(whole.request, CALLER);
  assertEquals(room.shares.taken, 20_000);
  release?.();
  const text = JSON.stringify({ a: "a".repeat(20_000) });
  const packed = new Request("http://gateway/", {
    method: "POST",
    body: Uint8Array.from(gzipSync(text)),
    headers: { "content-encoding": "gzip" },
  });
  const unpacked = await uploads.readJson(packed, CALLER);
  assertEquals(room.shares.taken, text.length);
  unpacked.release?.();
  for (const broken of ["{", "", " ".repeat(30_001)]) {
    const request = new Request("http://gateway/", { method: "POST", body: broken });
    await assertRejects(() => uploads.readJson(request, CALLER), GatewayError);
  }
  assertEquals(room.shares.taken, 0);
});

function small(): Request {
  return new Request("http://gateway/", { method: "POST", body: '{"a":"b"}', headers: { "content-length": "9" } });
}

// Several callers

/** A body that says how much comes, of which so much has come. */
function begun(bytes: number, here: number) {
  const text = new TextEncoder().encode(`{"a":"${"a".repeat(bytes - 8)}"}`);
  const rest = Promise.withResolvers<Uint8Array | undefined>();
  const pieces = [text.slice(0, here)];
  let taken = false;
  const body = new ReadableStream<Uint8Array>({
    async pull(controller) {
      const piece = pieces.shift();
      if (piece) return controller.enqueue(piece);
      taken = true;
      const last = await rest.promise;
      if (last) controller.enqueue(last);
      controller.close();
    },
    cancel: () => rest.resolve(undefined),
  }, { highWaterMark: 0 });
  const headers = { "content-length": String(bytes) };
  const request = new Request("http://gateway/", { method: "POST", body, headers });
  return { request, isTaken: () => taken, end: () => rest.resolve(text.slice(here)) };
}

/** The largest small body, as 1 MiB is of the default room. */
const UNIT = 2 ** 15;
const BIG = { limitBytes: 30 * UNIT, timeoutMs: 60_000 };
const HELD = ["rate_limit", 429, "5"];

for (const others of [1, 19]) {
  Deno.test(`uploads: a caller that declares all it can leaves room for ${others} other${others > 1 ? "s" : ""}`, async () => {
    const uploads = createUploads({ form: BIG, json: BIG, totalBytes: 256 * UNIT, isShared: true, now: () => 0 });
    const greedy = Array.from({ length: 330 }, () => begun(UNIT, 1));
    const codes = greedy.map(({ request }) =>
      uploads.readJson(request, "greedy").then(() => "read", ({ code }) => code)
    );
    await until(() => greedy.filter(({ isTaken }) => isTaken()).length === 240);
    for (let other = 0; other < others; other++) {
      const { body } = await uploads.readJson(small(), `other ${other}`);
      assertEquals(body, { a: "b" });
    }
    assertEquals(await refusal(uploads.readJson(begun(UNIT, 1).request, "greedy")), HELD);
    for (const { end } of greedy) end();
    assertEquals((await Promise.all(codes)).filter((code) => code === "rate_limit").length, 90);
  });
}

Deno.test("uploads: of two callers that both take all they can, neither shuts a third one out", async () => {
  const uploads = createUploads({ form: BIG, json: BIG, totalBytes: 256 * UNIT, isShared: true, now: () => 0 });
  const fighters = Array.from({ length: 40 }, (_, at) => ({ ...begun(16 * UNIT, 1), caller: `fighter ${at % 2}` }));
  const codes = fighters.map(({ request, caller }) =>
    uploads.readJson(request, caller).then(() => caller, ({ code }) => code)
  );
  await until(() => fighters.filter(({ isTaken }) => isTaken()).length === 12);
  const third = begun(30 * UNIT, 1);
  const reading = uploads.readJson(third.request, "third");
  third.end();
  (await reading).release?.();
  for (const { end } of fighters) end();
  const served = await Promise.all(codes);
  for (const caller of ["fighter 0", "fighter 1"]) assertEquals(served.filter((one) => one === caller).length, 6);
});

// Bodies that hardly come

Deno.test("uploads: bodies that hardly come keep their room only until another caller needs it", async () => {
  let now = 0;
  const uploads = createUploads({ form: BIG, json: BIG, totalBytes: 256 * UNIT, now: () => now });
  const slow = Array.from({ length: 320 }, () => begun(UNIT, 1));
  const outcomes = slow.map(({ request }) =>
    uploads.readJson(request, CALLER).then(() => "read", ({ code, message }) => `${code}: ${message}`)
  );
  await until(() => slow.every(({ isTaken }) => isTaken()));
  // Their first moments say nothing of their speed.
  now = 1_000;
  assertEquals(await refusal(uploads.readJson(begun(UNIT, 1).request, CALLER)), BUSY);
  now = 3_000;
  for (let time = 0; time < 3; time++) (await uploads.readJson(small(), CALLER)).release?.();
  for (const { end } of slow) end();
  const late = (await Promise.all(outcomes)).filter((outcome) => outcome !== "read");
  assertEquals(late, [
    "request_timeout: Cannot read the body: others needed its room, and it came slower than 16 kB/s",
  ]);
});

Deno.test("uploads: a body that comes keeps its room, however long it takes", async () => {
  let now = 0;
  const uploads = createUploads({ form: BIG, json: BIG, totalBytes: 30 * UNIT, now: () => now });
  const [length, piece] = [30 * UNIT, 2 * UNIT];
  let sent = 0;
  let refused = 0;
  const body = new ReadableStream<Uint8Array>({
    async pull(controller) {
      if (sent >= length) return controller.close();
      now += 1_000;
      await assertRejects(() => uploads.readJson(begun(20 * UNIT, 1).request, CALLER), GatewayError, "busy");
      refused++;
      controller.enqueue(new Uint8Array(piece).fill(32));
      sent += piece;
    },
  }, { highWaterMark: 0 });
  const request = new Request("http://gateway/", {
    method: "POST",
    body,
    headers: { "content-length": String(length) },
  });
  await assertRejects(() => uploads.readJson(request, CALLER), GatewayError, "is not JSON");
  assertEquals(refused, length / piece);
});

Deno.test("uploads: by default bodies take a sixteenth of the memory, and the largest one always has room", () => {
  const MiB = 2 ** 20;
  const roomOf = (memoryMiB: number, uploadBytes?: number) =>
    uploadBytesOf({ uploadBytes, bodyBytes: 30 * MiB }, memoryMiB * MiB) / MiB;
  assertEquals([112, 512, 1_024, 4_096, 16_384].map((memory) => roomOf(memory)), [30, 32, 64, 256, 256]);
  assertEquals(roomOf(1_024, 300 * MiB), 300);
});
