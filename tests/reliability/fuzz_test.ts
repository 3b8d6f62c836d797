import { assert, AssertionError } from "@std/assert";
import fc from "fast-check";
import { formatLogLine } from "../../src/observe/log.ts";
import { data, delta, streamed } from "../regressions/support.ts";
import { ENV, newApp } from "../support/app.ts";
import { type Asked, fakeUpstream } from "../support/fake_upstream.ts";
import { hostileJson } from "../support/fuzz.ts";
import {
  answerWell,
  asForm,
  FORM_PATHS,
  headersFor,
  HOSTILE_BODIES,
  HOSTILE_CONFIG,
  hostileForms,
  hostilePaths,
  type HostileRequest,
  JSON_HEADERS,
  OTHER_BODIES,
  storedBodies,
} from "../support/hostile_requests.ts";
import { report, scaled } from "./scale.ts";

const SEED = 20261121;
const REQUESTS = scaled(100_000, 800, 20_000);

const posted = (path: string, headers: Record<string, string>, bodies: fc.Arbitrary<string>) =>
  bodies.map((body): HostileRequest => ({ method: "POST", path, headers, body }));

const requests = fc.oneof(
  ...HOSTILE_BODIES.flatMap(({ wire, path, countPath, bodies }) => [
    { weight: 4, arbitrary: posted(path, headersFor(wire), bodies) },
    ...(countPath ? [{ weight: 1, arbitrary: posted(countPath, headersFor(wire), bodies) }] : []),
  ]),
  ...Object.entries(OTHER_BODIES).map(([path, valid]) => ({
    weight: 1,
    arbitrary: posted(path, JSON_HEADERS, hostileJson(fc.constantFrom(...valid))),
  })),
  { weight: 1, arbitrary: posted("/oss/v1/responses", JSON_HEADERS, storedBodies) },
  { weight: 2, arbitrary: fc.tuple(fc.constantFrom(...FORM_PATHS), hostileForms).map((form) => asForm(...form)) },
  { weight: 3, arbitrary: hostilePaths },
);

/** Mostly a key that opens; else another one, none, or what is none. */
const credentials = fc.oneof(
  { weight: 8, arbitrary: fc.constant<Record<string, string>>({ authorization: `Bearer ${ENV.TEAM_KEY}` }) },
  {
    weight: 2,
    arbitrary: fc.constantFrom<Record<string, string>>(
      { "x-api-key": ENV.GUEST_KEY! },
      {},
      { authorization: `Bearer ${ENV.UPSTREAM_SECRET}` },
      { authorization: `Basic ${ENV.TEAM_KEY}` },
      { authorization: `Bearer ${ENV.TEAM_KEY}`, "x-api-key": "another", cookie: `key=${ENV.TEAM_KEY}` },
    ),
  },
);

/** An upstream that tells all that it was sent, wherever it can. */
const tell = (asked: Asked) => `I was sent ${[...asked.headers].map((header) => header.join(": ")).join(", ")}`;
const fates: fc.Arbitrary<(asked: Asked) => Response> = fc.oneof(
  { weight: 6, arbitrary: fc.constant(answerWell) },
  {
    weight: 3,
    arbitrary: fc.constantFrom(400, 401, 404, 408, 413, 422, 429, 500, 503).map((status) => (asked: Asked) =>
      Response.json({ error: { message: tell(asked), param: tell(asked), code: tell(asked) } }, {
        status,
        headers: { "retry-after": tell(asked), "x-echo": tell(asked), "set-cookie": tell(asked) },
      })
    ),
  },
  {
    weight: 1,
    arbitrary: fc.constantFrom(
      (asked: Asked) => new Response(tell(asked), { status: 502, headers: { "content-type": "text/plain" } }),
      (asked: Asked) => Response.json({ error: tell(asked) }),
      (asked: Asked) => streamed(data({ error: { message: tell(asked) } })),
      (asked: Asked) => streamed(data(delta({ content: "Hi" }), { error: { message: tell(asked) } })),
      () => {
        throw new TypeError("Connection refused");
      },
    ),
  },
);

const SECRETS = Object.values(ENV);

Deno.test(`fuzz: ${REQUESTS} mutated requests over all endpoints (seed ${SEED})`, async () => {
  let answer: (asked: Asked) => Response = answerWell;
  const upstream = fakeUpstream((asked) => answer(asked));
  const app = newApp({
    config: {
      ...HOSTILE_CONFIG,
      keys: [{ name: "team", secret: { env: "TEAM_KEY" } }, {
        name: "guest",
        secret: { env: "GUEST_KEY" },
        lanes: ["any"],
      }],
    },
    fetch: upstream.fetch,
  });
  const statuses = new Map<number, number>();
  let slowest = 0;
  const property = fc.asyncProperty(
    requests,
    credentials,
    fates,
    async ({ path, headers, ...init }, credential, fate) => {
      answer = fate;
      const begun = performance.now();
      const request = new Request(`http://gateway${path}`, { ...init, headers: { ...headers, ...credential } });
      const response = await app.fetch(request);
      const text = new TextDecoder().decode(await response.bytes());
      slowest = Math.max(slowest, performance.now() - begun);
      upstream.asked.length = 0;
      const entries = app.logs.splice(0);
      const { status } = response;
      statuses.set(status, (statuses.get(status) ?? 0) + 1);

      const failure = entries.find(({ error }) => error === "internal");
      if (failure || status === 500) {
        const { cause } = failure ?? {};
        throw new AssertionError(`The gateway failed: ${cause instanceof Error ? cause.stack : text}`, { cause });
      }
      const visible = [...response.headers].map((header) => header.join(": ")).join("\n") + text;
      const logged = entries.map(formatLogLine).join("\n");
      for (const secret of SECRETS) {
        assert(!visible.includes(secret), `The answer holds a secret: ${visible.slice(0, 2_000)}`);
        assert(!logged.includes(secret), `The log holds a secret: ${logged}`);
      }
    },
  );
  await fc.assert(property, { seed: SEED, numRuns: REQUESTS });
  const counts = [...statuses].sort(([a], [b]) => a - b).map(([status, count]) => `${status}: ${count}`).join(", ");
  report(`${REQUESTS} requests, the slowest ${Math.round(slowest)} ms; answers by status: ${counts}`);
});
