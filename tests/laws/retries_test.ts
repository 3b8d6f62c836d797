/** Who gets a request again, for every way in which a target can refuse or fail it: counted in posts. */
import { assertEquals } from "@std/assert";
import { configSchema } from "../../src/config/schema.ts";
import { type ConfigInput, newApp } from "../support/app.ts";
import { TcpUpstream } from "../sockets/tcp.ts";
import { SAMPLE, sampleOf } from "../support/law.ts";
import { bodyFor, chatWhole, MODES, PATH, shortAnswer, type Wire, WIRES } from "../regressions/support.ts";

const NAMES = ["first", "second", "third"];
/** A failure is repeated so often where it may be, and followed by so many others. */
const ROUNDS = 2;

/** How often each of three targets is asked by one request, all failing in the same way. */
type Posts = readonly [first: number, second: number, third: number];
/** It certainly did not begin: the same target may get it again, after the others. */
const AGAIN: Posts = [ROUNDS, ROUNDS, ROUNDS];
/** It refused for good, at its door: another one may take it. */
const OTHERS: Posts = [1, 1, 1];
/** It may have worked on it, or still do: one other target gets it. */
const ONCE: Posts = [1, 1, 0];
/** The request itself is wrong, or nothing there is a model's server. */
const NOBODY: Posts = [1, 0, 0];

function postsAfter(status: number): Posts {
  if ([409, 425, 429, 498, 503, 529].includes(status)) return AGAIN;
  if ([401, 402, 403, 404].includes(status)) return OTHERS;
  if ([408, 424].includes(status) || (status >= 500 && status < 600)) return ONCE;
  return NOBODY;
}

/** The platform makes no response with such a status itself, but its `fetch` gives one. */
function failed(status: number, headers: HeadersInit = {}): Response {
  const response = Response.json({ error: { message: "It failed" } }, { headers });
  Object.defineProperties(response, { status: { value: status }, ok: { value: false } });
  return response;
}

function configFor(wire: Wire, baseUrls: readonly string[], retry: ConfigInput["retry"]): ConfigInput {
  return {
    upstreams: Object.fromEntries(NAMES.map((name, at) => [name, { driver: wire, baseUrl: baseUrls[at]! }])),
    lanes: {
      oss: { models: { model: { task: "chat", targets: NAMES.map((upstream) => ({ upstream, model: "m" })) } } },
    },
    retry,
  };
}

const BASE_URLS = NAMES.map((name) => `http://${name}.test/v1`);
const RETRY = { rounds: ROUNDS, budgetMs: 60_000 };

interface Asking {
  wire: Wire;
  stream: boolean;
  retry?: ConfigInput["retry"];
  answer(target: string): Response | Promise<Response>;
}

/** How often each target was asked, and what the client got. */
async function ask({ wire, stream, retry = RETRY, answer }: Asking): Promise<{ posts: number[]; status: number }> {
  const asked: string[] = [];
  const fetch = async (input: RequestInfo | URL, init?: RequestInit) => {
    const request = new Request(input, init);
    const name = new URL(request.url).hostname.replace(".test", "");
    asked.push(name);
    await request.text();
    return await answer(name);
  };
  const app = newApp({ config: configFor(wire, BASE_URLS, retry), fetch });
  const response = await app.post(PATH[wire], bodyFor(wire, { stream }, "model"));
  await response.body?.cancel();
  return { posts: NAMES.map((name) => asked.filter((one) => one === name).length), status: response.status };
}

/** All that is no success: HTTP's redirects and failures, and what no server should say. */
const STATUSES = sampleOf([
  ...Array.from({ length: 300 }, (_, index) => 300 + index),
  ...[100, 101, 102, 103, 199, 600, 601, 777, 999],
]);

for (const wire of WIRES) {
  for (const mode of MODES) {
    const stream = mode === "streamed";
    Deno.test(`law · retries: every status is posted again only where it certainly was not worked on (${SAMPLE}) · ${wire} · ${mode}`, async () => {
      const outcomes = await Promise.all(STATUSES.map(async (status) => {
        const { posts } = await ask({ wire, stream, answer: () => failed(status) });
        return [status, posts];
      }));
      assertEquals<unknown>(outcomes, STATUSES.map((status) => [status, postsAfter(status)]));
    });

    Deno.test(`law · retries: a target that is well answers after a failure of the first, or nobody does (${SAMPLE}) · ${wire} · ${mode}`, async () => {
      const outcomes = await Promise.all(STATUSES.map(async (status) => {
        const answer = (target: string) => target === "first" ? failed(status) : shortAnswer(wire);
        const { posts, status: answered } = await ask({ wire, stream, answer });
        return [status, posts, answered === 200];
      }));
      const expected = STATUSES.map((status) => {
        const goesOn = postsAfter(status)[1] > 0;
        return [status, goesOn ? [1, 1, 0] : NOBODY, goesOn];
      });
      assertEquals(outcomes, expected);
    });

    Deno.test(`law · retries: who says when to come back is asked again then, and no other rule changes · ${wire} · ${mode}`, async () => {
      const statuses = [302, 408, 409, 429, 498, 500, 502, 503, 504, 529];
      const outcomes = await Promise.all(statuses.map(async (status) => {
        const { posts } = await ask({ wire, stream, answer: () => failed(status, { "retry-after": "0.01" }) });
        return [status, posts];
      }));
      assertEquals<unknown>(outcomes, statuses.map((status) => [status, postsAfter(status)]));
    });

    for (
      const [what, message, wanted] of [
        ["a connection that was never made", "connection refused", AGAIN],
        ["a connection that was reset", "connection reset by peer", ONCE],
        ["a connection that ended", "connection closed before message completed", ONCE],
      ] as const
    ) {
      Deno.test(`law · retries: after ${what} · ${wire} · ${mode}`, async () => {
        const { posts } = await ask({ wire, stream, answer: () => Promise.reject(new TypeError(message)) });
        assertEquals(posts, [...wanted]);
      });
    }

    Deno.test(`law · retries: a failure inside an answer of status 200 goes to one other target · ${wire} · ${mode}`, async () => {
      const error = { type: "error", error: { type: "overloaded_error", code: "server_is_overloaded", message: "No" } };
      const answer = () => Response.json(error);
      assertEquals((await ask({ wire, stream, answer })).posts, [...ONCE]);
    });
  }

  Deno.test(`law · retries: failures that may have cost something are followed as often as is configured · ${wire}`, async () => {
    for (const [failovers, posts] of [[0, NOBODY], [1, ONCE], [2, OTHERS], [10, OTHERS]] as const) {
      const outcome = await ask({ wire, stream: false, retry: { ...RETRY, failovers }, answer: () => failed(500) });
      assertEquals(outcome.posts, [...posts], String(failovers));
    }
    assertEquals(configSchema.parse({}).retry.failovers, 1);
  });

  Deno.test(`law · retries: a failure that cost nothing does not use up the others · ${wire}`, async () => {
    const statuses: Record<string, number> = { first: 503, second: 500, third: 429 };
    const answer = (target: string) => failed(statuses[target]!);
    assertEquals((await ask({ wire, stream: false, answer })).posts, [ROUNDS, 1, ROUNDS]);
  });

  Deno.test(`law · retries: over sockets, odd statuses are posted once · ${wire}`, async () => {
    for (const head of ["101 Switching Protocols", "304 Not Modified", "307 Temporary Redirect", "600 No", "999 No"]) {
      const upstreams = NAMES.map(() => new TcpUpstream());
      const config = configFor(wire, upstreams.map(({ baseUrl }) => baseUrl), RETRY);
      const app = newApp({ config, fetch });
      try {
        const answered = app.post(PATH[wire], bodyFor(wire, {}, "model"));
        const asked = await upstreams[0]!.next();
        await asked.write(`HTTP/1.1 ${head}\r\nlocation: ${upstreams[1]!.baseUrl}\r\ncontent-length: 0\r\n\r\n`);
        const response = await answered;
        await response.body?.cancel();
        assertEquals([response.status, upstreams.map(({ asked }) => asked.length)], [502, [1, 0, 0]], head);
      } finally {
        await Promise.all(upstreams.map((upstream) => upstream.stop()));
      }
    }
  });
}

for (const stream of [false, true]) {
  Deno.test(`law · retries: who has answered in another form than was asked for has begun · ${stream ? "streamed" : "whole"}`, async () => {
    const schema = { type: "object", properties: { a: { type: "number" } }, required: ["a"] };
    for (const [failovers, expected] of [[0, [2, 0, 0]], [1, [2, 2, 0]]] as const) {
      const asked: string[] = [];
      const fetch = async (input: RequestInfo | URL, init?: RequestInit) => {
        const request = new Request(input, init);
        asked.push(new URL(request.url).hostname.replace(".test", ""));
        const isCorrection = (await request.json()).messages.length > 2;
        return isCorrection ? failed(503) : Response.json(chatWhole({ content: "No JSON" }));
      };
      const config = configFor("chat", BASE_URLS, { ...RETRY, failovers });
      for (const upstream of Object.values(config.upstreams!)) {
        Object.assign(upstream, { structuredOutput: "instruct" });
      }
      const app = newApp({ config, fetch });
      const form = { response_format: { type: "json_schema", json_schema: { name: "a", schema } } };
      const response = await app.post(PATH.chat, { ...bodyFor("chat", { stream }, "model"), ...form });
      assertEquals(response.status, 503, await response.text());
      assertEquals(NAMES.map((name) => asked.filter((one) => one === name).length), [...expected]);
    }
  });
}
