/** Pictures by every provider of the hub, as the default configuration reaches them, in front of the fake hub. */
import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import defaults from "../../../gateway.default.json" with { type: "json" };
import type { JsonObject } from "../../../src/canonical/json.ts";
import { configSchema } from "../../../src/config/schema.ts";
import { newApp } from "../../support/app.ts";
import { fakeHub, type FakeHubOptions, HOSTS, png, promptOf, TOKEN } from "../../support/fake_hub.ts";
import { withFakeClock } from "../../support/fake_clock.ts";

const DRAWER = "black-forest-labs/FLUX.1-schnell";
const EDITOR = "Qwen/Qwen-Image-Edit";
const GIVEN = `data:image/png;base64,${png("a cat", 32, 32).toBase64()}`;

function newHub(options: FakeHubOptions = {}) {
  const hub = fakeHub(options);
  const config = configSchema.parse(defaults);
  return { ...hub, app: newApp({ config, env: { HF_TOKEN: TOKEN }, fetch: hub.fetch }) };
}
type Hub = ReturnType<typeof newHub>;

interface Answer {
  data: { b64_json?: string; url?: string }[];
  error: { code: string; message: string };
  [name: string]: unknown;
}

/** Time passes as fast as it can while an answer is awaited, because jobs are polled. */
async function draw(path: "generations" | "edits", body: object, hub: Hub = newHub(), lane = "hf") {
  let answer!: Response;
  await withFakeClock(async (clock) => {
    let isOver = false;
    const asking = hub.app.post(`/${lane}/v1/images/${path}`, body).finally(() => isOver = true);
    for (let turn = 0; !isOver && turn < 1_000; turn++) await clock.advance(1_000);
    answer = await asking;
  });
  const text = await answer.text();
  return { hub, answer, body: JSON.parse(text) as Answer };
}

/** The paths that were asked to draw, without those of jobs. */
function routesOf({ asked }: Pick<Hub, "asked">): string[] {
  return asked.filter(({ method }) => method === "POST").map(({ url }) => `${url.pathname}${url.search}`);
}

const drawn: [provider: string, route: string, keepsSize?: false][] = [
  ["together", "/together/v1/images/generations"],
  ["nscale", "/nscale/v1/images/generations"],
  ["hf-inference", `/hf-inference/models/${DRAWER}`],
  ["fal-ai", "/fal-ai/fal-ai/flux/schnell?_subdomain=queue"],
  ["replicate", "/replicate/v1/models/black-forest-labs/flux-schnell/predictions"],
  ["wavespeed", "/wavespeed/api/v3/wavespeed-ai/flux-schnell"],
  ["zai-org", "/zai-org/api/paas/v4/async/images/generations"],
];
for (const [provider, route] of drawn) {
  Deno.test(`hub: ${provider} draws pictures of a size`, async () => {
    const wanted = { model: `${DRAWER}:${provider}`, prompt: "a dog", size: "96x80", n: 2 };
    const { answer, body, hub } = await draw("generations", wanted);
    assertEquals(answer.status, 200, JSON.stringify(body));
    assertEquals(body.data.map(({ b64_json }) => promptOf(b64_json!)), ["a dog", "a dog"].slice(0, body.data.length));
    assertEquals([body.size, body.output_format], ["96x80", "png"]);
    assertEquals(new Set(routesOf(hub)), new Set([route]));
    // nscale's fake draws one, whatever it is asked for.
    assertEquals(answer.headers.get("x-laneway-notes"), provider === "nscale" ? "delivered 1 of 2 pictures" : null);
  });
}

const changed: [provider: string, route: string][] = [
  ["together", "/together/v1/images/generations"],
  ["hf-inference", `/hf-inference/models/${EDITOR}`],
  ["fal-ai", "/fal-ai/fal-ai/qwen-image-edit?_subdomain=queue"],
  ["replicate", "/replicate/v1/models/qwen/qwen-image-edit/predictions"],
  ["wavespeed", "/wavespeed/api/v3/wavespeed-ai/qwen-image/edit"],
];
for (const [provider, route] of changed) {
  Deno.test(`hub: ${provider} changes a picture`, async () => {
    const { answer, body, hub } = await draw("edits", {
      model: `${EDITOR}:${provider}`,
      prompt: "a painting",
      images: [{ image_url: GIVEN }],
    });
    assertEquals(answer.status, 200, JSON.stringify(body));
    assertEquals(promptOf(body.data[0]!.b64_json!), "a painting of a cat");
    assertEquals(routesOf(hub), [route]);
  });
}

Deno.test("hub: the token goes to the router alone, and files come without it", async () => {
  const { hub } = await draw("generations", { model: `${DRAWER}:fal-ai`, prompt: "a dog" });
  const files = hub.asked.filter(({ url }) => url.host === HOSTS.fal);
  assertEquals(files.map(({ headers }) => headers.get("authorization")), [null]);
  assert(hub.asked.filter(({ url }) => url.host === HOSTS.router).every(({ headers }) => headers.has("authorization")));
});

Deno.test("hub: a client that wants addresses gets the provider's, and nothing is fetched", async () => {
  const wanted = { model: `${DRAWER}:fal-ai`, prompt: "a dog", n: 2, response_format: "url" };
  const { body, hub } = await draw("generations", wanted);
  assertEquals(body.data.map(({ url }) => new URL(url!).host), [HOSTS.fal, HOSTS.fal]);
  assertEquals(hub.asked.filter(({ url }) => url.host === HOSTS.fal), []);
});

Deno.test("hub: seeds count up, and what a provider does not know is noted", async () => {
  const { answer, body } = await draw("generations", {
    model: `${DRAWER}:hf-inference`,
    prompt: "a dog",
    n: 3,
    seed: 7,
    quality: "high",
    background: "transparent",
    user: "me",
  });
  assertEquals(body.data.map(({ b64_json }) => promptOf(b64_json!)), ["a dog #7", "a dog #8", "a dog #9"]);
  assertEquals(answer.headers.get("x-laneway-notes"), "dropped quality; dropped background; dropped user");
});

Deno.test("hub: a model is refused for the other of the two tasks, and the next target is asked", async () => {
  const edit = { prompt: "a painting", images: [{ image_url: GIVEN }] };
  const wrong = await draw("edits", { ...edit, model: DRAWER });
  assertEquals([wrong.answer.status, wrong.body.error.code], [422, "model_task_mismatch"]);
  assertEquals(routesOf(wrong.hub), []);
  const none = await draw("generations", { model: EDITOR, prompt: "a dog" });
  assertEquals([none.answer.status, none.body.error.code], [422, "model_task_mismatch"]);
  const both = await draw("edits", { ...edit, model: "gpt-image-2" }, newHub(), "oss");
  assertEquals(promptOf(both.body.data[0]!.b64_json!), "a painting of a cat");
});

Deno.test("hub: a job that failed, or whose picture is at a foreign host, is an upstream's error", async () => {
  for (
    const [reply, says] of [
      [{ data: { status: "failed", error: "NSFW content" } }, "NSFW content"],
      [{ data: { status: "completed", outputs: ["http://169.254.169.254/latest"] } }, "resultsFrom"],
      [{ data: { status: "completed", outputs: [] } }, "no picture"],
    ] as const
  ) {
    const hub = newHub({
      instead: ({ method, url }) =>
        method === "POST" && url.pathname.startsWith("/wavespeed") ? Response.json(reply) : undefined,
    });
    const { answer, body } = await draw("generations", { model: `${DRAWER}:wavespeed`, prompt: "a dog" }, hub);
    assertEquals(answer.status, 502, JSON.stringify(body));
    assertStringIncludes(body.error.message, says);
    assert(hub.asked.every(({ url }) => url.hostname !== "169.254.169.254"));
  }
});

/** Pictures of a provider that draws one at a time, from a server that answers so. At a controller, the client leaves. */
function newDrawer(
  replies: readonly (Response | AbortController)[],
  more: JsonObject = {},
  limits: JsonObject = {},
) {
  let open = 0;
  const seen = { calls: 0, most: 0 };
  const app = newApp({
    config: {
      upstreams: { one: { driver: "wavespeed", baseUrl: "http://upstream.test", ...more } },
      lanes: {
        oss: {
          models: { painter: { task: "image", targets: [{ upstream: "one", model: "m" }], price: { image: 0.04 } } },
        },
      },
      limits,
    },
    async fetch(_url, init) {
      const reply = replies[seen.calls++]!;
      if (reply instanceof AbortController) {
        reply.abort();
        throw init!.signal!.reason;
      }
      seen.most = Math.max(seen.most, ++open);
      for (let turn = 0; turn < 5; turn++) await Promise.resolve();
      open--;
      return reply;
    },
  });
  const ask = { model: "painter", prompt: "a dog", n: replies.length, size: "64x64" };
  const request = new Request("http://gateway/oss/v1/images/generations", {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify(ask),
    signal: replies.find((one) => one instanceof AbortController)?.signal,
  });
  return { app, seen, answer: app.fetch(request) };
}

function drawnBy(bytes = 100): Response {
  const picture = new Uint8Array([...png("a dog", 8, 8), ...new Uint8Array(bytes)]);
  return Response.json({ data: { status: "completed", outputs: [picture.toBase64()] } });
}

Deno.test("hub: pictures that were drawn before another one failed are billed, and nothing is noted of them", async () => {
  const failed = Response.json({ message: "too busy" }, { status: 429 });
  // One after the other, so that two are drawn and the last one is not requested.
  const { app, seen, answer } = newDrawer([drawnBy(), drawnBy(), failed, drawnBy()], { concurrency: { running: 1 } });
  const { status, headers } = await answer;
  assertEquals([status, headers.get("x-laneway-notes"), seen.calls], [429, null, 3]);
  assertEquals(app.logs[0]!.cost, "0.08");
});

Deno.test("hub: a client that leaves pays for the picture that was being drawn, too", async () => {
  const leave = new AbortController();
  const { app, answer } = newDrawer([drawnBy(), leave], { concurrency: { running: 1 } });
  assertEquals((await answer).status, 499);
  assertEquals(app.logs[0]!.cost, "0.08");
});

Deno.test("hub: the pictures of a request respect the limit of their upstream", async () => {
  for (const running of [1, 3]) {
    const { seen, answer } = newDrawer(Array.from({ length: 10 }, () => drawnBy()), { concurrency: { running } });
    const { data } = await (await answer).json();
    assertEquals([data.length, seen.most], [10, running]);
  }
});

Deno.test("hub: pictures that are long together are refused", async () => {
  for (const [count, status] of [[3, 200], [4, 502]] as const) {
    const replies = Array.from({ length: count }, () => drawnBy(20_000));
    const { answer } = newDrawer(replies, {}, { answerBytes: 100_000 });
    const response = await answer;
    assertEquals(response.status, status);
    if (status === 502) assertStringIncludes(await response.text(), "longer than 100000 bytes");
    else await response.body?.cancel();
  }
});

Deno.test("hub: a client that leaves cancels the job that is polled", async () => {
  const hub = newHub();
  await withFakeClock(async (clock) => {
    const leave = new AbortController();
    const request = new Request("http://gateway/hf/v1/images/generations", {
      method: "POST",
      headers: { "content-type": "application/json", authorization: "Bearer none" },
      body: JSON.stringify({ model: `${DRAWER}:fal-ai`, prompt: "a dog" }),
      signal: leave.signal,
    });
    const asking = hub.app.fetch(request).catch(() => {});
    const posted = () => hub.asked.some(({ method }) => method === "POST");
    for (let turn = 0; !posted() && turn < 1_000; turn++) await clock.advance(10);
    await clock.advance(10);
    leave.abort();
    await asking;
    await clock.advance(10);
    assertEquals(hub.asked.filter(({ method }) => method === "PUT").map(({ url }) => url.pathname), [
      "/fal-ai/fal-ai/flux/schnell/requests/request-1/cancel",
    ]);
  });
});
