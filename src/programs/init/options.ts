/** The options of the command `init`. */
import { readArguments } from "../flags.ts";
import { UsageError } from "../program.ts";
import type { ChosenModel, Source } from "./answers.ts";
import { modelName } from "./names.ts";

/** The values of the examples. */
export interface Example {
  provider: string;
  variable: string;
  model: string;
  address: string;
}

export const help = (program: string, { provider, variable, model, address }: Example) =>
  `Usage: ${program} init [options]
       ${program} init find|check|plan|write --json

Sets up where models come from: asks, tests each source, shows the files and writes
them. It adds to a configuration that is already there. With one of the first four
options it asks nothing.

Options:
  --hub                    the hub of the built-in configuration
  --provider <name>        a provider, such as those in docs/providers.md
  --server <URL>           a model server
  --sandbox                the built-in sandbox, which needs no key
  --base-url <URL>         the address at a provider that has one for each user
  --name <name>            the name of the upstream
  --secret-env <name>      the variable that holds the key; only its name is written
  --secret -               read the key from standard input, and write it into a file
                           of its own that only you can read
  --model <spec>           a model for clients: name=upstream/model; repeatable
  --default <name>         the model that answers for every other name
  --config <file>          the configuration; default: what LANEWAY_CONFIG names, or
                           ./gateway.json
  --print                  print the files without writing them
  --yes                    do not ask before writing
  --no-check               do not test the sources
  --json                   print the result as JSON
  --help                   show this text

Steps for other programs:
  find [--except <URL>]    the model servers and clients on this machine, without
                           the gateway that asks
  check                    tests the source that is on standard input
  plan                     the files for the answers that are on standard input
  write --version <v>      writes them, if nothing has changed since that plan

Examples:
  ${program} init --provider ${provider} --secret-env ${variable} \\
    --model strong=${provider}/${model} --default strong
  ${program} init --server ${address} --yes
`;

const OPTIONS = {
  hub: { type: "boolean" },
  provider: { type: "string", multiple: true },
  server: { type: "string", multiple: true },
  sandbox: { type: "boolean" },
  "base-url": { type: "string" },
  name: { type: "string" },
  "secret-env": { type: "string" },
  secret: { type: "string" },
  model: { type: "string", multiple: true },
  default: { type: "string" },
  config: { type: "string" },
  version: { type: "string" },
  except: { type: "string" },
  print: { type: "boolean" },
  yes: { type: "boolean" },
  "no-check": { type: "boolean" },
  json: { type: "boolean" },
  help: { type: "boolean" },
} as const;

export const STEPS = ["find", "check", "plan", "write"] as const;
export type Step = typeof STEPS[number];

export interface Options {
  step?: Step;
  sources: Source[];
  models: ChosenModel[];
  default?: string;
  /** Whether a secret has to be read from standard input, for the only source. */
  readsSecret: boolean;
  config?: string;
  version?: string;
  /** The address that is not looked at. */
  except?: string;
  print: boolean;
  yes: boolean;
  isChecked: boolean;
  json: boolean;
  help: boolean;
}

/** Throws `UsageError`. */
export function parseOptions(args: readonly string[]): Options {
  const { values, positionals: [step, more] } = readArguments(args, OPTIONS);
  const { print = false, yes = false, json = false, help = false } = values;
  if (more !== undefined) throw new UsageError(`Unexpected argument "${more}"`);
  if (step !== undefined && !STEPS.some((one) => one === step)) {
    throw new UsageError(`Unexpected argument "${step}": expected find, check, plan or write, or only options`);
  }
  const { secret, config, version, except } = values;
  checkSecret(values);
  if (step === "write" && version === undefined) throw new UsageError("Give the version that plan printed: --version");
  return {
    step: step as Step | undefined,
    sources: sourcesIn(values),
    models: (values.model ?? []).map(modelIn),
    default: values.default,
    readsSecret: secret !== undefined,
    config,
    version,
    except,
    isChecked: !values["no-check"],
    print,
    yes,
    json,
    help,
  };
}

function checkSecret({ secret, "secret-env": variable }: Values): void {
  if (secret !== undefined && secret !== "-") {
    throw new UsageError("Everybody on the machine can see a key on the command line: use --secret - and type it in");
  }
  if (secret !== undefined && variable !== undefined) throw new UsageError("Give --secret-env or --secret, not both");
}

type Values = ReturnType<typeof readArguments<typeof OPTIONS>>["values"];

function sourcesIn(values: Values): Source[] {
  const { hub, provider = [], server = [], sandbox } = values;
  const sources: Source[] = [
    ...hub ? [{ kind: "hub" as const }] : [],
    ...provider.map((provider) => ({ kind: "provider" as const, provider })),
    ...server.map((baseUrl) => ({ kind: "server" as const, baseUrl })),
    ...sandbox ? [{ kind: "sandbox" as const }] : [],
  ];
  const { name, secret, "base-url": baseUrl, "secret-env": secretEnv } = values;
  return [name, secret, baseUrl, secretEnv].every((one) => one === undefined) ? sources : [detailed(sources, values)];
}

/** The only source, with the options that belong to one. */
function detailed([only, ...others]: Source[], values: Values): Source {
  const { name, "base-url": baseUrl, "secret-env": secretEnv } = values;
  if (!only || others.length > 0 || only.kind === "sandbox") {
    throw new UsageError(
      "--name, --base-url, --secret and --secret-env belong to one source: add the others one by one",
    );
  }
  if (only.kind === "hub" && name !== undefined) throw new UsageError("The hub's upstreams have names already");
  if (only.kind !== "provider" && baseUrl !== undefined) throw new UsageError("--base-url needs --provider");
  const given = { name, baseUrl, secretEnv };
  return { ...only, ...Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined)) };
}

/** Reads `name=upstream/model` or `upstream/model`. */
function modelIn(spec: string): ChosenModel {
  const [, name, upstream, model] = /^(?:([^=]+)=)?([^/=]+)\/(.+)$/.exec(spec) ?? [];
  if (upstream === undefined || model === undefined) {
    throw new UsageError(`Cannot use the model "${spec}": expected name=upstream/model`);
  }
  return { name: name ?? modelName(model), upstream, model };
}
