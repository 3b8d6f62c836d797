/**
 * A host refuses any one or two things of a request, in words of many styles, some of which name nothing: the request is served
 * within the budget, with a note of what was given up, and nothing else changes. A host that refuses everything is asked at most
 * five times, and its words arrive.
 */
import { assert, assertEquals, assertLessOrEqual, assertStringIncludes } from "@std/assert";
import fc from "fast-check";
import type { JsonObject } from "../../src/canonical/json.ts";
import { scaled } from "../reliability/scale.ts";
import { type Wire, WIRES } from "../regressions/support.ts";
import { type ConfigInput, ENV, newApp, type TestApp } from "../support/app.ts";
import { lawOf } from "../support/law.ts";
import {
  isPage,
  OTHER_REFUSALS,
  otherRefusal,
  refusal,
  sentence,
  type Style,
  STYLES,
} from "../support/refusal_words.ts";
import {
  ANSWERED,
  answerOf,
  at,
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

/** As many as there are in the world, and fewer where the law is about the gateway alone; every day a few, other ones each day. */
const [HOSTS, FEWER] = [scaled(3_000, 60), scaled(500, 30)];

/** By which transport a host is called: `fetch` as tests replace it, or over a socket. */
const TRANSPORTS = "serve" in Deno ? ["replaced", "fetch", "node"] as const : ["replaced"] as const;

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
  transport: fc.oneof({ weight: 14, arbitrary: fc.constant("replaced" as const) }, fc.constantFrom(...TRANSPORTS)),
  picks: fc.array(fc.nat(100_000), { minLength: 1, maxLength: 2 }),
  style: STYLES,
});

/** Two keys, since what one teaches is its own at first. */
const KEYS: ConfigInput["keys"] = [
  { name: "first", secret: { env: "TEAM_KEY" } },
  { name: "second", secret: { env: "GUEST_KEY" } },
];
const AS = [ENV.TEAM_KEY, ENV.GUEST_KEY].map((key) => ({ authorization: `Bearer ${key}` }));

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
    keys: KEYS,
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

lawOf(
  HOSTS,
  "law · relaxations: a request is served without what its host refuses, and with all else",
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
        const response = await app.post(path, body, AS[0]);
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
      // A search is over when nothing changes any more. What two relaxations give up is given back in two steps.
      const wanted = first.notes.split("relaxed").length - 1 > refused!.length ? 6 : 1;
      let again = first;
      for (let turn = 0, same = 0; turn < 80 && same < wanted; turn++) {
        const before = JSON.stringify(again.sent.slice(-1));
        again = await ask();
        assertEquals(again.status, 200, about);
        same = JSON.stringify(again.sent) === before ? same + 1 : 0;
      }
      assertEquals(again.sent.length, 1, `${about} · later ${again.notes}`);
      const changed = differences(full, again.sent[0]!, upstream);
      const more = changed.filter((path) => !refused!.some((thing) => thing.mayChange(path)));
      assertEquals(
        more,
        [],
        `${
          Deno.env.get("DBG") ? JSON.stringify(full.messages) + " ==> " + JSON.stringify(again.sent[0]!.messages) : ""
        }${about} · later ${again.notes}`,
      );
      for (const { bound } of refused!) {
        if (bound && refused!.length === 1) assertEquals(at(again.sent[0]!, bound.steps), bound.most, about);
      }
      // What is in something that was given up is not named again.
      const outermost = refused!.filter((one) =>
        !refused!.some((other) => other !== one && other.mayChange(one.name.split(" ")[0]!))
      );
      for (const { note } of outermost) assert(note.test(again.notes), `${about} · later ${again.notes}`);
    });
  },
);

lawOf(
  FEWER,
  "law · relaxations: a host that refuses everything is asked at most five times, and its words arrive",
  CASES,
  async ({ picks: [pick = 0], style, client, bits, isStream, ...host }) => {
    const { upstream } = host;
    const said: string[] = [];
    const answer = (body: JsonObject) => {
      const things = thingsIn(body, upstream, style.isSilent);
      const complaint = things[pick % things.length]?.complaint(body) ?? { path: ["anything"] };
      said.push(plain(sentence(style, complaint)));
      return refusal(style, complaint);
    };
    await withHost(host, answer, async ({ app, sent }) => {
      const { path, body } = requestOf(client, bits, "model", isStream);
      const response = await app.post(path, body, AS[0]);
      const text = plain(await response.text());
      assert(response.status >= 400 && response.status < 500, `${said}: ${response.status} ${text}`);
      assertLessOrEqual(sent.length, MOST_CALLS, said[0]);
      assertEquals(new Set(sent.map((one) => JSON.stringify(one))).size, sent.length, "a body was sent twice");
      assert(
        style.isSilent || isPage(style) || said.some((words) => text.includes(words)),
        `${text} says nothing of ${said}`,
      );
    });
  },
);

/** Without what JSON changes of a text. */
function plain(text: string): string {
  return text.replaceAll("\\", "");
}

/** What the host is sent, call by call. */
async function bodiesFor({ client, bits, isStream, ...host }: Case, said: string, text: string): Promise<JsonObject[]> {
  const all: JsonObject[] = [];
  const answer = () => Response.json({ error: { message: text } }, { status: 400 });
  await withHost(host, answer, async ({ app, sent }) => {
    const { path, body } = requestOf(client, bits, "model", isStream);
    await (await app.post(path, withTexts(body, said), AS[0])).body?.cancel();
    all.push(...sent);
  });
  return all;
}

/** The texts of a request: of its user, its tools and their results, wherever a host could quote them from. */
const TEXTS = ["Look, please.", "a file", "Looks", "A place", "/there"];

function withTexts(body: JsonObject, said: string): JsonObject {
  const own = JSON.stringify(said).slice(1, -1);
  // Arguments are JSON in a string.
  const inner = JSON.stringify(own).slice(1, -1);
  const written = JSON.stringify(body).replaceAll('\\"/there\\"', () => `\\"${inner}\\"`);
  return JSON.parse(TEXTS.reduce((text, one) => text.replaceAll(`"${one}"`, () => `"${own}"`), written));
}

/** How a host writes what it quotes. */
const QUOTING: readonly ((text: string) => string)[] = [
  (text) => text,
  (text) => JSON.stringify(text).slice(1, -1),
  (text) => JSON.stringify(JSON.stringify(text).slice(1, -1)).slice(1, -1),
  (text) => text.replaceAll("\\", "\\\\").replaceAll("'", "\\'").replaceAll("\n", "\\n"),
  (text) => text.replace(/\s+/g, " "),
  (text) => text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;").replaceAll('"', "&quot;"),
  (text) => text.replace(/[^\x20-\x7e]/g, (one) => `\\u${one.charCodeAt(0).toString(16).padStart(4, "0")}`),
];

/** Names that the wires have for fields, of which nothing may follow. */
const FIELDS = [
  ["temperature"],
  ["top_p"],
  ["seed"],
  ["user"],
  ["metadata"],
  ["tool_choice"],
  ["max_tokens"],
  ["max_output_tokens"],
  ["messages", 0, "name"],
  ["tools", 0, "function", "strict"],
  ["input", 0, "content", 0, "detail"],
  ["reasoning"],
];

const SENTENCES = fc.record({ style: STYLES, field: fc.constantFrom(...FIELDS), most: fc.option(fc.nat(400)) })
  .map(({ style, field, most }) => {
    return sentence({ ...style, isSilent: false }, { path: field, value: 907, ...most !== null && { most } });
  });

lawOf(
  FEWER,
  "law · relaxations: what a host quotes of a request's own texts steers nothing",
  fc.record({
    asked: CASES,
    sentences: fc.array(SENTENCES, { minLength: 1, maxLength: 3 }),
    quoting: fc.constantFrom(...QUOTING),
    from: fc.nat(60),
    length: fc.integer({ min: 40, max: 400 }),
    around: fc.constantFrom("Cannot read '{}'", "Bad input: {}", "{}", 'value "{}" was unexpected', "输入有误：{}"),
  }),
  async ({ asked, sentences, quoting, from, length, around }) => {
    const text = sentences.join("\n");
    const start = Math.min(from, Math.max(0, text.length - 40));
    const quoted = quoting(text.slice(start, start + length));
    const host = { ...asked, transport: "replaced" as const };
    const named = await bodiesFor(host, text, around.replace("{}", () => quoted));
    const unnamed = await bodiesFor(host, text, around.replace("{}", "…"));
    assertEquals(named, unnamed, `${around.replace("{}", () => quoted)} of ${JSON.stringify(text)}`);
  },
);

lawOf(
  FEWER,
  "law · relaxations: moderation, bills, unknown models, overflows and the like are passed on as they are",
  fc.record({ asked: CASES, refused: OTHER_REFUSALS, field: fc.constantFrom(...FIELDS) }),
  async ({ asked: { client, bits, isStream, upstream }, refused, field }) => {
    const answer = () => otherRefusal(refused, field);
    await withHost({ upstream, transport: "replaced" }, answer, async ({ app, sent }) => {
      const { path, body } = requestOf(client, bits, "model", isStream);
      const response = await app.post(path, body, AS[0]);
      const text = await response.text();
      assert(response.status >= 400, text);
      // A limit that the gateway chose itself is lowered to what the host has room for.
      const own = sent.map((one) => JSON.stringify(one).replace(/"max_\w*tokens":(?!907\b)\d+/, ""));
      assertEquals(new Set(own).size, 1, `${refused.status} ${refused.words}`);
      assert(!response.headers.get("x-laneway-notes")?.includes("relaxed"));
    });
  },
);

lawOf(
  FEWER,
  "law · relaxations: what one key's requests provoke changes no request of another, side by side and in turns",
  CASES,
  async ({ picks: [pick = 0, other], style, client, bits, isStream, ...host }) => {
    const { upstream } = host;
    const { path, body } = requestOf(client, bits, "model", isStream);
    const bodies = [body, JSON.parse(JSON.stringify(body).replaceAll(SAID[0]!, "See here."))];
    const ownerOf = (sent: JsonObject) => JSON.stringify(sent).includes(SAID[0]!) ? 0 : 1;
    const full: JsonObject[] = [];
    await withHost(host, (sent) => answerOf(upstream, full[ownerOf(sent)] = sent), async ({ app }) => {
      for (const owner of [0, 1]) await (await app.post(path, bodies[owner], AS[owner])).text();
    });
    // The second one's requests are refused something else, or nothing.
    const refused = [pick, other].map((at, owner) => {
      const things = thingsIn(full[owner]!, upstream, style.isSilent);
      return at === undefined ? undefined : things[at % things.length];
    });
    const answer = (sent: JsonObject) => {
      const thing = refused[ownerOf(sent)];
      return thing && refusalOf(sent, [thing], style) || answerOf(upstream, sent);
    };
    await withHost(host, answer, async ({ app, sent }) => {
      const ask = async (owner: number) => {
        const response = await app.post(path, bodies[owner], AS[owner]);
        const text = await response.text();
        assertEquals(response.status, 200, text);
      };
      for (const owner of [0, 1]) await ask(owner);
      for (let turn = 0; turn < 3; turn++) await Promise.all([0, 1, 0, 1].map(ask));
      for (const owner of [1, 0]) await ask(owner);
      for (const one of sent) {
        const owner = ownerOf(one);
        const own = refused[owner];
        // Where a host does not say what it refused, anything may be left out, but of that key's requests only.
        if (own && style.isSilent) continue;
        const more = differences(full[owner]!, one, upstream).filter((changed) => !own?.mayChange(changed));
        assertEquals(more, [], `${own?.name} of ${owner}, ${refused[1 - owner]?.name} of the other`);
      }
    });
  },
);
