/** How requests for pictures are read and passed on, and what the answers of servers come to, past a whole gateway. */
import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { type ConfigInput, ENV, newApp } from "../../support/app.ts";
import { png, promptOf } from "../../support/fake_hub.ts";
import { describeForm } from "../../support/fake_hub/asked.ts";
import { bodyOf } from "../../support/chunks.ts";
import { law } from "../../support/law.ts";
import fc from "fast-check";

const CONFIG: ConfigInput = {
  upstreams: {
    fake: { driver: "chat", baseUrl: "http://upstream.test/v1", resultsFrom: ["https://files.test"] },
  },
  lanes: {
    oss: { models: { painter: { task: "image", targets: [{ upstream: "fake", model: "org/flux" }] } } },
  },
};

const PICTURE = png("drawn", 48, 32);
const B64 = PICTURE.toBase64();
const DATA_URL = `data:image/png;base64,${B64}`;

type Answering = (request: Request) => Response | Promise<Response>;

function newRig(answer: Answering = () => Response.json({ created: 1, data: [{ b64_json: B64 }] })) {
  const asked: { path: string; body: unknown }[] = [];
  const app = newApp({
    config: CONFIG,
    async fetch(input, init) {
      const request = new Request(input, init);
      const { pathname } = new URL(request.url);
      const isForm = request.headers.get("content-type")?.startsWith("multipart/");
      const copy = request.clone();
      const text = await copy.text();
      asked.push({
        path: pathname,
        body: isForm ? describeForm(await request.clone().formData()) : text === "" ? undefined : JSON.parse(text),
      });
      return await answer(request);
    },
  });
  const send = async (path: string, body: object | FormData) => {
    const headers = { authorization: `Bearer ${ENV.TEAM_KEY}` };
    const init = body instanceof FormData
      ? { method: "POST", headers, body }
      : { method: "POST", headers: { ...headers, "content-type": "application/json" }, body: JSON.stringify(body) };
    const response = await app.fetch(new Request(`http://gateway/oss/v1/images/${path}`, init));
    const text = await response.text();
    const notes = response.headers.get("x-laneway-notes");
    return { status: response.status, notes, text, body: text.startsWith("{") ? JSON.parse(text) : undefined };
  };
  return { app, asked, send };
}

const ALL = {
  prompt: "a dog",
  n: 1,
  size: "48x32",
  quality: "high",
  background: "transparent",
  output_format: "png",
  output_compression: 80,
  negative_prompt: "cats",
  seed: 7,
  num_inference_steps: 4,
  guidance_scale: 3.5,
  user: "me",
  moderation: "low",
};

Deno.test("images: every field goes to a server of the same wire, and contents are asked for", async () => {
  const { asked, send } = newRig();
  const { status, notes, body } = await send("generations", { model: "painter", ...ALL, n: 1 });
  assertEquals([status, notes], [200, null]);
  const { n: _, ...sent } = ALL;
  assertEquals(asked, [{
    path: "/v1/images/generations",
    body: { model: "org/flux", ...sent, response_format: "b64_json" },
  }]);
  assertEquals(body.data, [{ b64_json: B64 }]);
  assertEquals([body.size, body.output_format, body.quality, body.background], ["48x32", "png", "auto", "auto"]);
});

Deno.test("images: what leaves the choice to the model is not sent", async () => {
  const { asked, send } = newRig();
  const codex = { prompt: "a dog", model: "painter", background: "auto", quality: "auto", size: "auto" };
  const { body } = await send("generations", codex);
  assertEquals(asked[0]!.body, { model: "org/flux", prompt: "a dog", response_format: "b64_json" });
  assertEquals([typeof body.created, body.data.length, typeof body.data[0].b64_json], ["number", 1, "string"]);
});

Deno.test("images: a form with several pictures and a mask goes on as one", async () => {
  const { asked, send } = newRig();
  const form = new FormData();
  for (const [name, value] of Object.entries({ model: "painter", ...ALL, n: 2 })) form.set(name, String(value));
  for (const name of ["a.png", "b.png"]) form.append("image[]", new File([PICTURE], name));
  form.set("mask", new File([PICTURE], "mask.png"));
  const { status, notes } = await send("edits", form);
  assertEquals([status, notes], [200, "delivered 1 of 2 pictures"]);
  const file = (name: string) => ({ name, type: "image/png", size: PICTURE.length });
  const texts = Object.fromEntries(Object.entries(ALL).map(([name, value]) => [name, String(value)]));
  assertEquals(asked, [{
    path: "/v1/images/edits",
    body: {
      model: "org/flux",
      ...texts,
      n: "2",
      response_format: "b64_json",
      "image[]": [file("image.png"), file("image.png")],
      mask: file("image.png"),
    },
  }]);
});

Deno.test("images: pictures in JSON go on as a form, unless one of them is only an address", async () => {
  const { asked, send } = newRig();
  const edit = { model: "painter", prompt: "a painting" };
  assertEquals((await send("edits", { ...edit, images: [{ image_url: DATA_URL }] })).status, 200);
  const web = "https://example.com/a.png";
  assertEquals((await send("edits", { ...edit, images: [{ image_url: DATA_URL }, { image_url: web }] })).status, 200);
  assertEquals(asked.map(({ body }) => body), [
    {
      model: "org/flux",
      prompt: "a painting",
      response_format: "b64_json",
      image: { name: "image.png", type: "image/png", size: PICTURE.length },
    },
    {
      model: "org/flux",
      prompt: "a painting",
      response_format: "b64_json",
      images: [{ image_url: DATA_URL }, { image_url: web }],
    },
  ]);
});

const refused: [name: string, path: string, body: object, param: string][] = [
  ["no model", "generations", { prompt: "a" }, "model"],
  ["no prompt", "generations", { model: "painter" }, "prompt"],
  ["too many pictures", "generations", { model: "painter", prompt: "a", n: 11 }, "n"],
  ["no number of pictures", "generations", { model: "painter", prompt: "a", n: 1.5 }, "n"],
  ["a size in words", "generations", { model: "painter", prompt: "a", size: "large" }, "size"],
  ["a size of nothing", "generations", { model: "painter", prompt: "a", size: "0x9" }, "size"],
  ["a huge size", "generations", { model: "painter", prompt: "a", size: "99999x99999" }, "size"],
  ["too many unfinished ones", "generations", { model: "painter", prompt: "a", partial_images: 4 }, "partial_images"],
  ["an unknown format", "generations", { model: "painter", prompt: "a", output_format: "bmp" }, "output_format"],
  ["a prompt of two", "generations", { model: "painter", prompt: ["a", "b"] }, "prompt"],
  ["nothing to change", "edits", { model: "painter", prompt: "a", images: [] }, "images"],
  [
    "too much to change",
    "edits",
    { model: "painter", prompt: "a", images: Array(17).fill({ image_url: DATA_URL }) },
    "images",
  ],
  ["a picture that is none", "edits", {
    model: "painter",
    prompt: "a",
    images: [{ image_url: "data:image/png;base64,AAAA" }],
  }, "images[0]"],
  [
    "wrong base64",
    "edits",
    { model: "painter", prompt: "a", images: [{ image_url: "data:image/png;base64,?" }] },
    "images[0]",
  ],
  [
    "a file's address",
    "edits",
    { model: "painter", prompt: "a", images: [{ image_url: "file:///etc/passwd" }] },
    "images[0]",
  ],
];
for (const [name, path, body, param] of refused) {
  Deno.test(`images: ${name} is refused in the wire's own form`, async () => {
    const { asked, send } = newRig();
    const answer = await send(path, body);
    assertEquals([answer.status, answer.body.error.type, answer.body.error.param], [
      400,
      "invalid_request_error",
      param,
    ]);
    assertEquals(asked, []);
  });
}

Deno.test("images: forms without a picture, or with a text for one, are refused", async () => {
  const { send } = newRig();
  for (
    const [fields, param] of [
      [{}, "image"],
      [{ image: "https://a.test/b.png" }, "image"],
      [{ image: new File([PICTURE], "a.png"), n: "many" }, "n"],
      [{ image: new File([PICTURE], "a.png"), mask: "none" }, "mask"],
      [{ image: new File(["%PDF-"], "a.png") }, "image"],
    ] as const
  ) {
    const form = new FormData();
    for (const [name, value] of Object.entries({ model: "painter", prompt: "a", ...fields })) form.set(name, value);
    const answer = await send("edits", form);
    assertEquals([answer.status, answer.body.error.param], [400, param], answer.text);
  }
});

const hostile: [name: string, answer: Answering, says: string][] = [
  ["base64 that is none", () => Response.json({ data: [{ b64_json: "*not base64*" }] }), "not valid base64"],
  [
    "something else as a picture",
    () => Response.json({ data: [{ b64_json: btoa("<html>") }] }),
    "instead of a picture",
  ],
  ["nothing as a picture", () => Response.json({ data: [{ b64_json: "" }] }), "without a picture"],
  ["no list", () => Response.json({ images: 7 }), "not a list of pictures"],
  ["an empty list", () => Response.json({ data: [] }), "no picture"],
  ["an error with status 200", () => Response.json({ error: { message: "Out of memory" } }), "Out of memory"],
  ["a page", () => new Response("<html><h1>Hi</h1>", { headers: { "content-type": "text/html" } }), "not a list"],
  [
    "an address inside the network",
    () => Response.json({ data: [{ url: "http://169.254.169.254/latest/meta-data" }] }),
    "resultsFrom",
  ],
  [
    "an address that leads inside the network",
    ({ url }) =>
      url.startsWith("https://files.test")
        ? new Response(null, { status: 302, headers: { location: "http://169.254.169.254/latest" } })
        : Response.json({ data: [{ url: "https://files.test/a.png" }] }),
    "resultsFrom",
  ],
  [
    "a picture without end",
    () => new Response(bodyOf(Array(60).fill("a".repeat(2 ** 20))), { headers: { "content-type": "image/png" } }),
    "longer than",
  ],
];
for (const [name, answer, says] of hostile) {
  Deno.test(`images: ${name} is an error of the upstream`, async () => {
    const { asked, send } = newRig(answer);
    const { status, body, text } = await send("generations", { model: "painter", prompt: "a" });
    assertEquals(status, 502, text.slice(0, 200));
    assertStringIncludes(body.error.message, says);
    assert(asked.every(({ path }) => !path.includes("latest")));
  });
}

Deno.test("images: a picture that is only at an address is fetched, and addresses of several are passed on with a note", async () => {
  const { send } = newRig(({ url }) =>
    url.startsWith("https://files.test")
      ? new Response(PICTURE, { headers: { "content-type": "image/png" } })
      : Response.json({ data: Array(url.endsWith("edits") ? 2 : 1).fill({ url: "https://files.test/a.png" }) })
  );
  const one = await send("generations", { model: "painter", prompt: "a" });
  assertEquals(one.body.data, [{ b64_json: B64 }]);
  const two = await send("edits", { model: "painter", prompt: "a", n: 2, images: [{ image_url: DATA_URL }] });
  assertEquals([two.body.data.length, two.body.data[0].url], [2, "https://files.test/a.png"]);
  assertEquals(two.notes, "delivered url in place of b64_json");
});

Deno.test("images: no more pictures than were wanted, and what differs is noted", async () => {
  const { send } = newRig(() => Response.json({ data: Array(500).fill({ b64_json: B64 }) }));
  const { body, notes } = await send("generations", {
    model: "painter",
    prompt: "a",
    size: "64x64",
    output_format: "webp",
  });
  assertEquals(body.data.length, 1);
  assertEquals(notes, "delivered png in place of webp; delivered 48x32 in place of 64x64");
});

Deno.test("images: a field that the server does not know is left out, and it is asked again", async () => {
  const { asked, send } = newRig(async (request) =>
    (await request.text()).includes("background")
      ? Response.json({ error: { message: "Unknown parameter: 'background'", param: "background" } }, { status: 400 })
      : Response.json({ data: [{ b64_json: B64 }] })
  );
  const { status, notes } = await send("generations", { model: "painter", prompt: "a", background: "opaque" });
  assertEquals([status, notes, asked.length], [200, "dropped background", 2]);
});

/** An event of a stream, as servers write it. */
const event = (type: string, fields: object) => `event: ${type}\ndata: ${JSON.stringify({ type, ...fields })}\n\n`;
const SSE = { headers: { "content-type": "text/event-stream" } };

Deno.test("images: unfinished pictures pass as they come, and no more than were wanted", async () => {
  const partial = event("image_generation.partial_image", { b64_json: B64, partial_image_index: 0 });
  const usage = { input_tokens: 5, output_tokens: 9, total_tokens: 14, input_tokens_details: { image_tokens: 2 } };
  const end = event("image_generation.completed", { b64_json: B64, usage, quality: "low", background: "opaque" });
  const { asked, send } = newRig(() => new Response(partial.repeat(50) + end, SSE));
  const { text } = await send("generations", { model: "painter", prompt: "a", stream: true, partial_images: 2 });
  assertEquals(asked[0]!.body, {
    model: "org/flux",
    prompt: "a",
    response_format: "b64_json",
    stream: true,
    partial_images: 2,
  });
  const events = text.split("\n\n").filter((one) => one.includes("data: {")).map((one) =>
    JSON.parse(one.slice(one.indexOf("data: ") + 6))
  );
  assertEquals(events.map(({ type }) => type), [
    "image_generation.partial_image",
    "image_generation.partial_image",
    "image_generation.completed",
  ]);
  const { usage: counted, quality, background, size, b64_json } = events[2];
  assertEquals([counted.total_tokens, counted.input_tokens_details, quality, background, size, b64_json === B64], [
    14,
    { image_tokens: 2, text_tokens: 3 },
    "low",
    "opaque",
    "48x32",
    true,
  ]);
});

Deno.test("images: a stream that breaks off ends in one error", async () => {
  const partial = event("image_edit.partial_image", { b64_json: B64, partial_image_index: 0 });
  const { send } = newRig(() => new Response(partial, SSE));
  const edit = { model: "painter", prompt: "a", stream: true, partial_images: 1, images: [{ image_url: DATA_URL }] };
  const { text } = await send("edits", edit);
  assertEquals(text.match(/^event: .*$/gm), ["event: image_edit.partial_image", "event: error"]);
});

Deno.test("images: a server that does not stream is a stream of one event", async () => {
  const { send } = newRig();
  const { text } = await send("generations", { model: "painter", prompt: "a", stream: true, partial_images: 3 });
  assertEquals(text.match(/^event: .*$/gm), ["event: image_generation.completed"]);
});

Deno.test("images: each picture has its price, and tokens cost nothing then", async () => {
  const app = newApp({
    config: {
      ...CONFIG,
      lanes: {
        oss: {
          models: {
            painter: { task: "image", targets: [{ upstream: "fake", model: "org/flux" }], price: { image: 0.04 } },
          },
        },
      },
    },
    fetch: () => Promise.resolve(Response.json({ data: Array(3).fill({ b64_json: B64 }) })),
  });
  for (const stream of [false, true]) {
    await (await app.post("/oss/v1/images/generations", { model: "painter", prompt: "a", n: 3, stream })).text();
  }
  assertEquals(app.logs.map(({ cost }) => cost), ["0.12", "0.12"]);
});

Deno.test("images: a client that leaves pays for what it wanted, because the upstream may be drawing it", async () => {
  const priced = { task: "image" as const, targets: [{ upstream: "fake", model: "org/flux" }], price: { image: 0.04 } };
  const begun = Promise.withResolvers<void>();
  const app = newApp({
    config: { ...CONFIG, lanes: { oss: { models: { painter: priced } } } },
    fetch(input, init) {
      const { signal } = new Request(input, init);
      begun.resolve();
      return new Promise((_, reject) => signal.addEventListener("abort", () => reject(signal.reason)));
    },
  });
  const leave = new AbortController();
  const asking = app.fetch(
    new Request("http://gateway/oss/v1/images/generations", {
      method: "POST",
      headers: { authorization: `Bearer ${ENV.TEAM_KEY}`, "content-type": "application/json" },
      body: JSON.stringify({ model: "painter", prompt: "a", n: 3 }),
      signal: leave.signal,
    }),
  );
  await begun.promise;
  leave.abort();
  await (await asking).body?.cancel();
  assertEquals(app.logs.map(({ status, cost }) => [status, cost]), [[499, "0.12"]]);
});

law(
  "images: a form and JSON of the same request come to the same call",
  fc.record({
    prompt: fc.string({ minLength: 1, maxLength: 40 }).map((text) => text.toWellFormed().replace(/[\r\n]/g, " ")),
    n: fc.integer({ min: 1, max: 10 }),
    size: fc.constantFrom("auto", "64x64"),
    quality: fc.constantFrom("auto", "low"),
    seed: fc.integer(),
    guidance_scale: fc.integer({ min: 0, max: 90 }).map((tenths) => tenths / 10),
  }),
  async (fields) => {
    const { asked, send } = newRig();
    const form = new FormData();
    for (const [name, value] of Object.entries({ model: "painter", ...fields })) form.set(name, String(value));
    form.set("image", new File([PICTURE], "a.png"));
    const answers = [
      await send("edits", form),
      await send("edits", { model: "painter", ...fields, images: [{ image_url: DATA_URL }] }),
    ];
    assertEquals(answers.map(({ status }) => status), [200, 200]);
    assertEquals(asked[0], asked[1]);
    assertEquals(promptOf(answers[0]!.body.data[0].b64_json), "drawn");
  },
);
