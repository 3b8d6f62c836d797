import { assertEquals, assertRejects } from "@std/assert";
import { GatewayError } from "../../src/errors.ts";
import { createUploads } from "../../src/http/uploads.ts";

const LIMITS = { limitBytes: 1_000, timeoutMs: 10_000 };

/** A form that says how long it is, with a file of so many bytes. */
async function upload(bytes: number, headers: HeadersInit = {}): Promise<Request> {
  const form = new FormData();
  form.append("file", new Blob([new Uint8Array(bytes)]), "a.wav");
  const { headers: own, body } = new Request("http://gateway/", { method: "POST", body: form });
  const whole = await new Response(body).bytes();
  const told = { "content-type": own.get("content-type")!, "content-length": String(whole.length), ...headers };
  return new Request("http://gateway/", { method: "POST", body: whole, headers: told });
}

async function refusal(reading: Promise<unknown>): Promise<unknown[]> {
  const { code, status, details } = await assertRejects(() => reading, GatewayError);
  return [code, status, details.retryAfter];
}

const BUSY = ["unavailable", 503, "5"];

Deno.test("uploads: what is left can be taken, and what is released again", async () => {
  const uploads = createUploads(LIMITS, 1_000);
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
  const uploads = createUploads(LIMITS, 1_000);
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
  const uploads = createUploads(LIMITS, 500);
  assertEquals(await refusal(uploads.read(await upload(600))), ["request_too_large", 413, undefined]);
});

Deno.test("uploads: a length that makes no sense counts as none, which is the longest", async () => {
  for (const length of ["", "-5", "many"]) {
    const uploads = createUploads(LIMITS, 1_200);
    const held = await uploads.read(await upload(300, { "content-length": length }));
    assertEquals(await refusal(uploads.read(await upload(300, { "content-length": length }))), BUSY);
    held.release();
  }
});
