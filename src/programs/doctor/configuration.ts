/** Checks whether the configuration can be used, and whether its secrets are set. */
import { pluginFacts } from "../../app.ts";
import { unmaskedSecrets } from "../../compose/secrets.ts";
import type { Problem } from "../../config/check.ts";
import { ConfigError, loadConfig, type LoadedConfig } from "../../config/load.ts";
import { secretAt, type SecretLookup, upstreamsWithoutSecret, withPlaceholders } from "../../config/secrets.ts";
import { PUBLIC_PRICES } from "../../lanes/prices.ts";
import { type Examination, type Examined, notSetUp, upstreamNamed, usedUpstreams } from "./examination.ts";
import { type Finding, problem, well } from "./finding.ts";

export interface ConfigurationFindings {
  findings: Finding[];
  /** The configuration for the other checks. Absent if the file is not a valid configuration. */
  loaded?: LoadedConfig;
}

export function checkConfiguration(examination: Examination): ConfigurationFindings {
  const { platform: { env, readText } } = examination;
  try {
    const loaded = load(examination, { env, secretText: readText });
    return { findings: [well("configuration", "configuration", `${loaded.source} is valid`)], loaded };
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    const findings = error.problems.map(findingOf);
    // If only variables are missing, the rest of the configuration can be checked.
    try {
      return { findings, loaded: load(examination, withPlaceholders(examination.platform)) };
    } catch {
      return { findings };
    }
  }
}

function load({ path, listen, platform, plugins }: Examination, lookup: SecretLookup): LoadedConfig {
  return loadConfig({ path, listen, ...pluginFacts(plugins), ...lookup, readText: platform.readText });
}

const SETTINGS = "docs/configuration.md lists every setting";

/** The name and the cure of a configuration problem, by the words of its message. */
const KINDS: readonly (readonly [words: RegExp, check: string, cure: string])[] = [
  [/No such file/, "configuration-missing", "Name an existing file with --config or LANEWAY_CONFIG"],
  [
    /^Cannot read it|The file is empty/,
    "configuration-unreadable",
    "Use a file that you can read and that contains JSON",
  ],
  [/^line \d+, column/, "configuration-syntax", "Correct the JSON at that place"],
  [/is not set: export/, "variable-missing", "Set the variable in the gateway's environment"],
  [/holds no secret: write/, "secret-file-empty", "Write the secret to the file, and let the gateway's user read it"],
  [/not allowed in a header/, "secret-malformed", "Set the variable to the bare secret: no space, no line end"],
  [/must have at least/, "sealing-key-short", "Use a longer random text, such as the output of openssl rand -hex 32"],
  [/without keys, because/, "open-to-others", "Add a key, or listen on 127.0.0.1"],
  [/^Unknown setting/, "setting-unknown", `Correct the name or remove the setting: ${SETTINGS}`],
  [/^Cannot find /, "reference-broken", "Correct the name, or add the missing entry"],
];

function findingOf({ path, message }: Problem): Finding {
  const [, check = "configuration-invalid", cure = SETTINGS] = KINDS.find(([words]) => words.test(message)) ?? [];
  return problem("error", check, path === "" ? "configuration" : path, message, cure);
}

const DAY_MS = 86_400_000;

/** Says how old the prices are that come with the gateway. */
export function checkPrices({ config: { observe, upstreams }, now }: Examined): Finding[] {
  const isUsed = observe.priceLibrary && Object.values(upstreams).some(({ baseUrl }) => baseUrl !== undefined);
  if (!isUsed) return [];
  const { version, date } = PUBLIC_PRICES;
  const days = Math.max(0, Math.floor((now() - Date.parse(date)) / DAY_MS));
  const message = `Those that nothing else states are from ${date}, ${days} days ago (genai-prices ${version})`;
  return [well("prices", "prices", message)];
}

/** Checks whether each upstream's secret is set and looks like one. */
export function checkSecrets(examined: Examined): Finding[] {
  const { config, platform } = examined;
  const used = usedUpstreams(config);
  const unneeded = notSetUp(examined);
  const missing = upstreamsWithoutSecret(config, platform).map(({ upstream, variable, file }) =>
    problem(
      unneeded.has(upstream) ? "note" : used.has(upstream) ? "error" : "warning",
      "secret-missing",
      upstreamNamed(upstream),
      file === undefined
        ? `${variable} is not set, so requests to it get 503`
        : `${file} holds no secret, so requests to it get 503`,
      file === undefined
        ? `export ${variable}=... in the gateway's environment`
        : "Write the secret to the file, and let the gateway's user read it",
    )
  );
  const short = unmaskedSecrets(config, platform).map((name) =>
    problem(
      "warning",
      "secret-short",
      name,
      "It is shorter than eight characters, so it is not masked if an upstream repeats it",
      "Use a longer secret, or none if the server needs none",
    )
  );
  return [
    ...missing,
    ...[...namedSecrets(examined)].flatMap(([name, value]) => malformed(name, value)),
    ...short,
  ];
}

/** The secrets by the variables and files that hold them. */
function namedSecrets({ config: { upstreams, catalogs, keys }, platform }: Examined): Map<string, string> {
  const secrets = [...Object.values(upstreams), ...Object.values(catalogs), ...keys].map(({ secret }) => secret);
  return new Map(secrets.flatMap((secret) => {
    if (!secret || secret === "client") return [];
    const { env, file } = secret;
    return [
      file === undefined
        ? [`The variable ${env}`, platform.env(env!) ?? ""]
        : [`The file ${file}`, secretAt(secret, platform) ?? ""],
    ];
  }));
}

/** Finds characters that people copy along with a secret, or texts that they put in its place. */
function malformed(name: string, value: string): Finding[] {
  const found = /^["']|["']$/.test(value)
    ? "has quotation marks around its value"
    : /^Bearer\b/i.test(value)
    ? 'begins with "Bearer", which the gateway adds itself'
    : /\.\.\.$|^<.*>$/.test(value)
    ? "holds a placeholder from documentation"
    : undefined;
  if (found === undefined) return [];
  const [, kind, place] = /^(The \w+) (.*)$/s.exec(name)!;
  return [problem("error", "secret-malformed", place!, `${kind} ${found}`, "Set it to the bare secret")];
}
