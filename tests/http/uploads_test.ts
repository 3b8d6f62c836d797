import { assert, assertEquals, assertRejects } from "@std/assert";
import { gzipSync } from "node:zlib";
import { GatewayError } from "../../src/errors.ts";
import { createUploads } from "../../src/http/uploads.ts";
import { until } from "../support/wait.ts";

const LIMITS = { limitBytes: 1_000, timeoutMs: 10_000 };

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
  const first = await uploads.read(await upload(600));
  assertEquals(first.fields.map(({ file }) => file?.bytes.length), [600]);
  assertEquals(await refusal(uploads.read(await upload(400))), BUSY);
  const second = await uploads.read(await upload(100));
  first.release();
  const third = await uploads.read(await upload(600));
  assertEquals(await refusal(uploads.read(await upload(300))), BUSY);
  second.release();
  third.release();
  await uploads.read(await upload(700));
});

Deno.test("uploads: what is refused, for whatever reason, takes nothing", async () => {
  const uploads = newUploads(1_000);
  for (let time = 0; time < 5; time++) {
    const broken = new Request("http://gateway/", {
      method: "POST",
      body: "--x\r\n",
      headers: { "content-type": "multipart/form-data; boundary=x" },
    });
    assertEquals((await refusal(uploads.read(broken)))[0], "invalid_request");
    assertEquals((await refusal(uploads.read(await upload(2_000))))[0], "request_too_large");
  }
  await uploads.read(await upload(800));
});

Deno.test("uploads: what can never fit is too large, and not to be tried again", async () => {
  const uploads = newUploads(500);
  assertEquals(await refusal(uploads.read(await upload(600))), ["request_too_large", 413, undefined]);
});

Deno.test("uploads: a length that makes no sense counts as none, which is the longest", async () => {
  for (const length of ["", "-5", "many"]) {
    const uploads = newUploads(1_200);
    const held = await uploads.read(await upload(300, { "content-length": length }));
    assertEquals(await refusal(uploads.read(await upload(300, { "content-length": length }))), BUSY);
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
    const room = {
      now: 0,
      get taken() {
        return this.now;
      },
      set taken(bytes: number) {
        this.now = bytes;
        most = Math.max(most, bytes);
      },
    };
    const limits = { limitBytes: 30_000, timeoutMs: 10_000 };
    const uploads = createUploads({ form: limits, json: limits, totalBytes: ROOM }, room);
    const slow = Array.from({ length: 60 }, () => heldBack(30_000, isDeclared));
    let refused = 0;
    const outcomes = slow.map(({ request }) =>
      uploads.readJson(request).then(() => "read", ({ code }) => {
        refused++;
        return code;
      })
    );
    await until(() => slow.filter(({ taken }) => taken() >= 29_998).length + refused >= 60);
    if (isDeclared) assertEquals(await refusal(uploads.readJson(heldBack(30_000, true).request)), BUSY);
    const { body, release } = await uploads.readJson(small());
    assertEquals(body, { a: "b" });
    release();
    for (const { end } of slow) end();
    const codes = await Promise.all(outcomes);
    assert(most <= ROOM + 9, `${most} bytes were held`);
    const served = codes.filter((one) => one === "read").length;
    // The first bytes of those that do not say how much comes take room, too.
    assert(served <= 8 && served >= (isDeclared ? 8 : 6), `${served} were served`);
    assertEquals(codes.filter((one) => one === "unavailable").length, 60 - served);
  });
}

Deno.test("uploads: JSON that is worked on holds its room until it is released, whatever becomes of it", async () => {
  const room = { taken: 0 };
  const limits = { limitBytes: 30_000, timeoutMs: 10_000 };
  const uploads = createUploads({ form: limits, json: limits, totalBytes: ROOM }, room);
  const whole = heldBack(20_000, false);
  whole.end();
  const { release } = await uploads.readJson(whole.request);
  assertEquals(room.taken, 20_000);
  release();
  const text = JSON.stringify({ a: "a".repeat(20_000) });
  const packed = new Request("http://gateway/", {
    method: "POST",
    body: Uint8Array.from(gzipSync(text)),
    headers: { "content-encoding": "gzip" },
  });
  const unpacked = await uploads.readJson(packed);
  assertEquals(room.taken, text.length);
  unpacked.release();
  for (const broken of ["{", "", " ".repeat(30_001)]) {
    const request = new Request("http://gateway/", { method: "POST", body: broken });
    await assertRejects(() => uploads.readJson(request), GatewayError);
  }
  assertEquals(room.taken, 0);
});

function small(): Request {
  return new Request("http://gateway/", { method: "POST", body: '{"a":"b"}', headers: { "content-length": "9" } });
}
