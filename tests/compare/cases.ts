/** What both gateways are asked: the recorded exchanges, every endpoint, and conversations that go on. */
import { Buffer } from "node:buffer";
import type { JsonObject } from "../../src/canonical/json.ts";
import { type Fixture, isStream } from "../support/fixtures.ts";
import { OTHER_BODIES } from "../support/hostile_requests.ts";
import { type Asked, askFor, CLIENT_WIRES, get, post, SHORT } from "./clients.ts";
import { KEYS, type Pair, SLOTS, UPSTREAM_WIRES, type UpstreamWire } from "./gateways.ts";
import { FIXTURES, goodAnswer, playOf } from "./plays.ts";
import { Random } from "./random.ts";
import type { Script } from "./upstream.ts";

/** What a client got, for requests that depend on it. */
export interface Received {
  status: number;
  text: string;
}

export type Step = Asked | ((before: readonly Received[]) => Asked);

/** The request, and its end where it goes on in the background. */
export function stepsOf(asked: Asked): Step[] {
  if (typeof asked.body !== "string" || !asked.body.includes('"background":true')) return [asked];
  const again = /"status":"(queued|in_progress)"/;
  return [asked, ([first]) => ({ ...get(`${asked.path.split("?")[0]}/${idIn(first)}`), again })];
}

const idIn = (received: Received | undefined) => received?.text.match(/"id":"(resp_\w+)"/)?.[1] ?? "resp_none";

/** Requests of one client, one after the other, and what the upstreams answer to all calls that they lead to. */
export interface Case {
  name: string;
  slot: string;
  seed: number;
  steps: readonly Step[];
  /** Made anew for each gateway, so that both get the same. */
  newScript(): Script;
}

/** Collects cases, and spreads them over the slots. */
export class CaseList {
  readonly cases: Case[] = [];
  readonly pairs: Pair[] = [];
  readonly #seed: number;

  constructor(seed: number) {
    this.#seed = seed;
  }

  /** The slot and the seed of the next case. */
  get next(): { slot: string; seed: number } {
    const index = this.cases.length;
    return { slot: SLOTS[index % SLOTS.length]!, seed: Math.imul(this.#seed + 1, 7_919) + index };
  }

  add(name: string, steps: readonly Step[], newScript?: () => Script): void {
    const { slot, seed } = this.next;
    this.cases.push({ name, slot, seed, steps, newScript: newScript ?? (() => goodScript(seed)) });
  }
}

/** Good answers only, the first of them perhaps a certain one. */
function goodScript(seed: number, first?: Fixture): Script {
  const random = new Random(seed);
  return (call, number) => number === 0 && first ? playOf(first) : goodAnswer(call, random);
}

/** Each recorded request to upstreams of every wire, and each recorded answer to clients of every wire. */
export function addFixtures(list: CaseList): void {
  for (const wire of UPSTREAM_WIRES) {
    for (const fixture of FIXTURES[wire]) {
      for (const upstream of UPSTREAM_WIRES) addRequest(list, wire, fixture, upstream);
      for (const client of CLIENT_WIRES) {
        const { slot, seed } = list.next;
        const model = new Random(seed).pick(["org/model", "claude-opus-5-5", "gpt-5.2"]);
        const asked = askFor(client, `${slot}-${wire}`, model, SHORT, isStream(fixture));
        list.add(`answer ${wire}/${fixture.name} to ${client}`, [asked], () => goodScript(seed, fixture));
      }
    }
  }
  for (const wire of ["embeddings", "rerank"] as const) {
    for (const fixture of FIXTURES[wire]) addRequest(list, wire, fixture, "chat", true);
  }
}

function addRequest(
  list: CaseList,
  wire: string,
  fixture: Fixture,
  upstream: UpstreamWire,
  isOwn = upstream === wire,
): void {
  const { body, path, headers: { authorization: _, "x-api-key": _key, ...headers } } = fixture.request;
  const isObject = typeof body === "object" && body !== null && !Array.isArray(body);
  // An answer of another wire than the recorded one may come in either way.
  for (const stream of isOwn || !isObject ? [undefined] : [true, false]) {
    const { slot, seed } = list.next;
    const to = `/${slot}-${upstream}${path.slice(path.indexOf("/v1"))}`;
    const asked = post(to, stream === undefined ? body : { ...body as JsonObject, stream }, headers);
    const how = stream === undefined ? "" : stream ? ", streamed" : ", whole";
    list.add(
      `request ${wire}/${fixture.name} to ${upstream}${how}`,
      stepsOf(asked),
      () => goodScript(seed, isOwn ? fixture : undefined),
    );
  }
}

const TONES = ["wav", "mp3", "ogg", "flac", "m4a", "webm", "aac"];

function transcription(path: string, tone: string, fields: Record<string, string>): Asked {
  const file = Deno.readFileSync(new URL(`../fixtures/audio/tone.${tone}`, import.meta.url));
  const part = (name: string) => `--b\r\ncontent-disposition: form-data; name="${name}"`;
  const texts = Object.entries({ model: "org/ears", ...fields }).map(([name, value]) =>
    `${part(name)}\r\n\r\n${value}\r\n`
  );
  const head = `${texts.join("")}${part("file")}; filename="tone.${tone}"\r\ncontent-type: audio/${tone}\r\n\r\n`;
  const body = Uint8Array.from(Buffer.concat([Buffer.from(head), file, Buffer.from("\r\n--b--\r\n")]));
  return post(path, body, { "content-type": "multipart/form-data; boundary=b" });
}

/** Every other endpoint, well and badly asked. */
export function addEndpoints(list: CaseList): void {
  for (const [path, bodies] of Object.entries(OTHER_BODIES)) {
    for (const [number, body] of bodies.entries()) {
      for (const lane of ["chat", "messages", "responses", "hub"]) {
        list.add(`${path} ${number} in ${lane}`, [post(path.replace("/oss/", `/${list.next.slot}-${lane}/`), body)]);
      }
    }
  }
  for (const tone of TONES) {
    for (const format of ["json", "text", "srt", "vtt", "verbose_json"]) {
      for (const lane of ["chat", "hub"]) {
        const path = `/${list.next.slot}-${lane}/v1/audio/transcriptions`;
        list.add(`transcription of ${tone} as ${format} in ${lane}`, [
          transcription(path, tone, { response_format: format }),
        ]);
      }
    }
    const path = `/${list.next.slot}-chat/v1/audio/translations`;
    list.add(`translation of ${tone}`, [transcription(path, tone, { stream: "true" })]);
  }
  for (const lane of [...UPSTREAM_WIRES, "hub", "pairs"]) {
    const own = () => `/${list.next.slot}-${lane}`;
    const heads = { "anthropic-version": "2023-06-01" };
    list.add(`models of ${lane}`, [
      ...[
        "v1/models",
        "v1beta/models",
        "api/tags",
        "api/version",
        "v1/models/repairing",
        "v1/models/none",
        "v1/models?limit=1",
      ]
        .map((path) => get(`${own()}/${path}`)),
      get(`${own()}/v1/models`, heads),
      get(`${own()}/v1/models/repairing`, heads),
      post(`${own()}/api/show`, { model: "repairing" }),
      get(`${own()}/v1/models`, {}, "HEAD"),
    ]);
  }
  for (const wire of UPSTREAM_WIRES) {
    const lane = () => `/${list.next.slot}-${wire}`;
    const messages = [{ role: "user", content: "Hello" }];
    list.add(`tokens counted by ${wire}`, [
      post(`${lane()}/v1/messages/count_tokens`, { model: "org/model", messages, tools: [] }),
      post(`${lane()}/v1/responses/input_tokens`, { model: "org/model", input: "Hello" }),
    ]);
    list.add(`stored responses of ${wire}`, storedSteps(lane()));
    for (const header of ["x-laneway-explain", "x-laneway-strict"]) {
      for (const client of CLIENT_WIRES) {
        const asked = askFor(client, lane().slice(1), "repairing", { ...SHORT, effort: "high", stop: ["X"] }, false);
        list.add(`${header} of ${client} to ${wire}`, [{ ...asked, headers: { ...asked.headers, [header]: "true" } }]);
      }
    }
  }
  addMistakes(list);
  const pages = ["/", "/livez", "/readyz", "/healthz", "/openapi.json", "/favicon.ico", "/console", "/console/"];
  // The page names its files, and they name others.
  const file = (_: unknown, number: number): Step => (all) => {
    const names = all.slice(pages.length - 1).flatMap(({ text }) => text.match(/\b\w+\.(js|css)\b/g) ?? []);
    return get(`/console/${[...new Set(names)][number] ?? "none.js"}`);
  };
  list.add("pages", [...pages.map((path) => get(path, { accept: "text/html" })), ...Array.from({ length: 32 }, file)]);
}

function storedSteps(lane: string): Step[] {
  const ask = (more: object) =>
    post(`${lane}/v1/responses`, { model: "org/model", input: "Hello", store: true, ...more });
  return [
    ask({}),
    ([first]) => get(`${lane}/v1/responses/${idIn(first)}`),
    ([first]) => get(`${lane}/v1/responses/${idIn(first)}/input_items?limit=1`),
    ([first]) => ask({ previous_response_id: idIn(first), input: "And now?" }),
    ([first]) => ask({ previous_response_id: idIn(first), stream: true }),
    (all) => get(`${lane}/v1/responses/${idIn(all[4])}/input_items?order=asc`),
    (all) => get(`${lane}/v1/responses/${idIn(all[4])}?stream=true`),
    ([first]) => post(`${lane}/v1/responses/${idIn(first)}/cancel`, {}),
    ([first]) => get(`${lane}/v1/responses/${idIn(first)}`, {}, "DELETE"),
    ([first]) => get(`${lane}/v1/responses/${idIn(first)}`),
    ask({ previous_response_id: "resp_none" }),
    post(`${lane}/v1/conversations`, { items: [{ type: "message", role: "user", content: "Hello" }] }),
    (all) => get(`${lane}/v1/conversations/${all[11]?.text.match(/"id":"(conv_\w+)"/)?.[1]}/items`),
    (all) => ask({ conversation: all[11]?.text.match(/"id":"(conv_\w+)"/)?.[1] ?? "conv_none" }),
  ];
}

function addMistakes(list: CaseList): void {
  for (const client of CLIENT_WIRES) {
    const asked = (model = "org/model") => askFor(client, `${list.next.slot}-chat`, model, SHORT, false);
    const withKey = (key: string, model?: string) => {
      const { headers, ...rest } = asked(model);
      return { ...rest, headers: { ...headers, authorization: `Bearer ${key}` } };
    };
    list.add(`mistakes of ${client}`, [
      { ...asked(), body: '{"model": "org/model", "messages": [' },
      { ...asked(), body: "[]" },
      { ...asked(), body: "" },
      { ...asked(), headers: { "content-type": "text/plain" } },
      { ...asked(), method: "GET", body: undefined },
      { ...asked(), method: "PUT" },
      { ...asked(), path: asked().path.replace("-chat/", "-none/") },
      { ...asked(), path: asked().path.replace(/-chat\/.*/, "-chat/v1/none") },
      { ...asked(), headers: { ...asked().headers, "content-encoding": "gzip" } },
      { ...asked(), body: " ".repeat(4_000_001) },
      withKey("wrong"),
      withKey(""),
      withKey(KEYS.expired),
      withKey(KEYS.narrow),
      withKey(KEYS.narrow, "repairing"),
      withKey(KEYS.poor),
      ...client === "chat" ? Array<Asked>(4).fill(withKey(KEYS.seldom)) : [],
    ]);
  }
}
