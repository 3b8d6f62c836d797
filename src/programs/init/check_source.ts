/** Asks a source whether it can be used, and for its models, without spending anything. */
import { hubToken, likelyTask } from "../../../plugins/programs/probing/mod.ts";
import { builtIn } from "../../app.ts";
import { asObject, asObjects, isJsonObject, type JsonObject, type JsonValue } from "../../canonical/json.ts";
import { secretPlaceOf } from "../../compose/upstreams.ts";
import { secretAt, type SecretReference } from "../../config/secrets.ts";
import type { Edit } from "../../context/console.ts";
import type { Provider } from "../../contract/provider.ts";
import { mergeJson, withoutComments, withPresets } from "../../util/config_text.ts";
import { printable } from "../../util/printable.ts";
import { readText } from "../../util/read_text.ts";
import { isLoopback, splitBaseUrl } from "../../util/urls_and_headers.ts";
import type { Finding } from "../doctor/finding.ts";
import { whyUnreached } from "../doctor/reach.ts";
import { type Visit, visit, type Visited } from "../doctor/upstreams.ts";
import type { CheckedSource, ServerSource, Source } from "./answers.ts";
import { withEdits } from "./edits.ts";
import { asWhole, checkedUrl, hubUpstream, planSource, providerUrl } from "./entries.ts";
import { AnswerError, at } from "./standing.ts";
import { FileError } from "./files.ts";
import { isModelName, kindAt } from "./find.ts";
import { upstreamOf } from "./plan.ts";
import { problemsIn } from "./show.ts";
import { factsFor, type Place, presentText, standingProblems } from "./work.ts";

/** How long a server may take for one answer, in milliseconds: the user waits for it. */
const PATIENCE_MS = 10_000;
const LOCAL_PATIENCE_MS = 4_000;

export async function checkSource(source: Source, place: Place): Promise<CheckedSource> {
  try {
    const [wrong] = standingProblems(place);
    if (wrong) {
      return { ok: false, reason: problemsIn({ ok: false, problems: [wrong] }), cure: `Correct ${place.path}` };
    }
    const checked = await check(source, place);
    if (!checked.ok) return checked;
    const models = [...new Set(checked.models)].filter(isModelName).sort(chatFirst);
    // A secret is never printed.
    return { ...checked, models, source: { ...checked.source, secret: undefined } as Source };
  } catch (error) {
    if (error instanceof AnswerError || error instanceof FileError) return { ok: false, reason: error.message };
    throw error;
  }
}

/** The source as it was found to work, with the secret that was entered. */
export function asTested(entered: Source, { source }: Extract<CheckedSource, { ok: true }>): Source {
  return { ...source, ..."secret" in entered && { secret: entered.secret } } as Source;
}

/** A stable order: the list's own, but with models for chat before all others. */
function chatFirst(one: string, other: string): number {
  return Number(likelyTask(one) !== "chat") - Number(likelyTask(other) !== "chat");
}

function check(source: Source, place: Place): CheckedSource | Promise<CheckedSource> {
  switch (source.kind) {
    case "hub":
      return checkHub(source, place);
    case "provider":
      return checkProvider(source, place);
    case "server":
      return checkServer(source, place);
    case "sandbox":
      return { ok: true, upstream: nameOf(source, place), models: chatTargets("sandbox", place), source };
    case "upstream":
      return checkUpstream(source, place);
  }
}

/** The name that the source's upstream has or will have. Throws `AnswerError` or `FileError`. */
function nameOf(source: Source, place: Place): string {
  return upstreamOf(source, { path: place.path, text: presentText(place.path) }, factsFor(place));
}

/** The models for chat that the built-in lanes have at an upstream, in the lanes' order. */
function chatTargets(upstream: string, place: Place): string[] {
  const { lanes } = factsFor(place).builtIn;
  return Object.values(asObject(lanes)).flatMap((lane) =>
    Object.values(asObject(asObject(lane).models)).flatMap((alias) =>
      at(alias, "task") === "chat" ? asObjects(at(alias, "targets")) : []
    )
  ).flatMap((target) => target.upstream === upstream ? [String(target.model)] : []);
}

/** The secret that was entered, or that is there already. */
function secretOf(
  { secret, secretEnv }: { secret?: string; secretEnv?: string },
  references: readonly unknown[],
  { program: { platform } }: Place,
): string | undefined {
  if (secret?.trim()) return secret.trim();
  const named: SecretReference[] = secretEnv
    ? [{ env: secretEnv }]
    : references.filter(isJsonObject) as SecretReference[];
  return named.map((reference) => secretAt(reference, platform)).find((value) => value !== undefined);
}

/** The entry of the file that is there, with the settings of its provider. */
function standingEntry(section: string, name: string, place: Place, edits: Edit[] = []): JsonValue | undefined {
  const { builtIn, providers } = factsFor(place);
  const text = presentText(place.path) ?? '{ "extends": "default" }';
  const own: unknown = JSON.parse(withoutComments(withEdits(text.replace(/^\ufeff/, ""), edits)));
  const written = withPresets(own, () => providers);
  return at(at(own, "extends") === "default" ? mergeJson(builtIn, written) : written, section, name);
}

async function checkHub(source: Extract<Source, { kind: "hub" }>, place: Place): Promise<CheckedSource> {
  const facts = factsFor(place);
  const upstream = hubUpstream(facts);
  planSource(source, { folder: "", own: {}, whole: {} }, facts);
  const entry = asObject(standingEntry("upstreams", upstream, place) ?? at(facts.builtIn, "upstreams", upstream));
  const secret = secretOf(source, [entry.secret], place);
  const keysAt = `Create a token at ${hubToken.keysAt}`;
  if (secret === undefined) return { ok: false, reason: missing(source.secretEnv, "token"), cure: keysAt };
  const catalogs = asObject(facts.builtIn.catalogs);
  const catalog = Object.values(catalogs).map(asObject).find((one) => one.secret !== undefined)!;
  const verdict = await judgeToken(String(catalog.baseUrl), secret, place);
  if (!verdict.ok) return { ...verdict, cure: verdict.cure ?? keysAt };
  const found = await visitAs({ name: upstream, entry, secret }, place);
  const models = [...chatTargets(upstream, place), ...found.models ?? []];
  return judged(found, { upstream, models, source, remark: verdict.remark, keysAt: hubToken.keysAt });
}

type Verdict = { ok: true; remark?: string } | { ok: false; reason: string; cure?: string };

/** Asks the hub itself, because its list of models takes any token. */
async function judgeToken(baseUrl: string, secret: string, { program: { platform } }: Place): Promise<Verdict> {
  const url = `${baseUrl}/${hubToken.path}`;
  try {
    const response = await platform.fetch(url, {
      headers: { authorization: `Bearer ${secret}` },
      redirect: "manual",
      signal: AbortSignal.timeout(PATIENCE_MS),
    });
    const { text } = await readText(response.body, MOST_TEXT);
    if (response.status === 401 || response.status === 403) return { ok: false, reason: "The token is refused" };
    return { ok: true, remark: response.ok ? hubToken.lacks(parsed(text)) : undefined };
  } catch (thrown) {
    const { message, cure } = whyUnreached(thrown, new URL(url).host);
    return { ok: false, reason: message, cure: inAnswers(cure) };
  }
}

const MOST_TEXT = 1_000_000;

function parsed(text: string): JsonValue {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

async function checkProvider(source: Extract<Source, { kind: "provider" }>, place: Place): Promise<CheckedSource> {
  const { providers } = factsFor(place);
  const upstream = nameOf(source, place);
  const provider = providers[source.provider]!;
  const there = asObject(standingEntry("upstreams", upstream, place));
  const secret = secretOf(source, [there.secret, provider.secret], place);
  const tokenFile = provider.secret?.file;
  if (provider.secret !== undefined && secret === undefined && tokenFile === undefined) {
    const { keysAt } = provider;
    return { ok: false, reason: missing(source.secretEnv, "key"), ...keysAt && { cure: `Create a key at ${keysAt}` } };
  }
  const baseUrl = providerUrl(source, provider);
  const entry = completed({ provider: source.provider, ...baseUrl !== undefined && { baseUrl } }, place);
  const whole = { ...source, name: upstream, ...baseUrl !== undefined && { baseUrl } };
  if (provider.listsModels === false) {
    const remark = tokenFile !== undefined && secret === undefined
      ? `Its tokens end soon, so another program has to keep a valid one in ${tokenFile}: see docs/providers.md`
      : "It lists no models, so that the key was not tested: name a model yourself";
    return { ok: true, upstream, models: [], source: whole, remark };
  }
  const found = await visitAs({ name: upstream, entry, secret, provider }, place);
  return judged(found, { upstream, models: found.models ?? [], source: whole, keysAt: provider.keysAt });
}

function missing(variable: string | undefined, what: string): string {
  return variable ? `The variable ${variable} is not set here` : `Enter a ${what}, or name a variable that holds one`;
}

function completed(entry: JsonObject, place: Place): JsonObject {
  const config = withPresets({ upstreams: { upstream: entry } }, () => factsFor(place).providers);
  return at(config, "upstreams", "upstream") as JsonObject;
}

/** Asks an upstream of the configuration, with the secret that it has there. */
async function checkUpstream(
  source: Extract<Source, { kind: "upstream" }>,
  place: Place,
): Promise<CheckedSource> {
  const upstream = source.edits ? source.name : nameOf(source, place);
  const entry = asObject(standingEntry("upstreams", upstream, place, source.edits));
  const listed = chatTargets(upstream, place);
  if (typeof entry.baseUrl !== "string") return { ok: true, upstream, models: listed, source };
  checkedUrl(entry.baseUrl);
  const provider = typeof entry.provider === "string" ? factsFor(place).providers[entry.provider] : undefined;
  const secret = secretOf({}, [entry.secret], place);
  const found = await visitAs({ name: upstream, entry, secret, provider }, place);
  return judged(found, { upstream, models: [...listed, ...found.models ?? []], source, keysAt: provider?.keysAt });
}

async function checkServer(source: ServerSource, place: Place): Promise<CheckedSource> {
  const given = checkedUrl(source.baseUrl.trim());
  const name = nameOf({ ...source, baseUrl: given }, place);
  const secret = secretOf(source, [], place);
  if (source.secretEnv && secret === undefined) return { ok: false, reason: missing(source.secretEnv, "key") };
  const { baseUrl: plain, query } = splitBaseUrl(given);
  const rest = query === undefined ? "" : `?${query}`;
  let first: Visit | undefined;
  for (const baseUrl of candidatesFor(plain)) {
    const entry = { driver: "chat", baseUrl: `${baseUrl}${rest}` };
    const found = await visitAs({ name: "server", entry, secret }, place);
    first ??= found;
    if (isUnreached(found)) break;
    if (found.models === undefined) continue;
    const title = await kindAt({ baseUrl, query, secret }, place.program.platform) ?? source.title;
    const whole: ServerSource = {
      ...source,
      baseUrl: asWhole(`${baseUrl}${rest}`),
      ...title !== undefined && { title },
    };
    const upstream = source.name ?? nameOf(whole, place);
    const remark = baseUrl === plain ? undefined : `Its address is ${baseUrl}`;
    return judged(found, { upstream, models: found.models, source: { ...whole, name: upstream }, remark });
  }
  return judged(first!, { upstream: name, models: [], source: { ...source, baseUrl: given, name } });
}

/** The address itself, and where such servers have their API if that is only the beginning of its address. */
function candidatesFor(plain: string): string[] {
  if (/\/v\d+$/.test(plain)) return [plain];
  const whole = plain.replace(/\/(chat\/completions|completions|messages|responses|embeddings|models)$/, "");
  return [...new Set([`${whole.replace(/\/v1$/, "")}/v1`, whole, `${new URL(plain).origin}/v1`])];
}

function isUnreached({ findings: [finding] }: Visit): boolean {
  return !["not-an-api", "base-url-path", "upstream", "no-models", "list-failing"].includes(finding!.check);
}

interface Asked {
  name: string;
  entry: JsonObject;
  secret?: string;
  provider?: Provider;
}

async function visitAs({ name, entry, secret, provider }: Asked, { program }: Place): Promise<Visit> {
  const { drivers } = { ...builtIn, ...program.plugins };
  const driver = drivers.find((one) => one.name === entry.driver);
  const [listing] = driver?.models?.listing() ?? [];
  const url = splitBaseUrl(String(entry.baseUrl));
  const visited: Visited = {
    name,
    ...url,
    headers: asObject(entry.headers) as Record<string, string>,
    secret,
    secretPlace: secretPlaceOf(asObject(entry.secret) as { header?: string }, driver),
    takesTokens: false,
    listing,
    provider,
    level: "error",
  };
  const patienceMs = isLoopback(new URL(url.baseUrl).hostname) ? LOCAL_PATIENCE_MS : PATIENCE_MS;
  return await visit(visited, { platform: program.platform, now: Date.now, patienceMs });
}

interface Judging extends Extract<CheckedSource, { ok: true }> {
  keysAt?: string;
}

/** The answer from the doctor's findings, in the words of someone who is entering these values. */
function judged({ isLost, findings }: Visit, { keysAt, remark, ...checked }: Omit<Judging, "ok">): CheckedSource {
  const [finding, ...others] = findings as [Finding, ...Finding[]];
  if (isLost) {
    const cure = CURES[finding.check]?.(keysAt) ?? (finding.cure && inAnswers(finding.cure));
    return { ok: false, reason: printable(finding.message), ...cure !== undefined && { cure } };
  }
  const isPlain = finding.level === "ok" && !finding.message.includes(";") && checked.models.length > 0;
  const remarks = [remark, isPlain ? undefined : finding.message, ...others.map(({ message }) => message)]
    .filter((one) => one !== undefined);
  return { ok: true, ...checked, ...remarks.length > 0 && { remark: printable(remarks.join(". ")) } };
}

const CURES: Readonly<Record<string, (keysAt?: string) => string>> = {
  "secret-needed": (keysAt) => keysAt === undefined ? "Enter its key" : `Enter a key from ${keysAt}`,
  "secret-refused": (keysAt) =>
    keysAt === undefined
      ? "Enter another key"
      : `Check that the whole key was copied, or create a new one at ${keysAt}, with permission to run models`,
};

function inAnswers(cure: string): string {
  return cure.replace(/\bbaseUrl\b/g, "the address").replace('Set "the address": ', "Use the address ");
}
