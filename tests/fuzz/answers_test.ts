/** Answers and streams of the conversational wires as no server should send them, seen by clients of each wire. */
import fc from "fast-check";
import type { JsonValue } from "../../src/canonical/json.ts";
import { bodyFor, CONFIG, PATH, streamed, TOOLS, type Wire } from "../regressions/support.ts";
import { newApp } from "../support/app.ts";
import { assertAnswer } from "../support/answer_shapes.ts";
import { fakeUpstream } from "../support/fake_upstream.ts";
import { type Fixture, isOk, isStream, loadFixtures } from "../support/fixtures.ts";
import { assertSound, fuzz, hostileJson, hostileStream } from "../support/fuzz.ts";
import { LAW_INPUTS } from "../support/law_inputs.ts";

const CLIENTS = ["chat", "messages", "responses"] as const;

const setting = fc.record({
  client: fc.constantFrom(...CLIENTS),
  stream: fc.boolean(),
  tools: fc.boolean(),
  textForms: fc.constantFrom("parse" as const, "leave" as const),
});
type Setting = typeof setting extends fc.Arbitrary<infer T> ? T : never;

async function seen(upstream: Wire, { client, stream, tools, textForms }: Setting, answer: () => Response) {
  const config = {
    ...CONFIG,
    upstreams: { ...CONFIG.upstreams, [upstream]: { ...CONFIG.upstreams[upstream], textForms } },
  };
  const app = newApp({ config, fetch: fakeUpstream(answer).fetch });
  const headers = client === "messages" ? { "anthropic-version": "2023-06-01" } : undefined;
  const body = bodyFor(client, { stream, ...(tools && { tools: TOOLS }) }, upstream);
  const response = await app.post(PATH[client], body, headers);
  const text = await response.text();
  assertSound(app, response.status, text);
  await assertAnswer(client, response, text);
}

const wholeOf = ({ response }: Fixture): JsonValue => response.json ?? response.text ?? "";

for (const upstream of CLIENTS) {
  const fixtures = loadFixtures(upstream);
  const streams = fixtures.filter(isStream).map(({ response }) => response.text!);
  const wholes = fixtures.filter((one) => isOk(one) && !isStream(one)).map(wholeOf);
  const { answer } = LAW_INPUTS.find(({ wire }) => wire.name === upstream)!;

  const bodies = hostileJson(fc.oneof(fc.constantFrom(...wholes), answer as fc.Arbitrary<JsonValue>));
  fuzz(
    `${upstream}: whole answers`,
    60,
    fc.tuple(setting, bodies),
    ([setting, body]) =>
      seen(upstream, setting, () => new Response(body, { headers: { "content-type": "application/json" } })),
  );

  fuzz(
    `${upstream}: streams`,
    60,
    fc.tuple(setting, hostileStream(fc.constantFrom(...streams))),
    ([setting, text]) => seen(upstream, setting, () => streamed(text)),
  );

  const errors = fixtures.filter((one) => !isOk(one)).map(wholeOf);
  const failures = fc.tuple(
    setting,
    fc.constantFrom(199, 302, 400, 401, 403, 404, 413, 418, 424, 429, 500, 503, 529).filter((status) => status >= 200),
    hostileJson(fc.constantFrom(...errors)),
  );
  fuzz(
    `${upstream}: errors`,
    30,
    failures,
    ([setting, status, body]) =>
      seen(upstream, setting, () => new Response(body, { status, headers: { "content-type": "application/json" } })),
  );
}
