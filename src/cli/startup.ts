import { isPattern } from "../canonical/models.ts";
import { describePlace, type StorePlace } from "../compose/store.ts";
import { type SecretReference, type SecretSource, upstreamsWithoutSecret } from "../config/secrets.ts";
import type { LaneConfig } from "../config/lane_schema.ts";
import type { Config } from "../config/schema.ts";
import { bestRank, rankUpstreams } from "../lanes/lane.ts";

export interface Startup {
  version: string;
  config: Config;
  /** Where the configuration came from. */
  source: string;
  /** The real address, which the configuration leaves open if the port is 0. */
  address: { hostname: string; port: number };
  secrets: SecretSource;
  /** The names of secrets that are too short to be masked. */
  unmasked: readonly string[];
  /** Where conversations are stored. */
  store: StorePlace;
  /** The limits of the process, if not all that it does is confined. */
  sandbox?: string;
}

const WIDTH = 80;

/** The message for the operator who has just started the gateway. It never shows a secret. */
export function startupMessage(
  { version, config, source, address, secrets, unmasked, store, sandbox }: Startup,
): string {
  const url = `http://${callable(address.hostname)}:${address.port}`;
  const everywhere = callable(address.hostname) === address.hostname ? "" : " and this machine's other addresses";
  return [
    `Laneway ${version} serves ${url}${everywhere}`,
    `Configuration: ${source}`,
    "",
    "Lanes",
    ...laneLines(config, url, rankUpstreams(config.upstreams, lackingSecret(config, secrets))),
    "",
    ...secretLines(config, secrets),
    ...unmaskedLines(unmasked),
    storeLine(config, store),
    ...keyLines(config),
    ...(sandbox === undefined ? [] : [`Sandbox: ${sandbox}`]),
    ...(config.console !== false ? [`Console: ${url}/console`] : []),
    ...firstCallLines(config, url),
  ].join("\n") + "\n";
}

/** The address that a client on this machine calls. */
function callable(hostname: string): string {
  const name = { "0.0.0.0": "127.0.0.1", "::": "::1" }[hostname] ?? hostname;
  return name.includes(":") ? `[${name}]` : name;
}

function lackingSecret(config: Config, secrets: SecretSource): ReadonlySet<string> {
  return new Set(upstreamsWithoutSecret(config, secrets).map(({ upstream }) => upstream));
}

function laneLines({ lanes }: Config, url: string, rankOf: (upstream: string) => number): string[] {
  const width = Math.max(0, ...Object.keys(lanes).map((name) => name.length));
  return Object.entries(lanes).flatMap(([name, lane]) => {
    const indent = " ".repeat(width + 4);
    return [
      `  ${name.padEnd(width)}  ${url}/${name}/v1`,
      ...modelLines(lane, WIDTH - indent.length, rankOf).map((line) => indent + line),
    ];
  });
}

function modelLines(
  { models, upstreams, catalog }: LaneConfig,
  width: number,
  rankOf: (upstream: string) => number,
): string[] {
  const rank = (name: string) => bestRank(models[name]!, rankOf);
  const names = Object.keys(models).filter((name) => !isPattern(name)).sort((one, other) => rank(one) - rank(other));
  const patterns = Object.keys(models).filter(isPattern);
  const catalogs = [catalog ?? []].flat().map((one) => `"${one}"`).join(" and ");
  const others = catalogs === "" ? "and any other name:" : `and every model of ${catalogs}:`;
  const tasksOf = Object.groupBy(Object.entries(upstreams), ([, upstream]) => upstream);
  return [
    ...(names.length > 0 ? [firstFew(names, "models", width)] : []),
    ...(patterns.length > 0 ? [firstFew(patterns, "patterns", width)] : []),
    ...(Object.keys(upstreams).length > 0 ? [others] : []),
    ...Object.entries(tasksOf).map(([upstream, entries = []]) =>
      `  ${entries.map(([task]) => task).join(", ")} from "${upstream}"`
    ),
  ];
}

/** As many names as fit in one line, with the number of all names if not all of them fit. */
function firstFew(names: string[], what: string, width: number): string {
  const all = names.join(", ");
  if (all.length <= width) return all;
  const count = `${names.length} ${what}: `;
  const shown = names.slice(0, 1);
  for (const name of names.slice(1)) {
    if (`${count}${[...shown, name].join(", ")}, ...`.length > width) break;
    shown.push(name);
  }
  return `${count}${shown.join(", ")}, ...`;
}

function secretLines(config: Config, source: SecretSource): string[] {
  const byPlace = Map.groupBy(upstreamsWithoutSecret(config, source), ({ variable, file }) => file ?? variable);
  const lines = [...byPlace].flatMap(([place, lacking]) => {
    const names = lacking.map(({ upstream }) => upstream).join(", ");
    return lacking[0]!.file === undefined
      ? [`  ${names}: requests get 503. Set the secret and restart:`, `    export ${place}=...`]
      : [`  ${names}: requests get 503. Write the secret to this file:`, `    ${place}`];
  });
  return lines.length === 0 ? [] : ["Upstreams without a secret", ...lines, ""];
}

/** Lines that warn of secrets that are as short as plain words. */
export function unmaskedLines(names: readonly string[]): string[] {
  if (names.length === 0) return [];
  const title = "Secrets shorter than eight characters: not masked if an upstream repeats them";
  return [title, ...names.map((name) => `  ${name}`), ""];
}

function storeLine({ store: { retentionDays } }: Config, store: Startup["store"]): string {
  const time = store === "memory" ? "until the gateway stops" : `for ${retentionDays} days`;
  return `Stored conversations: ${describePlace(store)}, ${time}`;
}

function keyLines({ keys, storedKeys, oidc }: Config): string[] {
  const names = keys.map(({ name }) => name);
  if (storedKeys) names.push("those created with the command keys");
  if (oidc) names.push(`tokens of ${oidc.issuer}`);
  return names.length === 0
    ? ["Keys: none needed, because only this machine is served"]
    : [`Keys: one is required (${firstFew(names, "keys", WIDTH - 25)})`];
}

/** The secret as a shell inserts it. */
function inShell({ env, file }: SecretReference): string {
  return file === undefined
    ? `$${env}`
    : `$(cat ${/^[\w@%+=:,./-]+$/.test(file) ? file : `'${file.replaceAll("'", "'\\''")}'`})`;
}

/** Two calls to copy, for a model that needs no secret and no network. */
function firstCallLines({ lanes, upstreams, keys, storedKeys, oidc }: Config, url: string): string[] {
  for (const [lane, { models }] of Object.entries(lanes)) {
    for (const [model, { task, targets }] of Object.entries(models)) {
      if (isPattern(model) || task !== "chat" || upstreams[targets[0]!.upstream]?.driver !== "sandbox") continue;
      const key = keys.find(({ lanes }) => lanes?.includes(lane) ?? true);
      if (!key && (keys.length > 0 || storedKeys || oidc)) continue;
      const header = key ? ` -H "authorization: Bearer ${inShell(key.secret)}"` : "";
      const call = (options: string, fields: object) =>
        `  curl ${options}${url}/${lane}/v1/chat/completions${header} -H 'content-type: application/json' ` +
        `-d '${
          JSON.stringify({ model, ...fields, messages: [{ role: "user", content: "Hello" }] }).replaceAll(
            "'",
            "\\u0027",
          )
        }'`;
      return ["", "Try it, whole and streamed", call("", {}), call("-N ", { stream: true })];
    }
  }
  return [];
}
