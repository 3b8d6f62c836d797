import { assertEquals, assertRejects } from "@std/assert";
import type { JsonObject } from "../../src/canonical/json.ts";
import type { Call } from "../../src/contract/call.ts";
import { GatewayError } from "../../src/errors.ts";
import { type Fetch, fetchTransport, fromResponse } from "../../src/platform/fetch_transport.ts";
import { readReply, send } from "../../src/upstream/send.ts";
import { type Asked, fakeUpstream } from "../support/fake_upstream.ts";
import { newUpstream } from "./upstream.ts";

const NEVER = new AbortController().signal;

async function asked(call: Call, more: Parameters<typeof newUpstream>[0] = {}): Promise<Asked> {
  const fake = fakeUpstream(() => new Response("{}"));
  await (await send(call, newUpstream({ ...more, transport: fetchTransport(fake.fetch) }), NEVER)).body?.cancel();
  return fake.asked[0]!;
}

Deno.test("send: a call with a body is a POST of JSON below the base URL", async () => {
  const { method, url, headers, body } = await asked({ path: "chat/completions", body: { model: "m", n: [1] } });
  assertEquals([method, url.href], ["POST", "http://upstream.test/v1/chat/completions"]);
  assertEquals([headers.get("content-type"), body], ["application/json", '{"model":"m","n":[1]}']);
});

Deno.test("send: a call without a body is a GET, and either can be said", async () => {
  assertEquals((await asked({ path: "jobs/1" })).method, "GET");
  assertEquals((await asked({ path: "jobs/1/cancel", method: "POST" })).method, "POST");
});

Deno.test("send: bytes go out as they are", async () => {
  const { headers, body } = await asked({
    path: "speech",
    headers: { "content-type": "audio/wav" },
    body: new TextEncoder().encode("RIFF"),
  });
  assertEquals([headers.get("content-type"), body], ["audio/wav", "RIFF"]);
});

Deno.test("send: the secret is a bearer token, and configured headers stand above the driver's", async () => {
  const { headers } = await asked(
    { path: "x", headers: { "x-from": "driver", authorization: "Bearer driver" } },
    { secret: "s3cret", headers: { "X-From": "config", authorization: "Bearer config" } },
  );
  assertEquals([headers.get("authorization"), headers.get("x-from")], ["Bearer s3cret", "config"]);
  assertEquals((await asked({ path: "x" })).headers.has("authorization"), false);
});

Deno.test("send: the body is one that the platform sends once", async () => {
  const inits: RequestInit[] = [];
  const fetch: Fetch = (_, init) => {
    inits.push(init);
    return Promise.resolve(new Response());
  };
  await send({ path: "x", body: {} }, newUpstream({ transport: fetchTransport(fetch) }), NEVER);
  await send({ path: "x", body: new Uint8Array(1) }, newUpstream({ transport: fetchTransport(fetch) }), NEVER);
  assertEquals(inits.map(({ body, redirect }) => [body instanceof Blob, redirect]), [[true, "manual"], [
    true,
    "manual",
  ]]);
});

Deno.test("send: an upstream that cannot be reached is named, and why is kept for the log", async () => {
  const cause = new TypeError("Connection refused");
  const transport = fetchTransport(() => Promise.reject(cause));
  const error = await assertRejects(
    () => send({ path: "x" }, newUpstream({ name: "router", transport }), NEVER),
    GatewayError,
    'Cannot reach upstream "router"',
  );
  assertEquals([error.code, error.cause], ["upstream_error", cause]);
});

Deno.test("send: a call that was aborted fails for the reason of the abort", async () => {
  const stop = new AbortController();
  const late = new GatewayError("upstream_timeout", "The upstream did not answer within 1 ms");
  stop.abort(late);
  const fetch: Fetch = (_, { signal }) => Promise.reject(signal!.reason);
  assertEquals(
    await assertRejects(() => send({ path: "x" }, newUpstream({ transport: fetchTransport(fetch) }), stop.signal)),
    late,
  );
});

const REPLIES: [type: string, body: string, expected: unknown][] = [
  ["application/json", '{"a":1}', { a: 1 }],
  ["text/plain", '{"a":1}', { a: 1 }],
  ["application/json", "<html>", "<html>"],
  ["text/html; charset=utf-8", "<html>", "<html>"],
  ["application/json", "", ""],
  ["audio/mpeg", "12", new TextEncoder().encode("12")],
  ["application/octet-stream", "12", new TextEncoder().encode("12")],
];

for (const [type, body, expected] of REPLIES) {
  Deno.test(`send: a reply of ${type} with ${JSON.stringify(body)} is read`, async () => {
    const reply = await readReply(
      fromResponse(new Response(body, { status: 418, headers: { "content-type": type } })),
      1_000,
    );
    assertEquals([reply.status, reply.headers.get("content-type"), reply.body], [418, type, expected]);
  });
}

Deno.test("send: a reply that breaks off is the upstream's failure", async () => {
  const cause = new TypeError("error reading a body from connection");
  const body = new ReadableStream({ pull: (controller) => controller.error(cause) });
  const error = await assertRejects(() => readReply(fromResponse(new Response(body)), 1_000), GatewayError);
  assertEquals([error.code, error.cause], ["upstream_error", cause]);
});

Deno.test("send: numbers that JSON has not come as null, and texts stay as they are", async () => {
  const text = '{"a":[1,NaN,-Infinity,Infinity],"NaN":"NaN or \\"Infinity\\""}';
  const { body } = await readReply(fromResponse(new Response(text, JSON_TYPE)), 1_000);
  assertEquals(body, { a: [1, null, null, null], NaN: 'NaN or "Infinity"' });
  assertEquals((await readReply(fromResponse(new Response("NaN of it", JSON_TYPE)), 1_000)).body, "NaN of it");
});

Deno.test("send: a number that JSON has not costs no reply, beside sound of many MB either", async () => {
  const sound = "A".repeat(20_000_000);
  const reply = new Response(`{"audio":"\\"${sound}","duration":NaN}`, JSON_TYPE);
  const { audio, duration } = (await readReply(fromResponse(reply), 64_000_000)).body as JsonObject;
  assertEquals([String(audio).length, duration], [sound.length + 1, null]);
});

const JSON_TYPE = { headers: { "content-type": "application/json" } };

Deno.test("others run between the writing of a long body and its sending, and a short one is sent at once", async () => {
  for (const [length, mayWait] of [[2_000_000, true], [1_000, false]] as const) {
    let hasTurned = false;
    const turned = Promise.withResolvers<void>();
    const body = {
      toJSON() {
        setTimeout(() => {
          hasTurned = true;
          turned.resolve();
        });
        return { text: "x".repeat(length) };
      },
    } as unknown as JsonObject;
    const fetch: Fetch = () => {
      assertEquals(hasTurned, mayWait);
      return Promise.resolve(Response.json({}));
    };
    await (await send({ path: "x", body }, newUpstream({ transport: fetchTransport(fetch) }), NEVER)).body?.cancel();
    await turned.promise;
  }
});
