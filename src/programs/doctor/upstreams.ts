/** Checks whether each upstream can be reached, is an API, and accepts the secret. */
import { builtIn } from "../../app.ts";
import { isJsonObject, type JsonValue } from "../../canonical/json.ts";
import { secretPlaceOf } from "../../compose/upstreams.ts";
import { secretAt } from "../../config/secrets.ts";
import type { Call } from "../../contract/call.ts";
import type { Provider } from "../../contract/provider.ts";
import { headOf, type Upstream } from "../../upstream/send.ts";
import { type BaseUrl, splitBaseUrl } from "../../util/urls_and_headers.ts";
import { readText } from "../../util/read_text.ts";
import { type Examined, notSetUp, upstreamNamed, usedUpstreams } from "./examination.ts";
import { type Finding, problem, well } from "./finding.ts";
import { whyUnreached } from "./reach.ts";

export interface UpstreamFindings {
  findings: Finding[];
  /** The upstreams whose models are not checked because the upstream cannot be used, and why. */
  lost: Map<string, string>;
}

/** `tell` gets the findings on each upstream as they are made. */
export async function checkUpstreams(
  examined: Examined,
  tell: (findings: readonly Finding[]) => void = () => {},
): Promise<UpstreamFindings> {
  const { config, plugins, platform } = examined;
  const { drivers, providers } = { ...builtIn, ...plugins };
  const used = usedUpstreams(config);
  const unneeded = notSetUp(examined);
  const lost = new Map<string, string>();
  const visits = Object.entries(config.upstreams).flatMap(
    ([name, { driver: driverName, provider: providerName = "", baseUrl, secret, headers }]) => {
      if (baseUrl === undefined) return [];
      const reference = secret === "client" ? undefined : secret;
      const own = reference && secretAt(reference, platform);
      if (reference && !own) {
        const { env, file } = reference;
        lost.set(name, file === undefined ? `${env} is not set` : `${file} holds no secret`);
      }
      if (unneeded.has(name)) return [];
      const level: "error" | "warning" = used.has(name) ? "error" : "warning";
      const driver = drivers.find((one) => one.name === driverName);
      const [listing] = driver?.models?.listing() ?? [];
      const access = {
        ...splitBaseUrl(baseUrl),
        headers,
        secret: own,
        secretPlace: secretPlaceOf(reference, driver),
      };
      const provider = Object.hasOwn(providers, providerName) ? providers[providerName] : undefined;
      return [visit({ name, ...access, takesTokens: secret === "client", listing, provider, level }, examined)];
    },
  );
  const results = await Promise.all(visits.map(async (visiting) => {
    const visit = await visiting;
    tell(visit.findings);
    return visit;
  }));
  for (const { name, isLost, findings } of results) if (isLost) lost.set(name, findings[0]!.message);
  return { findings: results.flatMap(({ findings }) => findings), lost };
}

/** An upstream to check. */
export interface Visited extends BaseUrl, Pick<Upstream, "secret" | "secretPlace" | "headers"> {
  name: string;
  takesTokens: boolean;
  /** How servers of this kind list their models, if they do. */
  listing?: Call;
  /** The provider that the configuration names. */
  provider?: Provider;
  /** The level of problems: a warning if no lane uses the upstream. */
  level: "error" | "warning";
}

/** The longest list of models that is read, in characters. */
const MOST_LISTED = 10_000_000;
/** How far the clock may be off, in milliseconds. Beyond this, certificates and signed tokens fail. */
const CLOCK_MS = 120_000;

/** The input of a check besides the upstream. */
export type Visitor = Pick<Examined, "now" | "patienceMs"> & { platform: Pick<Examined["platform"], "fetch"> };

export interface Visit {
  name: string;
  /** Whether its models cannot be called. */
  isLost: boolean;
  /** The first one is about the upstream itself. */
  findings: Finding[];
  /** The names of its models. Absent if it does not list them. */
  models?: string[];
}

/** Asks an upstream for its models, which costs nothing. */
export async function visit(visited: Visited, examined: Visitor): Promise<Visit> {
  const { name, baseUrl, level } = visited;
  const subject = upstreamNamed(name);
  const { host } = new URL(baseUrl);
  const sentAt = examined.now();
  let reply: Listing;
  try {
    reply = await listModels(baseUrl, visited, examined);
  } catch (thrown) {
    const { check, message, cure } = whyUnreached(thrown, host);
    return { name, isLost: true, findings: [problem(level, check, subject, message, cure)] };
  }
  const judged = await judge(reply, visited, examined);
  const { isLost, finding } = judged;
  const models = isLost || reply.status >= 300 ? undefined : namesIn(reply.body);
  return { name, isLost, findings: [finding, ...checkClock(reply, sentAt, host)], ...models && { models } };
}

interface Listing {
  status: number;
  headers: Headers;
  /** The parsed body, or the text if it is not JSON. */
  body: JsonValue;
}

async function listModels(baseUrl: string, visited: Visited, examined: Visitor): Promise<Listing> {
  const { platform, patienceMs } = examined;
  const { url, headers } = headOf(visited.listing ?? { path: "models" }, { ...visited, baseUrl });
  const response = await platform.fetch(url, {
    headers,
    redirect: "manual",
    signal: AbortSignal.timeout(patienceMs),
  });
  const { text } = await readText(response.body, MOST_LISTED);
  return { status: response.status, headers: response.headers, body: parsed(text) };
}

function parsed(text: string): JsonValue {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

interface Judgement {
  finding: Finding;
  isLost: boolean;
}

async function judge(reply: Listing, visited: Visited, examined: Visitor): Promise<Judgement> {
  const { name, baseUrl, level } = visited;
  const subject = upstreamNamed(name);
  const { status, headers, body } = reply;
  const lost = (check: string, message: string, cure: string, as: "error" | "warning" = level) => ({
    finding: problem(as, check, subject, message, cure),
    isLost: true,
  });
  const location = headers.get("location");
  if (status >= 300 && status < 400) {
    const target = location === null ? "another address" : new URL(location, baseUrl).origin;
    return lost("redirected", `It redirects to ${target}`, "Set baseUrl to the address that it redirects to");
  }
  if (status === 401 || status === 403) return refused(visited, status);
  if (status === 402 || status === 429) return { finding: limited(subject, status), isLost: false };
  if (status === 500) {
    // Some servers fail only at their list, so the models themselves are still checked.
    const message = "It fails to list its models (status 500)";
    const cure = "Check the server's own log; if its models answer, you can ignore this";
    return { finding: problem("warning", "list-failing", subject, message, cure), isLost: false };
  }
  if (status > 500) {
    return lost("server-failing", `It answers with status ${status}`, "Check the server's own log, or wait");
  }
  if (isPage(headers, body)) {
    const cure = "Correct baseUrl: a sign-in page or another web server answers there";
    return lost("not-an-api", "It answers with a web page", cure);
  }
  if (status === 404) return await withoutList(visited, examined);
  return await checkKey(visited, examined) ?? { finding: counted(subject, reply, visited), isLost: false };
}

/** The judgement on a key that the list of models does not need. Absent if nothing speaks against it. */
async function checkKey(visited: Visited, examined: Visitor): Promise<Judgement | undefined> {
  const { provider, baseUrl, secret } = visited;
  if (provider?.keyCheck === undefined || secret === undefined) return undefined;
  const asked = { ...visited, listing: { path: provider.keyCheck } };
  const { status } = await listModels(baseUrl, asked, examined).catch(() => ({ status: 0 }));
  return status === 401 || status === 403 ? refused(visited, status) : undefined;
}

/** The finding from the list of models. */
function counted(subject: string, { status, body }: Listing, { provider, secret }: Visited): Finding {
  const count = modelsIn(body);
  if (count === undefined) return well("upstream", subject, `It is reachable and lists no models (status ${status})`);
  if (count === 0) return problem("warning", "no-models", subject, "It has no models", "Load a model in the server");
  const isUnchecked = provider?.hasPublicList && provider.keyCheck === undefined && secret !== undefined;
  const rest = isUnchecked ? "; its list needs no key, so this says nothing about yours" : "";
  return well("upstream", subject, `It is reachable and lists ${count} model${count === 1 ? "" : "s"}${rest}`);
}

function refused({ name, level, secret, secretPlace, takesTokens, provider }: Visited, status: number): Judgement {
  const subject = upstreamNamed(name);
  if (takesTokens) {
    return { finding: well("upstream", subject, "It is reachable and needs the caller's token"), isLost: true };
  }
  const finding = secret === undefined
    ? problem(
      level,
      "secret-needed",
      subject,
      `It requires a secret (status ${status})`,
      'Set "secret": { "env": "NAME" } for this upstream, and export NAME',
    )
    : problem(
      level,
      "secret-refused",
      subject,
      `It refuses the secret (status ${status})`,
      provider?.keysAt === undefined
        ? "Create a new secret at the service, with permission to run models, and export it; or, if the service " +
          `expects the secret in another header than ${
            secretPlace?.header ?? "authorization"
          }, set "header" in "secret"`
        : `Create a new key at ${provider.keysAt}, with permission to run models, and put it in the place of this one`,
    );
  return { finding, isLost: true };
}

/** The finding for a rate limit or a bill to pay. */
export function limited(subject: string, status: number): Finding {
  return status === 402
    ? problem(
      "error",
      "billing",
      subject,
      "It requires payment (status 402)",
      "Add credit to the account at the service",
    )
    : problem(
      "warning",
      "rate-limited",
      subject,
      "It answers with status 429",
      "Wait, or raise the limit at the service",
    );
}

function isPage(headers: Headers, body: JsonValue): boolean {
  return /\btext\/html\b/.test(headers.get("content-type") ?? "") ||
    typeof body === "string" && /^\s*<(!doctype|html)/i.test(body);
}

/** How many models the answer lists. Absent if it is not a list. */
function modelsIn(body: JsonValue): number | undefined {
  return listIn(body)?.length;
}

function listIn(body: JsonValue): JsonValue[] | undefined {
  const list = isJsonObject(body) ? body.data ?? body.models : body;
  return Array.isArray(list) ? list : undefined;
}

function namesIn(body: JsonValue): string[] | undefined {
  return listIn(body)?.flatMap((one) =>
    isJsonObject(one) && typeof one.id === "string" && one.id !== "" ? [one.id] : []
  );
}

const ENDPOINT = /\/(chat\/completions|completions|messages|responses|embeddings|models|rerank|decisions|systemone)$/;

/** A server without a list may be fine, or the base URL may have a wrong path. */
async function withoutList(visited: Visited, examined: Visitor): Promise<Judgement> {
  const { name, baseUrl, level } = visited;
  const subject = upstreamNamed(name);
  const none = {
    finding: well("upstream", subject, "It is reachable and lists no models (status 404)"),
    isLost: false,
  };
  const isKnown = Object.values(visited.provider?.drivers ?? {}).some((known) => known.baseUrl === baseUrl);
  if (!visited.listing || isKnown) return none;
  const wrong = (better: string) => {
    const url = `${better}${visited.query === undefined ? "" : `?${visited.query}`}`;
    const message = "Its baseUrl has the wrong path for the API";
    const finding = problem(level, "base-url-path", subject, message, `Set "baseUrl": "${url}"`);
    return { finding: { ...finding, settings: { upstreams: { [name]: { baseUrl: url } } } }, isLost: true };
  };
  if (ENDPOINT.test(baseUrl)) return wrong(baseUrl.replace(ENDPOINT, ""));
  const candidates = [`${baseUrl}/v1`, `${new URL(baseUrl).origin}/v1`, `${baseUrl}/api/v1`];
  for (const candidate of candidates) {
    if (candidate === baseUrl) continue;
    const { status, body } = await listModels(candidate, visited, examined).catch(() => ({ status: 0, body: null }));
    if (status === 200 && modelsIn(body) !== undefined) return wrong(candidate);
  }
  return none;
}

function checkClock({ headers }: Listing, sentAt: number, host: string): Finding[] {
  const theirs = Date.parse(headers.get("date") ?? "");
  const off = Math.abs(theirs - sentAt);
  if (!(off > CLOCK_MS)) return [];
  const message = `This machine's clock and that of ${host} are ${Math.round(off / 1_000)} seconds apart`;
  return [problem("warning", "clock-skew", "clock", message, "Synchronize this machine's clock with NTP")];
}
