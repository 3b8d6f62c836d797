/** Finds out what kind of server it is, and derives its entry in the configuration. */
import {
  chatQuestions,
  findWires,
  type FoundWire,
  listing,
  rerankScores,
  secretPlaces,
  serverKinds,
} from "../../../plugins/programs/probing/mod.ts";
import { builtIn, createApp } from "../../app.ts";
import { configSchema } from "../../config/schema.ts";
import { createMemoryStore } from "../../state/memory_store.ts";
import { askAsAgent, inWords, partsIn, settingsOf } from "../agent_request.ts";
import type { JsonObject, JsonValue } from "../../canonical/json.ts";
import type { ProbeCall, ProbeFinding, ProbeReply, ServerKind } from "../../contract/probing.ts";
import type { SecretHeader } from "../../contract/call.ts";
import { splitBaseUrl } from "../../util/urls_and_headers.ts";
import { byProvider } from "./provider_entry.ts";
import { modelsIn, openProbe, ProbeError } from "./probe_call.ts";

export interface Examined {
  /** The base URL of its wires, without a trailing slash. */
  baseUrl: string;
  /** The server's name. Absent if it does not identify itself. */
  title?: string;
  model: string;
  findings: ProbeFinding[];
  /** The entry of `upstreams`, and the reason for each of its settings. */
  entry: JsonObject;
  reasons: Readonly<Record<string, string>>;
}

export interface ProbeOptions {
  url: string;
  model?: string;
  /** `header`: the header for the secret. By default the usual ones are tried. */
  secret?: { env: string; value: string; header?: string };
  patienceMs: number;
  /** Called before each request. */
  onAsk?(): void;
}

/** Throws `ProbeError`. */
export async function examineServer({ model: wanted, ...options }: ProbeOptions): Promise<Examined> {
  const { secret } = options;
  const { baseUrl, query, place, ask, list } = await findBase(options);
  const models = modelsIn(list);
  const kind = await findKind(ask, list);
  const model = wanted ?? models[0] ?? kind.model;
  if (model === undefined) throw new ProbeError(whyNoModel(list));
  const wires = await findWires(ask, model);
  const served = wires.filter(({ state }) => state === "yes").map(({ name }) => name);
  const findings: ProbeFinding[] = [
    {
      property: "models",
      value: models.length === 0 ? "no list" : `${models.length}: ${models.slice(0, 4).join(", ")}`,
    },
    ...wires.map(wireFinding),
    ...await answersTo(ask, model, served),
  ];
  const driver = kind.driver ?? driverFor(served);
  if (driver === undefined) throw new ProbeError(whyNone(wires, model));
  const root = kind.driver === undefined ? baseUrl : new URL("..", `${baseUrl}/`).href.replace(/\/$/, "");
  const entryUrl = query === undefined ? root : `${root}?${query}`;
  const reference = secret && place && referenceTo(secret.env, place.header, driver);
  const facts = { driver, baseUrl: entryUrl, secret: reference, kind, findings };
  if (AGENT_WIRES.some((wire) => served.includes(wire))) {
    findings.push(await agentRequest(entryFor(facts).entry, model, options));
  }
  const { entry, reasons } = byProvider(entryFor(facts), kind.title, builtIn.providers);
  return { baseUrl: root, title: kind.title, model, findings, entry, reasons };
}

async function answersTo(ask: ProbeCall, model: string, served: readonly string[]): Promise<ProbeFinding[]> {
  const findings: ProbeFinding[] = [];
  if (served.includes("chat")) { for (const question of chatQuestions) findings.push(await question(ask, model)); }
  if (served.includes("rerank")) findings.push(await rerankScores(ask, model));
  return findings;
}

/** The wires that an agent's request can be sent on. */
const AGENT_WIRES = ["chat", "messages", "responses"];

/** Sends an agent's request through a gateway with the entry, and finds out which parts of it the server refuses. */
async function agentRequest(
  entry: JsonObject,
  model: string,
  { secret, patienceMs, onAsk }: Omit<ProbeOptions, "model" | "url">,
): Promise<ProbeFinding> {
  const property = "agents' requests";
  const app = createApp({
    config: configSchema.parse({
      upstreams: { probed: { ...entry, relax: "trusted", timeouts: { headMs: patienceMs, wholeMs: patienceMs } } },
      lanes: { probe: { models: { model: { task: "chat", targets: [{ upstream: "probed", model }] } } } },
      store: { kind: "memory" },
      console: false,
      retry: { rounds: 1, budgetMs: 0 },
    }),
    store: createMemoryStore({ now: Date.now, limitBytes: 2 ** 20 }),
    env: (name) => name === secret?.env ? secret.value : undefined,
    log() {},
    fetch(...call) {
      onAsk?.();
      return fetch(...call);
    },
  });
  const at = (path: string, init?: RequestInit) => app.fetch(new Request(`http://127.0.0.1${path}`, init));
  let failure = "";
  try {
    const headers = { "content-type": "application/json" };
    const isAnswered = await askAsAgent("model", async (body) => {
      const response = await at("/probe/v1/chat/completions", { method: "POST", headers, body });
      const { error } = await response.json();
      failure = `refused with ${response.status}: ${error?.message}`;
      return response.ok ? response.headers.get("x-laneway-notes") ?? "" : undefined;
    });
    if (!isAnswered) return { property, value: failure };
    const parts = partsIn(await (await at("/status")).json(), "probed", model);
    if (parts.length === 0) return { property, value: "accepted" };
    const { settings } = settingsOf(parts);
    const because = "it refuses this of an agent's request";
    return {
      property,
      value: `accepted without a part: ${parts.map(inWords).join(", ")}`,
      settings: Object.fromEntries(Object.entries(settings).map(([key, value]) => [key, { value: value!, because }])),
    };
  } finally {
    await app.close();
  }
}

/** The secret's entry in the configuration, with its header if it is not the driver's. */
function referenceTo(env: string, header: string, driver: string): JsonObject {
  const usual = builtIn.drivers.find(({ name }) => name === driver)?.secret?.header ?? "authorization";
  return header === usual ? { env } : { env, header };
}

/** The driver for the wires. The chat driver also serves the other wires of such servers. */
function whyNoModel({ text }: ProbeReply): string {
  return /^\s*</.test(text)
    ? "The server lists no models and answers with a web page: correct the address"
    : "The server lists no models: name one with --model";
}

function driverFor(served: readonly string[]): string | undefined {
  if (served.includes("chat")) return "chat";
  const tasks = served.filter((name) => name === "embeddings" || name === "rerank");
  return ["messages", "responses"].find((name) => served.includes(name)) ?? (tasks.length > 1 ? "chat" : tasks[0]);
}

interface Base {
  baseUrl: string;
  query?: string;
  /** The header of the secret. Absent without a secret. */
  place?: SecretHeader;
  ask: ProbeCall;
  /** The reply to a request for the models. */
  list: ProbeReply;
}

/** The given URL, or that with `/v1` appended, whichever lists models. */
async function findBase(options: Omit<ProbeOptions, "model">): Promise<Base> {
  const { url } = options;
  const { baseUrl: plain, query } = splitBaseUrl(url);
  const found: Base[] = [];
  const isWhole = query !== undefined || /\/v\d+$/.test(plain);
  for (const baseUrl of isWhole ? [plain] : [`${plain}/v1`, plain]) {
    const base = await findAccess({ baseUrl, query }, options);
    if (modelsIn(base.list).length > 0) return base;
    found.push(base);
  }
  if (found.every(({ list }) => list.status === 0)) {
    throw new ProbeError(`No server answers at ${url}: ${found[0]!.list.text}`);
  }
  return found[0]!;
}

/** Lists the models, with the secret in one header after another until it is accepted. */
async function findAccess(
  { baseUrl, query }: Pick<Base, "baseUrl" | "query">,
  { secret, ...others }: Omit<ProbeOptions, "model" | "url">,
): Promise<Base> {
  let refusal: ProbeReply | undefined;
  for (const place of placesFor(secret)) {
    const access = secret && place && { value: secret.value, place };
    const ask = openProbe({ ...others, baseUrl: `${baseUrl}/`, query, access });
    const list = await ask(listing.path, undefined, listing.headers);
    if (list.status !== 401 && list.status !== 403) return { baseUrl, query, place, ask, list };
    refusal = list;
  }
  throw new ProbeError(refused(refusal!, secret));
}

function placesFor(secret: ProbeOptions["secret"]): readonly (SecretHeader | undefined)[] {
  if (secret === undefined) return [undefined];
  const { header } = secret;
  return header === undefined ? secretPlaces : [secretPlaces.find((place) => place.header === header) ?? { header }];
}

function refused({ status }: ProbeReply, secret: ProbeOptions["secret"]): string {
  const cure = secret === undefined
    ? "name the variable that holds its secret with --secret-env"
    : "it refuses the secret";
  return `The server answers ${status}: ${cure}`;
}

/** The kind that the server identifies itself as. */
export interface FoundKind extends Pick<ServerKind, "driver" | "settings"> {
  /** The name with its version. Absent if the server does not identify itself. */
  title?: string;
  /** Its only model. */
  model?: string;
}

/** Asks for the endpoints that only some kinds of servers have. */
export async function findKind(ask: ProbeCall, list: ProbeReply): Promise<FoundKind> {
  const replies = new Map<string, ProbeReply>();
  const at = async (path: string) => {
    const reply = replies.get(path) ?? await ask(path);
    replies.set(path, reply);
    return reply;
  };
  for (const { title, path, recognize, driver, settings } of serverKinds) {
    const found = recognize(path === undefined ? list : await at(path));
    if (!found) continue;
    const { version, model } = found;
    return { title: version === undefined ? title : `${title} ${version}`, model, driver, settings };
  }
  return {};
}

function wireFinding({ name, state, reason }: FoundWire): ProbeFinding {
  const value = state === "yes" ? "served" : state === "no" ? "not served" : `not for this model (${reason})`;
  return { property: `${name} wire`, value };
}

function whyNone(wires: readonly FoundWire[], model: string): string {
  const reasons = wires.flatMap(({ name, reason }) => reason === undefined ? [] : [`${name} ${reason}`]);
  return `The server supports none of the wires for the model "${model}"${
    reasons.length > 0 ? `: ${reasons.join("; ")}` : ""
  }`;
}

interface EntryFacts {
  driver: string;
  baseUrl: string;
  /** The secret's variable, and its header if it is not the driver's. */
  secret?: JsonObject;
  kind: FoundKind;
  findings: readonly ProbeFinding[];
}

function entryFor({ driver, baseUrl, secret, kind, findings }: EntryFacts): Pick<Examined, "entry" | "reasons"> {
  const entry: Record<string, JsonValue> = { driver, baseUrl };
  const reasons: Record<string, string> = {
    driver: driver === "chat"
      ? "it serves this wire; the driver also covers its other endpoints"
      : kind.driver
      ? "it has an API of its own, which this driver speaks"
      : "it serves this wire",
    baseUrl: "the paths of its API follow it",
  };
  if (secret !== undefined) {
    entry.secret = secret;
    reasons.secret = `this variable's secret was used for the probe${"header" in secret ? ", in this header" : ""}`;
  }
  for (const { settings = {} } of findings) {
    for (const [key, { value, because }] of Object.entries(settings)) {
      const before = entry[key];
      entry[key] = Array.isArray(before) && Array.isArray(value) ? [...new Set([...before, ...value])] : value;
      reasons[key] = reasons[key] === undefined ? because : `${reasons[key]}; ${because}`;
    }
  }
  for (const [key, { value, because }] of Object.entries(driver === "chat" ? kind.settings ?? {} : {})) {
    if (entry[key] === value) continue;
    entry[key] = value;
    reasons[key] = because;
  }
  return { entry, reasons };
}
