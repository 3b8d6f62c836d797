/** Requests as no client should send them, to every endpoint, in front of upstreams of each wire and the sandbox. */
import { assert, assertEquals } from "@std/assert";
import fc from "fast-check";
import { assertAnswer, assertError } from "../support/answer_shapes.ts";
import { newApp, type TestApp } from "../support/app.ts";
import { fakeUpstream } from "../support/fake_upstream.ts";
import { assertSound, fuzz, hostileJson } from "../support/fuzz.ts";
import {
  answerWell,
  asForm,
  FORM_PATHS,
  headersFor,
  HOSTILE_BODIES,
  HOSTILE_CONFIG,
  hostileForms,
  hostilePaths,
  JSON_HEADERS,
  OTHER_BODIES,
  QUERY,
  storedBodies,
} from "../support/hostile_requests.ts";

function newGateway(): TestApp {
  return newApp({ config: HOSTILE_CONFIG, fetch: fakeUpstream(answerWell).fetch });
}

for (const { wire, path, countPath, bodies } of HOSTILE_BODIES) {
  fuzz(`${wire}: requests`, 80, bodies, async (body) => {
    const app = newGateway();
    const response = await app.post(path, body, headersFor(wire));
    const text = await response.text();
    assertSound(app, response.status, text);
    await assertAnswer(wire, response, text);
  });

  if (countPath === undefined) continue;
  fuzz(`${wire}: requests to count tokens`, 20, bodies, async (body) => {
    const app = newGateway();
    const response = await app.post(countPath, body, headersFor(wire));
    const text = await response.text();
    assertSound(app, response.status, text);
    if (!response.ok) return assertError(wire, JSON.parse(text));
    assert(Number.isInteger(JSON.parse(text).input_tokens), text);
  });
}

// Other endpoints

async function assertOther(app: TestApp, response: Response, wire = "chat"): Promise<void> {
  const bytes = await response.bytes();
  const text = new TextDecoder().decode(bytes);
  assertSound(app, response.status, text);
  if (response.status >= 400) return assertError(wire, JSON.parse(text));
  assertEquals(response.status, 200);
  if (response.headers.get("content-type")?.startsWith("application/json")) JSON.parse(text);
}

for (const [path, valid] of Object.entries(OTHER_BODIES)) {
  fuzz(`${path}: requests`, 40, hostileJson(fc.constantFrom(...valid)), async (body) => {
    const app = newGateway();
    const wire = path.includes("/models/") ? "gemini" : "chat";
    await assertOther(app, await app.post(path, body, JSON_HEADERS), wire);
  });
}

fuzz("forms", 60, fc.tuple(fc.constantFrom(...FORM_PATHS), hostileForms), async ([path, text]) => {
  const app = newGateway();
  const { path: _, ...init } = asForm(path, text);
  await assertOther(app, await app.fetch(new Request(`http://gateway${path}`, init)));
});

fuzz("paths, methods, queries and ids", 80, hostilePaths, async ({ path, ...init }) => {
  const app = newGateway();
  const response = await app.fetch(new Request(`http://gateway${path}`, init));
  const text = await response.text();
  assertSound(app, response.status, text);
  if (response.status >= 400 && text !== "") {
    assertError(JSON.parse(text).type === "error" ? "messages" : "chat", JSON.parse(text));
  }
});

fuzz("stored responses, and their input items", 30, fc.tuple(storedBodies, QUERY), async ([body, query]) => {
  const app = newGateway();
  const first = await app.post("/oss/v1/responses", body, JSON_HEADERS);
  const text = await first.text();
  assertSound(app, first.status, text);
  const id = first.ok && !first.headers.get("content-type")?.startsWith("text/event") ? JSON.parse(text).id : "resp_1";
  for (const path of [`/oss/v1/responses/${id}`, `/oss/v1/responses/${id}/input_items${query}`]) {
    const response = await app.get(path);
    const text = await response.text();
    assertSound(app, response.status, text);
    for (const { error, cause } of app.logs) if (error === "internal") throw new Error("It failed", { cause });
    if (!response.ok) assertError("responses", JSON.parse(text));
  }
});
