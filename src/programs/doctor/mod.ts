/** The command `doctor`: checks the whole way from the configuration to the answer of each model. */
import manifest from "../../../deno.json" with { type: "json" };
import { secretsOf } from "../../compose/secrets.ts";
import { type Hide, hiderFor } from "../../context/secrets.ts";
import { createDescriptors, readableFile } from "../../http/descriptors.ts";
import { type Listen, readArguments } from "../flags.ts";
import { invocation } from "../invocation.ts";
import { withProgress } from "../progress.ts";
import { type Program, UsageError } from "../program.ts";
import { checkConfiguration, checkSecrets } from "./configuration.ts";
import type { Examination, Examined } from "./examination.ts";
import { countOf, type Finding, report } from "./finding.ts";
import { checkIssuer } from "./issuer.ts";
import { checkClients } from "./clients.ts";
import { checkMachine } from "./machine.ts";
import { narrowedTo } from "./only.ts";
import { checkModels } from "./models.ts";
import { checkUpstreams } from "./upstreams.ts";

/** How long a server has for one answer, in milliseconds: some load a model first. */
const PATIENCE_MS = 60_000;

const help = (program: string) =>
  `Usage: ${program} doctor [options]

Checks the configuration, its secrets, this machine, each upstream, each model with a
few small requests, and the clients that connect has set up. Exits with 1 if it finds an error.

  --json            print the findings as JSON
  --lane <name>     test only the upstreams and models of this lane
  --model <name>    test only this model; with --lane, also one that only its
                    upstream lists
  --quick           call no model: nothing is charged
`;

const OPTIONS = {
  json: { type: "boolean" },
  lane: { type: "string" },
  model: { type: "string" },
  quick: { type: "boolean" },
  help: { type: "boolean" },
} as const;

interface Options {
  json?: boolean;
  lane?: string;
  model?: string;
  quick?: boolean;
  help?: boolean;
}

/** Returns the exit code. Throws `UsageError`. */
export async function doctor(args: string[], path: string | undefined, listen: Listen, program: Program) {
  const { platform, plugins, streams: { print } } = program;
  const { json, lane, model, quick, help: wantsHelp } = parse(args);
  if (wantsHelp) {
    print(help(invocation(platform)).trimEnd());
    return 0;
  }
  const descriptors = createDescriptors(readableFile(platform));
  const examination = { platform, plugins, path, listen, descriptors, now: Date.now, patienceMs: PATIENCE_MS };
  const text = "Checking the gateway, its upstreams and their models";
  const findings = await withProgress(
    program,
    text,
    () => examine({ ...examination, only: { lane, model } }, quick ?? false),
  );
  if (json) print(JSON.stringify(asJson(findings), null, 2));
  else print(report(findings));
  return countOf(findings, "error") > 0 ? 1 : 0;
}

function asJson(findings: readonly Finding[]) {
  const [errors, warnings] = [countOf(findings, "error"), countOf(findings, "warning")];
  return { version: manifest.version, errors, warnings, findings };
}

function parse(args: string[]): Options {
  const { values, positionals: [word] } = readArguments(args, OPTIONS);
  if (word !== undefined) throw new UsageError(`Unexpected argument "${word}"`);
  return values;
}

/** All that is found, in the order of the way: what comes first may be the cause of what follows. */
export async function examine(examination: Examination, isQuick: boolean): Promise<Finding[]> {
  const { findings, loaded } = checkConfiguration(examination);
  if (!loaded) return findings;
  const examined: Examined = { ...examination, ...loaded };
  const asked: Examined = { ...examined, config: narrowedTo(examination.only, loaded.config) };
  const secrets = checkSecrets(asked);
  const [machine, issuer, upstreams] = await Promise.all([
    checkMachine(examined),
    checkIssuer(examined),
    checkUpstreams(asked),
  ]);
  const models = isQuick ? [] : await checkModels(asked, upstreams.lost);
  const hide = hiderFor(secretsOf(loaded.config, examination.platform.env).map(({ value }) => value));
  const all = [
    ...findings,
    ...secrets,
    ...machine,
    ...issuer,
    ...upstreams.findings,
    ...models,
    ...checkClients(examined),
  ];
  return all.map((one) => masked(one, hide));
}

/** What an upstream or a proxy says may quote the secret that it was sent. */
function masked(finding: Finding, hide: Hide): Finding {
  const { message, cure } = finding;
  return { ...finding, message: hide(message), ...(cure !== undefined && { cure: hide(cure) }) };
}
