/** What monitoring reads of a gateway. */
import { assert, assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { createMetrics } from "../../src/observe/metrics.ts";
import { CHAT, chatBody, CONFIG, ENV, newApp, type TestApp, TWO_UPSTREAMS } from "../support/app.ts";
import { ANSWER, answerStream, answerWhole, ENDING, word } from "../support/chat.ts";

/** The samples of the page by their name and labels. */
async function samplesOf(app: TestApp): Promise<Map<string, number>> {
  const text = await (await app.get("/metrics")).text();
  const lines = text.split("\n").filter((line) => line !== "" && !line.startsWith("#"));
  return new Map(lines.map((line) => {
    const at = line.lastIndexOf(" ");
    return [line.slice(0, at), Number(line.slice(at + 1))];
  }));
}

/** The sum of all samples of one name. */
function sumOf(samples: ReadonlyMap<string, number>, name: string): number {
  return [...samples].reduce((sum, [key, value]) => key === name || key.startsWith(`${name}{`) ? sum + value : sum, 0);
}

async function ask(app: TestApp, more: object = {}): Promise<void> {
  const response = await app.post(CHAT, chatBody(more));
  await response.text();
}

Deno.test("metrics: requests, tokens and times are counted under the names of the configuration", async () => {
  const app = newApp({ fetch: () => Promise.resolve(answerWhole()) });
  try {
    await ask(app);
    await ask(app, { top_k: 3 });
    const samples = await samplesOf(app);
    const labels = 'lane="oss",protocol="chat",model="model",target="fake/org/model",status="200"';
    assertEquals(samples.get(`laneway_requests_total{${labels}}`), 2);
    const asked = 'gen_ai_operation_name="chat",gen_ai_provider_name="fake",gen_ai_request_model="model",' +
      'gen_ai_response_model="org/model"';
    const { prompt_tokens, completion_tokens } = ANSWER.usage;
    const usage = `gen_ai_client_token_usage_sum{${asked},gen_ai_token_type=`;
    assertEquals(samples.get(`${usage}"input"}`), 2 * prompt_tokens);
    assertEquals(samples.get(`${usage}"output"}`), 2 * completion_tokens);
    assertEquals(samples.get(`gen_ai_client_operation_duration_seconds_bucket{${asked},le="+Inf"}`), 2);
    assertEquals(samples.get('laneway_attempts_total{upstream="fake",reason="first"}'), 2);
    assertEquals(samples.get("laneway_requests_running"), 0);
  } finally {
    await app.close();
  }
});

Deno.test("metrics: a stream is open until its end, and its first token has a time", async () => {
  const app = newApp({ fetch: () => Promise.resolve(answerStream([word("a"), word("b"), ENDING])) });
  try {
    const response = await app.post(CHAT, chatBody({ stream: true }));
    assertEquals((await samplesOf(app)).get("laneway_streams_open"), 1);
    await response.text();
    const samples = await samplesOf(app);
    assertEquals(samples.get("laneway_streams_open"), 0);
    assertEquals(sumOf(samples, "gen_ai_server_time_to_first_token_seconds_count"), 1);
  } finally {
    await app.close();
  }
});

Deno.test("metrics: a failover is an attempt of its own, and a failure of the first", async () => {
  const fetch = (url: unknown) =>
    Promise.resolve(String(url).includes("first") ? new Response(null, { status: 503 }) : answerWhole());
  const app = newApp({
    config: TWO_UPSTREAMS,
    fetch: ((input: Request | string | URL) =>
      fetch(input instanceof Request ? input.url : input)) as typeof globalThis.fetch,
  });
  try {
    await ask(app);
    const samples = await samplesOf(app);
    assertEquals(samples.get('laneway_attempts_total{upstream="first",reason="first"}'), 1);
    assertEquals(samples.get('laneway_attempt_failures_total{upstream="first",code="unavailable"}'), 1);
    assertEquals(samples.get('laneway_attempts_total{upstream="second",reason="failover"}'), 1);
  } finally {
    await app.close();
  }
});

Deno.test("metrics: names that clients make up share one series", async () => {
  const app = newApp({ fetch: () => Promise.resolve(answerWhole()) });
  try {
    for (let index = 0; index < 50; index++) await ask(app, { model: `made-up-${index} secret` });
    const text = await (await app.get("/metrics")).text();
    assert(!text.includes("made-up"));
    assertEquals(sumOf(await samplesOf(app), "laneway_errors_total"), 50);
    assertMatch(text, /laneway_requests_total\{[^}]*model="other"[^}]*status="404"\} 50/);
  } finally {
    await app.close();
  }
});

Deno.test("metrics: models of an open lane have series of their own up to a number", () => {
  const metrics = createMetrics({ version: "1", operations: new Map([["chat", "chat"]]), names: () => new Set() });
  for (let index = 0; index < 5_000; index++) {
    const target = `up/m${index}`;
    const entry = {
      time: "",
      id: "",
      method: "POST",
      path: "/",
      lane: "hf",
      protocol: "chat",
      durationMs: 1,
      status: 200,
    };
    metrics.count({ type: "request", entry: { ...entry, model: `m${index}`, target, notes: [`word${index} field`] } });
  }
  const text = metrics.render([]);
  assert(text.split("\n").length < 40_000, String(text.split("\n").length));
  assertEquals(text.match(/laneway_requests_total\{.*model="other"/g)?.length, 1);
});

Deno.test("metrics: nothing of what clients write, and no secret, is on the page", async () => {
  const secrets = ["hunter2-content", ENV.TEAM_KEY!, ENV.UPSTREAM_SECRET!];
  const config = { ...CONFIG, keys: [{ name: "ops", secret: { env: "TEAM_KEY" }, operator: true }] };
  const app = newApp({
    config,
    fetch: () => Promise.resolve(new Response(`no: ${secrets.join(" ")}`, { status: 400 })),
  });
  const headers = { authorization: `Bearer ${ENV.TEAM_KEY}`, "x-session-id": secrets[0]! };
  try {
    for (const field of ["model", "user", "hunter2-content", "top_k", "metadata", "messages", "tools"]) {
      for (const value of [...secrets, secrets, { [secrets[0]!]: secrets[0]! }]) {
        const response = await app.post(CHAT, chatBody({ [field]: value }), headers);
        await response.text();
        await app.get(`/oss/v1/${field}/${secrets[0]}?${secrets[1]}=1`, headers);
      }
    }
    const text = await (await app.get("/metrics", headers)).text();
    assertStringIncludes(text, "laneway_requests_total");
    assertEquals(secrets.filter((secret) => text.includes(secret)), []);
  } finally {
    await app.close();
  }
});

Deno.test("metrics: only an operator sees them, and they can be turned off", async () => {
  const keys = [{ name: "ops", secret: { env: "TEAM_KEY" }, operator: true }, {
    name: "guest",
    secret: { env: "GUEST_KEY" },
  }];
  const app = newApp({ config: { ...CONFIG, keys } });
  const statusWith = async (key?: string, method = "GET") => {
    const headers = key === undefined ? undefined : { "x-api-key": key };
    return (await app.fetch(new Request("http://gateway/metrics", { method, headers }))).status;
  };
  try {
    assertEquals(await statusWith(), 401);
    assertEquals(await statusWith(ENV.GUEST_KEY), 403);
    assertEquals(await statusWith(ENV.TEAM_KEY), 200);
    assertEquals(await statusWith(ENV.TEAM_KEY, "HEAD"), 200);
    assertEquals(await statusWith(ENV.TEAM_KEY, "POST"), 405);
  } finally {
    await app.close();
  }
  const off = newApp({ config: { ...CONFIG, observe: { metrics: false } } });
  assertEquals((await off.get("/metrics")).status, 404);
  const peer = { transport: "tcp", hostname: "203.0.113.7", port: 5 };
  assertEquals((await off.fetch(new Request("http://gateway/metrics"), { remoteAddr: peer })).status, 401);
});

Deno.test("metrics: a new configuration goes on counting, by its own names", async () => {
  const app = newApp({ fetch: () => Promise.resolve(answerWhole()) });
  await ask(app);
  const next = newApp({ after: app, fetch: () => Promise.resolve(answerWhole()) });
  try {
    await ask(next);
    assertEquals(sumOf(await samplesOf(next), "laneway_requests_total"), 2);
  } finally {
    await next.close();
  }
});

Deno.test("metrics: a thousand keys have costs of their own, and further ones share theirs", () => {
  const metrics = createMetrics({ version: "1", operations: new Map(), names: () => new Set() });
  const entry = { time: "", id: "", method: "POST", path: "", status: 200, durationMs: 1, cost: "1" };
  for (let at = 0; at < 5_000; at++) metrics.count({ type: "request", entry: { ...entry, key: `oidc:${at}` } });
  assertEquals(metrics.render([]).match(/^laneway_cost\w*\{.*$/gm)?.length, 1_001);
});
