/** The command `doctor`: checks everything from the configuration to the answer of each model. */
import manifest from "../../../deno.json" with { type: "json" };
import { secretsOf } from "../../compose/secrets.ts";
import type { Alias, LaneConfig } from "../../config/lane_schema.ts";
import type { Config } from "../../config/schema.ts";
import { secretAt } from "../../config/secrets.ts";
import type { HealthPart } from "../../context/setup.ts";
import { type Hide, hiderFor } from "../../context/secrets.ts";
import { createDescriptors, readableFile } from "../../http/descriptors.ts";
import { fetchTransport } from "../../platform/fetch_transport.ts";
import { DOCTOR } from "../commands/mod.ts";
import { type Listen, readArguments } from "../flags.ts";
import { printJson } from "../json_output.ts";
import { type Program, UsageError } from "../program.ts";
import { withProgress } from "../progress.ts";
import { checkClients } from "./clients.ts";
import { checkConfiguration, checkPrices, checkSecrets } from "./configuration.ts";
import { type Examination, type Examined, usedUpstreams } from "./examination.ts";
import { countOf, type Finding, problem, report, well } from "./finding.ts";
import { checkMachine } from "./machine.ts";
import { checkModels } from "./models.ts";
import { whyUnreached } from "./reach.ts";
import { checkUpstreams } from "./upstreams.ts";

/** How long a server may take for one answer, in milliseconds: some load a model first. */
const PATIENCE_MS = 60_000;

/** Returns the exit code. Throws `UsageError`. */
export async function doctor(args: string[], path: string | undefined, listen: Listen, program: Program) {
  const { platform, plugins, streams } = program;
  const { values, positionals: [word] } = readArguments(args, DOCTOR.options);
  const { json, lane, model } = values;
  if (word !== undefined) throw new UsageError(`Unexpected argument "${word}"`);
  const parts = partsFor(values);
  const descriptors = createDescriptors(readableFile(platform));
  const examination = { platform, plugins, path, listen, descriptors, now: Date.now, patienceMs: PATIENCE_MS };
  const text = "Checking the gateway, its upstreams and their models";
  const findings = await withProgress(
    program,
    text,
    () => examine({ ...examination, only: { lane, model } }, parts),
  );
  const [errors, warnings] = [countOf(findings, "error"), countOf(findings, "warning")];
  if (json) printJson(streams, { ok: errors === 0, version: manifest.version, errors, warnings, findings });
  else streams.print(report(findings));
  return errors > 0 ? 1 : 0;
}

function partsFor({ part: named = [], quick }: { part?: string[]; quick?: boolean }): readonly Part[] {
  const unknown = named.find((one) => !PARTS.some((part) => part === one));
  if (unknown !== undefined) throw new UsageError(`Unknown part "${unknown}": expected one of ${PARTS.join(", ")}`);
  const parts = quick ? QUICK : PARTS;
  return named.length === 0 ? parts : parts.filter((part) => named.includes(part));
}

type Part = HealthPart;
/** The groups of checks, in the order of a request's path: an earlier finding may cause later ones. */
export const PARTS: readonly Part[] = ["configuration", "machine", "login", "upstreams", "models", "clients"];
/** Without a question to a model, for which an upstream may charge. */
export const QUICK: readonly Part[] = PARTS.filter((part) => part !== "models");

/** Takes findings as they are made. `isOver`: nothing more comes of this part. */
type Tell = (part: Part, findings: readonly Finding[], isOver: boolean) => void;

/** The findings of these parts, in order. Throws the reason of `examination.signal` once that is aborted. */
export async function examine(
  examination: Examination,
  parts: readonly Part[] = PARTS,
  tell: Tell = () => {},
): Promise<Finding[]> {
  const { findings, loaded } = checkConfiguration(examination);
  if (!loaded) {
    tell("configuration", findings, true);
    return findings;
  }
  const examined: Examined = { ...examination, ...loaded };
  const asked: Examined = { ...examined, config: narrowedTo(examination.only, loaded.config) };
  const hide = hiderFor(secretsOf(loaded.config, examination.platform).map(({ value }) => value));
  const emit: Tell = (part, found, isOver) => tell(part, found.map((one) => masked(one, hide)), isOver);
  // The models of an upstream that cannot be used are not asked.
  const upstreams = parts.includes("upstreams") || parts.includes("models")
    ? checkUpstreams(asked, (found) => parts.includes("upstreams") && emit("upstreams", found, false))
    : undefined;
  const checks: Record<Part, () => Finding[] | Promise<Finding[]>> = {
    configuration: () => [...findings, ...checkSecrets(asked), ...checkPrices(examined)],
    machine: () => checkMachine(examined),
    login: async () => [...await checkIssuer(examined), ...await checkConsoleClient(examined)],
    upstreams: async () => (await upstreams!).findings,
    models: async () => checkModels(asked, (await upstreams!).lost, (found) => emit("models", found, false)),
    clients: () => checkClients(examined),
  };
  const found = await Promise.all(parts.map(async (part) => {
    const own = await checks[part]();
    examination.signal?.throwIfAborted();
    // Those of upstreams and models were emitted one by one.
    emit(part, part === "models" || part === "upstreams" ? [] : own, true);
    return own;
  }));
  return found.flat().map((one) => masked(one, hide));
}

/** Hides secrets, because an upstream or a proxy may quote the one that it got. */
function masked(finding: Finding, hide: Hide): Finding {
  const { settings, ...rest } = finding;
  const { message, cure } = rest;
  const text = JSON.stringify(settings ?? null);
  return {
    ...rest,
    message: hide(message),
    ...(cure !== undefined && { cure: hide(cure) }),
    // A masked setting would be a wrong one.
    ...(settings && hide(text) === text && { settings }),
  };
}

/** Checks whether the issuer's keys for callers' tokens can be read. */
async function checkIssuer({ config: { oidc }, platform, patienceMs }: Examined): Promise<Finding[]> {
  if (!oidc) return [];
  const subject = `issuer "${oidc.issuer}"`;
  const { whyNoKeys } = await import("../../compose/oidc.ts");
  const failure = await whyNoKeys(oidc, fetchTransport(platform.fetch), AbortSignal.timeout(patienceMs));
  if (failure === undefined) return [well("issuer", subject, "Its keys can be read")];
  if (!(failure instanceof Error) || failure.name !== "TransportError") {
    const cure = "Compare oidc.issuer with the issuer that the provider reports, or set oidc.jwksUrl";
    const message = failure instanceof Error ? failure.message : String(failure);
    return [problem("error", "issuer-unusable", subject, `Its keys cannot be read: ${message}`, cure)];
  }
  const { host } = new URL(oidc.jwksUrl ?? oidc.issuer);
  const { check, message, cure } = whyUnreached(failure, host);
  return [problem("error", check, subject, message, cure.replaceAll("baseUrl", "oidc.issuer"))];
}

/** Checks whether the secret of `oidc.console` can be used. The gateway itself finds out at the first login. */
async function checkConsoleClient({ config: { oidc }, platform }: Examined): Promise<Finding[]> {
  const { authMethod, secret } = oidc?.console ?? {};
  if (!authMethod || !secret) return [];
  const { clientAuthOf } = await import("../../http/oidc_client_auth.ts");
  try {
    await clientAuthOf(authMethod, secretAt(secret, platform) ?? "");
    return [];
  } catch (thrown) {
    const place = secret.file ?? secret.env!;
    const where = secret.file === undefined ? `${place} in the gateway's environment` : place;
    const cure = `Correct ${where}: until then, nobody can log in with the provider`;
    return [problem("error", "oidc-secret-unusable", place, (thrown as Error).message, cure)];
  }
}

/** The configuration with only the named lane or model and its upstreams. Throws `UsageError` if there is no such name. */
function narrowedTo({ lane, model }: Examination["only"], config: Config): Config {
  if (lane === undefined && model === undefined) return config;
  const all = Object.keys(config.lanes);
  if (lane !== undefined && !all.includes(lane)) {
    throw new UsageError(`Cannot find lane "${lane}": this gateway has ${namesOf(all)}`);
  }
  const chosen = Object.entries(config.lanes).filter(([name]) => lane === undefined || name === lane);
  const lanes = model === undefined ? chosen : chosen.flatMap(([name, one]) => {
    const narrowed = laneWith(model, one, lane !== undefined);
    return narrowed ? [[name, narrowed] as const] : [];
  });
  if (lanes.length === 0) throw new UsageError(`Cannot find model "${model}": ${whereToLook(lane)}`);
  const narrowed = { ...config, lanes: Object.fromEntries(lanes) };
  const used = usedUpstreams(narrowed);
  const upstreams = Object.entries(config.upstreams).filter(([name]) => used.has(name));
  return { ...narrowed, upstreams: Object.fromEntries(upstreams) };
}

/** The lane with only that model. If the lane does not list it, the name is the upstream's. */
function laneWith(model: string, lane: LaneConfig, isNamed: boolean): LaneConfig | undefined {
  const alias = Object.hasOwn(lane.models, model) ? lane.models[model] : undefined;
  const upstream = isNamed ? lane.upstreams.chat : undefined;
  if (!alias && upstream === undefined) return undefined;
  const found: Alias = alias ?? { task: "chat", targets: [{ upstream: upstream!, model }] };
  return { ...lane, upstreams: {}, models: { [model]: found } };
}

function whereToLook(lane: string | undefined): string {
  if (lane !== undefined) return `lane "${lane}" lists none of that name`;
  return "no lane lists one of that name; with --lane, a model is asked that only its upstream lists";
}

function namesOf(lanes: readonly string[]): string {
  return lanes.map((name) => `"${name}"`).join(", ");
}
