/** The doctor examines what it is asked about, and nothing else. */
import { assertEquals, assertRejects } from "@std/assert";
import { examine } from "../../src/programs/doctor/mod.ts";
import { UsageError } from "../../src/programs/program.ts";
import { deno } from "../../src/platform/deno.ts";

/** One upstream that works, and one whose secret is missing. */
const CONFIG = {
  listen: { port: 0 },
  store: { kind: "memory" },
  upstreams: {
    mine: { driver: "chat", baseUrl: "http://mine.test/v1" },
    remote: { driver: "chat", baseUrl: "http://remote.test/v1", secret: { env: "REMOTE_TOKEN" } },
  },
  lanes: {
    oss: {
      models: {
        small: { task: "chat", targets: [{ upstream: "mine", model: "org/small" }] },
        large: { task: "chat", targets: [{ upstream: "remote", model: "org/large" }] },
      },
    },
    local: { upstreams: { chat: "mine" } },
  },
};

/** What is found about what, and which models were asked. */
async function examined(only: { lane?: string; model?: string }) {
  const asked = new Set<string>();
  const fetch = async (input: string | URL | Request, init?: RequestInit) => {
    const request = new Request(input, init);
    if (request.method === "GET") return Response.json({ object: "list", data: [] });
    const { model } = await request.json();
    asked.add(`${new URL(request.url).host} ${model}`);
    const message = { role: "assistant", content: "pong" };
    return Response.json({ id: "1", model, choices: [{ index: 0, message, finish_reason: "stop" }] });
  };
  const findings = await examine({
    platform: {
      ...deno,
      os: "linux",
      env: () => undefined,
      fetch: fetch as typeof globalThis.fetch,
      readText: () => JSON.stringify(CONFIG),
      isGranted: () => true,
    },
    plugins: {},
    path: undefined,
    listen: {},
    descriptors: { free: () => Promise.resolve(undefined), areScarce: () => false, areWasted: () => false },
    now: Date.now,
    patienceMs: 2_000,
    only,
  });
  const about = (level: string) => new Set(findings.filter((one) => one.level === level).map(({ subject }) => subject));
  return { errors: [...about("error")], skipped: [...about("skipped")], asked: [...asked].sort() };
}

Deno.test("doctor: with nothing named, all upstreams and listed models are examined", async () => {
  const { errors, skipped, asked } = await examined({});
  assertEquals(errors, ['upstream "remote"']);
  assertEquals(skipped, ['lane "local"', 'upstream "remote"']);
  assertEquals(asked, ["mine.test org/small"]);
});

Deno.test("doctor: a named model is examined with its upstream alone", async () => {
  assertEquals(await examined({ model: "small" }), { errors: [], skipped: [], asked: ["mine.test org/small"] });
});

Deno.test("doctor: a named lane is examined with its upstreams alone, and one without a list says what to do", async () => {
  assertEquals(await examined({ lane: "local" }), { errors: [], skipped: ['lane "local"'], asked: [] });
});

Deno.test("doctor: a model that only the upstream lists is asked when its lane is named", async () => {
  const { errors, asked } = await examined({ lane: "local", model: "org/other" });
  assertEquals(errors, []);
  assertEquals(asked, ["mine.test org/other"]);
});

Deno.test("doctor: a lane or a model that is not there is a mistake, not a success", async () => {
  await assertRejects(
    () => examined({ lane: "os" }),
    UsageError,
    'Cannot find lane "os": this gateway has "oss", "local"',
  );
  await assertRejects(() => examined({ model: "smal" }), UsageError, 'Cannot find model "smal"');
  await assertRejects(() => examined({ lane: "oss", model: "smal" }), UsageError, 'lane "oss" lists none');
});
