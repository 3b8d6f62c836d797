/** Nothing of what clients, models and operators keep to themselves is in anything that shows the gateway's work. */
import { assertEquals } from "@std/assert";
import { deno } from "../../src/platform/deno.ts";
import type { Telemetry } from "../../src/platform/platform.ts";
import { CONFIG, ENV, newApp } from "../support/app.ts";
import { answerWhole } from "../support/chat.ts";
import { withFolder } from "../support/process.ts";

const ROUNDS = 200;
const PATHS = [
  "chat/completions",
  "messages",
  "responses",
  "embeddings",
  "rerank",
  "decisions",
  "audio/speech",
  "images/generations",
  "messages/count_tokens",
];
const FIELDS = [
  "messages",
  "input",
  "system",
  "user",
  "stop",
  "tools",
  "metadata",
  "temperature",
  "response_format",
  "documents",
  "query",
  "tool_choice",
  "previous_response_id",
];
const HEADERS = [
  "x-session-id",
  "user-agent",
  "cookie",
  "x-forwarded-for",
  "baggage",
  "tracestate",
  "traceparent",
  "referer",
];

/** A generator that gives the same numbers for the same seed. */
function randomOf(seed: number): (below: number) => number {
  let state = seed >>> 0;
  return (below) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor(state / 2 ** 32 * below);
  };
}

function valueOf(random: (below: number) => number, secret: string): unknown {
  const shapes = [
    secret,
    [secret],
    { [secret]: secret },
    [{ role: "user", content: secret }],
    [{ role: "user", content: [{ type: "text", text: secret }] }],
    [{ type: "function", function: { name: "mine", description: secret, parameters: { title: secret } } }],
    `Bearer ${secret}`,
  ];
  return shapes[random(shapes.length)];
}

/** OpenTelemetry that keeps all that spans are told. */
function recordingTelemetry(recorded: unknown[]): Telemetry {
  let ids = 0;
  const keep = (...given: unknown[]) => void recorded.push(given);
  const startSpan = (...given: unknown[]) => {
    keep(given[0], given[1]);
    const spanContext = { traceId: "a".repeat(32), spanId: String(++ids).padStart(16, "0"), traceFlags: 1 };
    return {
      spanContext: () => spanContext,
      setAttributes: keep,
      setAttribute: keep,
      setStatus: keep,
      updateName: keep,
      end() {},
    };
  };
  const tracerProvider = { getTracer: () => ({ startSpan }) } as unknown as Telemetry["tracerProvider"];
  return { tracerProvider, isAutomatic: false, integer: (value) => value };
}

Deno.test("observed: no content, key or secret of a random request is in the log, metrics, spans, audit, status or usage", async () => {
  await withFolder(async (folder) => {
    const random = randomOf(17);
    const secrets: string[] = [ENV.TEAM_KEY!, ENV.UPSTREAM_SECRET!];
    const fresh = () => {
      const secret = `hidden${random(2 ** 31).toString(36)}${random(2 ** 31).toString(36)}`;
      secrets.push(secret);
      return secret;
    };
    const spans: unknown[] = [];
    const app = newApp({
      platform: Object.create(deno, { telemetry: { value: recordingTelemetry(spans) } }),
      config: {
        ...CONFIG,
        keys: [{ name: "team", secret: { env: "TEAM_KEY" }, operator: true }],
        usage: {},
        observe: { audit: { file: `${folder}/audit.jsonl` } },
      },
      fetch() {
        const status = [200, 400, 401, 404, 429, 500, 503][random(7)]!;
        if (status === 200) return Promise.resolve(answerWhole(fresh()));
        const body = JSON.stringify({
          error: { message: `${fresh()} ${ENV.UPSTREAM_SECRET}`, param: fresh(), code: fresh() },
        });
        return Promise.resolve(
          new Response(body, { status, headers: { "x-request-id": fresh(), "retry-after": "0" } }),
        );
      },
    });
    const key = { authorization: `Bearer ${ENV.TEAM_KEY}` };
    for (let round = 0; round < ROUNDS; round++) {
      const body: Record<string, unknown> = { model: "model", max_tokens: 5, stream: random(2) === 1 };
      body.messages = body.input = [{ role: "user", content: fresh() }];
      body[FIELDS[random(FIELDS.length)]!] = valueOf(random, fresh());
      const headers = {
        ...(random(8) === 0 ? { "x-api-key": fresh() } : key),
        [HEADERS[random(HEADERS.length)]!]: fresh(),
      };
      const path = `/oss/v1/${PATHS[random(PATHS.length)]}?key=${fresh()}`;
      const text = random(20) === 0 ? `{"model":"${fresh()}` : body;
      await (await app.post(path, text, headers)).text();
    }
    const pages = await Promise.all(
      ["/metrics", "/status", "/usage"].map(async (path) => await (await app.get(path, key)).text()),
    );
    await app.close();
    const { formatLogLine } = await import("../../src/observe/log.ts");
    assertEquals(spans.length > ROUNDS, true);
    const shown = [
      JSON.stringify(spans),
      ...app.logs.map(formatLogLine),
      ...pages,
      await Deno.readTextFile(`${folder}/audit.jsonl`),
    ];
    assertEquals(app.logs.length >= ROUNDS, true);
    assertEquals(secrets.flatMap((secret) => shown.filter((text) => text.includes(secret))), []);
  });
});
