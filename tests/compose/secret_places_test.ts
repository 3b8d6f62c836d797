/** Where an upstream's secret is, and where it is sent. */
import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { CHAT, chatBody, CONFIG, type ConfigInput, newApp, type TestAppOptions } from "../support/app.ts";

type Secret = NonNullable<NonNullable<ConfigInput["upstreams"]>[string]["secret"]>;

const SECRET = "s3cret/of+the=upstream";

function configWith(secret: Secret, more: object = {}): ConfigInput {
  return { ...CONFIG, upstreams: { ...CONFIG.upstreams, fake: { ...CONFIG.upstreams.fake, secret, ...more } } };
}

/** An app whose upstream answers, and what the upstream received. */
function rig(secret: Secret, options: TestAppOptions = {}, more: object = {}) {
  const calls: Request[] = [];
  const fetch = (input: Request | URL | string, init?: RequestInit) => {
    calls.push(new Request(input, init));
    const message = { role: "assistant", content: "Hi" };
    return Promise.resolve(Response.json({ choices: [{ index: 0, message, finish_reason: "stop" }] }));
  };
  const app = newApp({ config: configWith(secret, more), env: { SECRET }, fetch, ...options });
  return { app, calls, fetch };
}

Deno.test("secret: in a parameter of the URL it is in no header, and escaped", async () => {
  const { app, calls } = rig({ env: "SECRET", query: "key" }, {}, { baseUrl: "http://upstream.test/v1?version=2" });
  assertEquals((await app.post(CHAT, chatBody())).status, 200);
  const [{ url, headers } = new Request("http://none.test")] = calls;
  assertEquals(url, `http://upstream.test/v1/chat/completions?version=2&key=${encodeURIComponent(SECRET)}`);
  assertEquals(headers.get("authorization"), null);
});

Deno.test("secret: in a parameter with any name it is shown by no explanation", async () => {
  const { app, calls } = rig({ env: "SECRET", query: "v" });
  const response = await app.post(CHAT, chatBody(), { "x-laneway-explain": "true" });
  const text = await response.text();
  assertStringIncludes(text, "http://upstream.test/v1/chat/completions?v=***");
  assert(!text.includes(SECRET) && !text.includes(encodeURIComponent(SECRET)), text);
  assertEquals(calls, []);
});

Deno.test("secret: a file's is used without the end of its line, and hidden when the upstream repeats it", async () => {
  const { app, calls } = rig({ file: "/run/token" }, { readSecret: () => `${SECRET}\r\n` });
  await app.post(CHAT, chatBody());
  assertEquals(calls[0]!.headers.get("authorization"), `Bearer ${SECRET}`);
  const repeating = newApp({
    config: configWith({ file: "/run/token" }),
    readSecret: () => SECRET,
    fetch: () => Promise.resolve(Response.json({ error: { message: `Bad key ${SECRET}` } }, { status: 400 })),
  });
  const text = await (await repeating.post(CHAT, chatBody())).text();
  assert(text.includes("Bad key") && !text.includes(SECRET), text);
});

for (
  const [name, readSecret] of [
    ["is missing", () => {
      throw new Error("No such file");
    }],
    ["is empty", () => "\n"],
    ["holds two lines", () => "one\ntwo"],
  ] as const
) {
  Deno.test(`secret: where its file ${name}, requests get 503 with the file's name`, async () => {
    const { app, calls } = rig({ file: "/run/token" }, { readSecret });
    const response = await app.post(CHAT, chatBody());
    assertEquals(response.status, 503);
    assertStringIncludes(await response.text(), "write it to the file /run/token");
    const { upstreams: [status] } = await (await app.get("/status")).json();
    assertEquals([status.missingFile, status.missingSecret], ["/run/token", undefined]);
    assertEquals(calls, []);
  });
}

Deno.test("secret: the app after a rotation uses the new one, for models and their list, and keeps what it learnt", async () => {
  let token = "the-first-token";
  let refused = 0;
  let lists = 0;
  const sent: (string | null)[] = [];
  const fetch = async (input: Request | URL | string, init?: RequestInit) => {
    const request = new Request(input, init);
    sent.push(request.headers.get("authorization"));
    if (request.url.endsWith("/models")) return Response.json({ data: [{ id: `list-${++lists}` }] });
    const body = await request.json();
    if ("seed" in body) {
      refused++;
      return Response.json({ error: { message: "Unknown field: seed", param: "seed" } }, { status: 400 });
    }
    return Response.json({
      choices: [{ index: 0, message: { role: "assistant", content: "Hi" }, finish_reason: "stop" }],
    });
  };
  const lanes = { oss: { ...CONFIG.lanes.oss, upstreams: { chat: "fake" } } };
  const options = { config: { ...configWith({ file: "/run/token" }), lanes }, readSecret: () => token, fetch };
  const before = newApp(options);
  assertEquals((await before.post(CHAT, chatBody({ seed: 1 }))).status, 200);
  await (await before.get("/oss/v1/models")).text();
  token = "the-second-token";
  const after = newApp({ ...options, after: before });
  assertEquals((await after.post(CHAT, chatBody({ seed: 1 }))).status, 200);
  assertStringIncludes(await (await after.get("/oss/v1/models")).text(), "list-2");
  assertEquals(refused, 1);
  assertEquals(new Set(sent.slice(-2)), new Set(["Bearer the-second-token"]));
});
