/** The settings and secrets that a source needs in the configuration. */
import type { JsonObject, JsonValue } from "../../canonical/json.ts";
import type { ServerKind } from "../../contract/probing.ts";
import type { Provider, Providers } from "../../contract/provider.ts";
import { laneNameSchema } from "../../config/lane_schema.ts";
import { hint } from "../../config/hint.ts";
import { isLoopback } from "../../util/urls_and_headers.ts";
import type { ServerSource, Source } from "./answers.ts";
import type { Setting } from "./document.ts";
import { secretPlace, secretSettings } from "./secret_place.ts";
import { AnswerError, at, type Facts, type SourcePlan, type Standing } from "./standing.ts";
import { providerTitled, sameAddress, serverName } from "./names.ts";

/** Throws `AnswerError`, with a path inside the source. */
export function planSource(source: Source, standing: Standing, facts: Facts): SourcePlan {
  switch (source.kind) {
    case "hub":
      return planHub(source, standing, facts);
    case "provider":
      return planProvider(source, standing, facts);
    case "server":
      return planServer(source, standing, facts);
    case "sandbox":
      return planSandbox(standing, facts);
    case "upstream":
      if (at(standing.whole, "upstreams", source.name) !== undefined) return { upstream: source.name, settings: [] };
      throw new AnswerError("name", `Cannot find upstream "${source.name}"`);
  }
}

/** The upstreams and catalogs of the built-in configuration that need a secret: they are all the hub's. */
function hubServices({ builtIn }: Facts): string[][] {
  return ["upstreams", "catalogs"].flatMap((section) =>
    Object.keys(at(builtIn, section) ?? {}).filter((name) => at(builtIn, section, name, "secret"))
      .map((name) => [section, name])
  );
}

/** The built-in upstream for the hub's chat models. */
export function hubUpstream(facts: Facts): string {
  return hubServices(facts)[0]![1]!;
}

function planHub(source: Extract<Source, { kind: "hub" }>, standing: Standing, facts: Facts): SourcePlan {
  const upstream = hubUpstream(facts);
  const place = secretPlace(source, "hub", standing, facts);
  const settings = hubServices(facts).flatMap((path): Setting[] => {
    const name = path.join(".");
    const isThere = at(standing.whole, ...path) !== undefined;
    const entry = at(facts.builtIn, ...path) as JsonObject;
    const secret = place ? { secret: place.reference } : {};
    if (!isThere) return [{ at: path, value: { ...entry, ...secret }, comment: `As in the built-in configuration` }];
    if (!place) return [];
    const comment = name === `upstreams.${upstream}` ? "The models of the hub, with this token" : undefined;
    return secretSettings(path, place.reference, standing, comment);
  });
  // Without the built-in configuration, an upstream's catalogs are missing, too.
  const catalogs = Object.keys(at(facts.builtIn, "catalogs") ?? {}).filter((name) =>
    at(standing.whole, "catalogs", name) === undefined && !settings.some((one) => one.at.join() === `catalogs,${name}`)
  ).map((name) => ({ at: ["catalogs", name], value: at(facts.builtIn, "catalogs", name)! }));
  return { upstream, settings: [...settings, ...catalogs], secret: place?.file };
}

function planSandbox({ whole }: Standing, { builtIn }: Facts): SourcePlan {
  const upstream = "sandbox";
  const entry = at(builtIn, "upstreams", upstream)!;
  const isThere = at(whole, "upstreams", upstream) !== undefined;
  return { upstream, settings: isThere ? [] : [{ at: ["upstreams", upstream], value: entry }] };
}

function planProvider(
  source: Extract<Source, { kind: "provider" }>,
  standing: Standing,
  facts: Facts,
): SourcePlan {
  const { providers } = facts;
  const { provider: id, name = id } = source;
  if (!Object.hasOwn(providers, id)) {
    throw new AnswerError("provider", `Cannot find provider "${id}"${hint(id, Object.keys(providers))}`);
  }
  const provider = providers[id]!;
  checkUpstreamName(name);
  const baseUrl = providerUrl(source, provider);
  const place = secretPlace(source, name, standing, facts);
  const path = ["upstreams", name];
  const there = at(standing.whole, ...path);
  if (there !== undefined) {
    const isOwn = at(there, "provider") === id && (baseUrl === undefined || at(there, "baseUrl") === baseUrl);
    if (!isOwn) throw taken(name);
    const settings = place ? secretSettings(path, place.reference, standing) : [];
    return { upstream: name, settings, secret: place?.file };
  }
  const isUsual = place?.reference.env !== undefined && place.reference.env === provider.secret?.env;
  const secret = place && !isUsual ? { secret: place.reference } : {};
  const value = { provider: id, ...baseUrl !== undefined && { baseUrl }, ...secret };
  const comment = [provider.title, provider.keysAt].filter((one) => one !== undefined).join(": keys are created at ");
  return { upstream: name, settings: [{ at: path, value, comment }], secret: place?.file };
}

/** The words of a form that each user replaces. */
const BLANK = /\b[A-Z]{4,}\b/g;

/** Absent if the provider's own is used. */
export function providerUrl(
  { baseUrl }: Pick<Extract<Source, { kind: "provider" }>, "baseUrl">,
  { title, drivers }: Provider,
): string | undefined {
  const { baseUrl: usual, baseUrlForm: form } = Object.values(drivers)[0]!;
  const given = baseUrl?.trim();
  if (!given) {
    if (form === undefined) return undefined;
    throw new AnswerError("baseUrl", `${title} has an address for each user, such as ${form}`);
  }
  const blanks = new Set(form?.match(BLANK));
  const [blank] = blanks;
  const isWord = blanks.size === 1 && /^[\w-]+$/.test(given);
  const url = checkedUrl(isWord ? form!.replaceAll(blank!, given) : given);
  const left = [...blanks].find((word) => url.includes(word));
  if (left) throw new AnswerError("baseUrl", `Replace ${left} in the address by your own`);
  return usual !== undefined && sameAddress(usual, url) ? undefined : url;
}

/** Without a trailing slash. Throws `AnswerError`. */
export function checkedUrl(text: string): string {
  const url = URL.parse(text);
  if (!url || !/^https?:$/.test(url.protocol)) {
    throw new AnswerError("baseUrl", "Expected an http or https address, such as http://127.0.0.1:8080/v1");
  }
  if (url.username || url.password) throw new AnswerError("baseUrl", "The address cannot contain a name or password");
  return text.replace(/#.*$/, "").replace(/\/+$/, "");
}

function planServer(source: ServerSource, standing: Standing, facts: Facts): SourcePlan {
  const { providers, kinds } = facts;
  const baseUrl = serverUrl(source.baseUrl);
  const name = source.name ?? serverName({ ...source, baseUrl }, providers);
  checkUpstreamName(name);
  const path = ["upstreams", name];
  const place = secretPlace(source, name, standing, facts);
  const there = at(standing.whole, ...path);
  if (there !== undefined) {
    const written = at(there, "baseUrl") ?? usualUrl(at(there, "provider"), providers);
    if (typeof written !== "string" || !sameAddress(written, serverRoot(baseUrl, at(there, "driver")))) {
      throw taken(name);
    }
    const settings = place ? secretSettings(path, place.reference, standing) : [];
    return { upstream: name, settings: [...settings, ...laneFor(name, source, standing, facts)], secret: place?.file };
  }
  const entry = serverEntry({ ...source, baseUrl }, kinds, providers);
  const value = { ...entry, ...place && { secret: place.reference } };
  const settings = [
    { at: path, value, comment: source.title?.replace(/[^\x20-\x7e]+/g, " ") ?? "A server of one's own" },
    ...laneFor(name, source, standing, facts),
    ...portBeside(baseUrl, standing),
  ];
  return { upstream: name, settings, secret: place?.file };
}

const BARE = /^https?:\/\/[^/?#]+$/;

/** Most servers have their API at /v1. A slash behind the host says that this one has it at its root. */
export function serverUrl(text: string): string {
  const given = text.trim();
  return checkedUrl(BARE.test(given) ? `${given}/v1` : given);
}

/** The address in the form that `serverUrl` leaves alone. */
export function asWhole(baseUrl: string): string {
  return BARE.test(baseUrl) ? `${baseUrl}/` : baseUrl;
}

function usualUrl(provider: JsonValue | undefined, providers: Providers): string | undefined {
  return typeof provider === "string" && Object.hasOwn(providers, provider)
    ? Object.values(providers[provider]!.drivers)[0]!.baseUrl
    : undefined;
}

function kindOf({ title = "" }: ServerSource, kinds: readonly ServerKind[]): ServerKind | undefined {
  return kinds.find((kind) => title === kind.title || title.startsWith(`${kind.title} `));
}

/** A server with a driver of its own has its wires at the root. */
function serverRoot(baseUrl: string, driver: JsonValue | undefined): string {
  return driver === undefined || driver === "chat" ? baseUrl : baseUrl.replace(/\/v1$/, "");
}

function serverEntry(source: ServerSource, kinds: readonly ServerKind[], providers: Providers): JsonObject {
  const { baseUrl, title } = source;
  const provider = providerTitled(title, providers);
  if (provider !== undefined) {
    const isUsual = sameAddress(usualUrl(provider, providers) ?? "", baseUrl);
    return isUsual ? { provider } : { provider, baseUrl };
  }
  const { driver, settings = {} } = kindOf(source, kinds) ?? {};
  const more = Object.fromEntries(Object.entries(settings).map(([key, { value }]) => [key, value]));
  return { driver: driver ?? "chat", baseUrl: serverRoot(baseUrl, driver), ...driver === undefined && more };
}

/** A lane for the server's models by their own names, unless there is one. */
function laneFor(name: string, source: ServerSource, { whole }: Standing, { kinds, drivers }: Facts): Setting[] {
  const lanes = at(whole, "lanes") ?? {};
  if (!laneNameSchema.safeParse(name).success || at(lanes, name) !== undefined) return [];
  const driver = kindOf(source, kinds)?.driver;
  const tasks = driver === undefined ? ["chat"] : drivers[driver]?.tasks ?? [];
  if (tasks.length === 0) return [];
  const upstreams = Object.fromEntries(tasks.map((task) => [task, name]));
  return [{ at: ["lanes", name], value: { upstreams }, comment: "All models of this server, by its own names" }];
}

/** The gateway gets another port if a server of this machine has its usual one. */
function portBeside(baseUrl: string, { own: written, whole }: Standing): Setting[] {
  const { hostname, port } = new URL(baseUrl);
  const own = Number(at(whole, "listen", "port") ?? 8000);
  if (!isLoopback(hostname) || Number(port) !== own) return [];
  if (at(written, "listen", "port") !== undefined) {
    throw new AnswerError(
      "baseUrl",
      `The configuration gives port ${own} to the gateway itself: change one of the two`,
    );
  }
  return [{ at: ["listen", "port"], value: own + 1, comment: `Port ${own} is that of a model server` }];
}

function checkUpstreamName(name: string): void {
  if (/^[a-z][\w-]*$/.test(name)) return;
  const message = `"${name}" cannot be the name of an upstream: expected lower-case letters, digits and hyphens`;
  throw new AnswerError("name", message);
}

function taken(name: string): AnswerError {
  return new AnswerError("name", `There is an upstream "${name}" with other settings: give this one another name`);
}
