/**
 * A host refuses any one or two things of a request, in words of many styles, some of which name nothing: the request is served
 * within the budget, with a note of what was given up, and nothing else changes. A host that refuses everything is asked at most
 * five times, and its words arrive.
 */
import { assert, assertEquals, assertLessOrEqual, assertStringIncludes } from "@std/assert";
import fc from "fast-check";
import type { JsonObject } from "../../src/canonical/json.ts";
import { type Wire, WIRES } from "../regressions/support.ts";
import { type ConfigInput, ENV, newApp, type TestApp } from "../support/app.ts";
import { manyHosts } from "../support/law.ts";
import { refusal, type Style, STYLES } from "../support/refusal_words.ts";
import {
  ANSWERED,
  answerOf,
  BITS,
  type Bits,
  type Client,
  CLIENTS,
  differences,
  LIMIT,
  refusalOf,
  requestOf,
  SAID,
  type Thing,
  thingsIn,
  TOOLS,
} from "../support/refusing_hosts.ts";

/** The most calls of one request. */
const MOST_CALLS = 5;

/** By which transport a host is called: `fetch` as tests replace it, or over a socket. */
const TRANSPORTS = ["replaced", "replaced", "replaced", "replaced", "replaced", "replaced", "fetch", "node"] as const;

interface Case {
  client: Client;
  upstream: Wire;
  bits: Bits;
  isStream: boolean;
  transport: typeof TRANSPORTS[number];
  picks: readonly number[];
  style: Style;
}

const CASES: fc.Arbitrary<Case> = fc.record({
  client: fc.constantFrom(...CLIENTS),
  upstream: fc.constantFrom(...WIRES),
  bits: BITS,
  isStream: fc.boolean(),
  transport: fc.constantFrom(...TRANSPORTS),
  picks: fc.array(fc.nat(100_000), { minLength: 1, maxLength: 2 }),
  style: STYLES,
});

interface Rig {
  app: TestApp;
  /** The bodies that the host received. */
  sent: JsonObject[];
}

function configOf(upstream: Wire, baseUrl: string, transport: Case["transport"]): ConfigInput {
  return {
    ...transport === "node" && { transport },
    upstreams: { host: { driver: upstream, baseUrl, secret: { env: "UPSTREAM_SECRET" } } },
    lanes: { oss: { models: { model: { task: "chat", targets: [{ upstream: "host", model: "org/model" }] } } } },
  };
}

/** A gateway before one host. */
async function withHost(
  { upstream, transport }: Pick<Case, "upstream" | "transport">,
  answer: (body: JsonObject) => Response,
  use: (rig: Rig) => Promise<void>,
): Promise<void> {
  const sent: JsonObject[] = [];
  const reply = async (request: Request) => {
    const body: JsonObject = JSON.parse(await request.text());
    sent.push(body);
    return answer(body);
  };
  if (transport === "replaced") {
    const config = configOf(upstream, "http://host.test/v1", transport);
    const app = newApp({ config, fetch: (input, init) => reply(new Request(input, init)) });
    await use({ app, sent });
    return;
  }
  const server = Deno.serve({ hostname: "127.0.0.1", port: 0, onListen() {} }, reply);
  const config = configOf(upstream, `http://127.0.0.1:${server.addr.port}/v1`, transport);
  const app = newApp({ config, fetch: undefined, env: ENV });
  try {
    await use({ app, sent });
  } finally {
    await app.close();
    await server.shutdown();
  }
}

manyHosts(
  "law · relaxations: a request is served without what its host refuses, and without nothing else",
  CASES,
  async ({ picks, style, client, bits, isStream, ...host }) => {
    const { upstream } = host;
    let refused: Thing[] | undefined;
    const answer = (body: JsonObject) => {
      const things = thingsIn(body, upstream, style.isSilent);
      refused ??= things.length === 0 ? [] : [...new Set(picks.map((pick) => things[pick % things.length]!))];
      return refusalOf(body, refused, style) ?? answerOf(upstream, body);
    };
    await withHost(host, answer, async ({ app, sent }) => {
      const { path, body } = requestOf(client, bits, "model", isStream);
      const ask = async () => {
        const before = sent.length;
        const response = await app.post(path, body);
        const text = await response.text();
        const notes = response.headers.get("x-laneway-notes") ?? "";
        return { status: response.status, notes, text, sent: sent.slice(before) };
      };
      const first = await ask();
      const names = refused!.map(({ kind, name }) => `${kind} ${name}`).join(" and ");
      const about = `${names}: ${first.notes} · ${first.sent.length} calls · ${first.text.slice(0, 300)}`;
      assertEquals(first.status, 200, about);
      assertStringIncludes(first.text, ANSWERED, about);
      assertLessOrEqual(first.sent.length, MOST_CALLS, about);
      if (refused!.length === 0) return;
      const full = first.sent[0]!;
      assert(/relaxed|dropped|prompt/.test(first.notes), about);
      // The conversation and the tools stay, and so does the limit.
      const kept = [...SAID, ...TOOLS.map((tool) => `"${tool}"`), `${LIMIT}`].filter((one) =>
        JSON.stringify(full).includes(one)
      );
      const isBounded = refused!.some(({ kind }) => kind === "bound");
      for (const one of kept) {
        if (isBounded && one === `${LIMIT}`) continue;
        assertStringIncludes(JSON.stringify(first.sent.at(-1)), one, about);
      }
      let last = first;
      let again = await ask();
      for (let turn = 0; turn < 80; turn++) {
        assertEquals(again.status, 200, about);
        const isSettled = again.sent.length === 1 && JSON.stringify(again.sent) === JSON.stringify(last.sent.slice(-1));
        if (isSettled) break;
        [last, again] = [again, await ask()];
      }
      assertEquals(again.sent.length, 1, `${about} · later ${again.notes}`);
      const changed = differences(full, again.sent[0]!, upstream);
      const more = changed.filter((path) => !refused!.some((thing) => thing.mayChange(path)));
      assertEquals(more, [], `${Deno.env.get("DBG") ? JSON.stringify(full.messages) + " ==> " + JSON.stringify(again.sent[0]!.messages) : ""}${about} · later ${again.notes}`);
      for (const { note } of refused!) assert(note.test(again.notes), `${about} · later ${again.notes}`);
    });
  },
);

manyHosts(
  "law · relaxations: a host that refuses everything is asked at most five times, and its words arrive",
  CASES,
  async ({ picks: [pick = 0], style, client, bits, isStream, ...host }) => {
    const { upstream } = host;
    let words = "";
    const answer = (body: JsonObject) => {
      const things = thingsIn(body, upstream, style.isSilent);
      const thing = things.length > 0 ? things[pick % things.length]! : undefined;
      const said = refusal(style, thing?.complaint(body) ?? { path: ["anything"] });
      words ||= JSON.stringify(thing?.name);
      return said;
    };
    await withHost(host, answer, async ({ app, sent }) => {
      const { path, body } = requestOf(client, bits, "model", isStream);
      const response = await app.post(path, body);
      const text = await response.text();
      assert(response.status >= 400 && response.status < 500, `${words}: ${response.status} ${text}`);
      assertLessOrEqual(sent.length, MOST_CALLS, words);
      assertEquals(new Set(sent.map((one) => JSON.stringify(one))).size, sent.length, "a body was sent twice");
    });
  },
);
