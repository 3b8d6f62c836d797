/** The options of the command `init`. */
import { INIT } from "../commands/mod.ts";
import { readArguments } from "../flags.ts";
import { UsageError } from "../program.ts";
import type { ChosenModel, Source } from "./answers.ts";
import { modelName } from "./names.ts";

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
}

/** Throws `UsageError`. */
export function parseOptions(args: readonly string[]): Options {
  const { values, positionals: [step, more] } = readArguments(args, INIT.options);
  const { print = false, yes = false, json = false } = values;
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
  };
}

function checkSecret({ secret, "secret-env": variable }: Values): void {
  if (secret !== undefined && secret !== "-") {
    throw new UsageError("Everybody on the machine can see a key on the command line: use --secret - and type it in");
  }
  if (secret !== undefined && variable !== undefined) throw new UsageError("Give --secret-env or --secret, not both");
}

type Values = ReturnType<typeof readArguments<typeof INIT.options>>["values"];

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
