/** The command `keys`: creates, lists and revokes keys in the store of a gateway, which need not stop for it. */
import type { ParseArgsOptionsConfig } from "node:util";
import { builtin } from "../util/builtin.ts";
import { pluginFacts } from "../app.ts";
import { createStore, describePlace, placeOfStore } from "../compose/store.ts";
import { whyNotName } from "../config/key_name.ts";
import { kindsThat } from "../config/store_kinds.ts";
import { budgetSchema } from "../config/limits_schema.ts";
import { loadConfig } from "../config/load.ts";
import { USER_VARIABLES } from "../config/permissions.ts";
import type { Config, KeyFacts } from "../config/schema.ts";
import { PLACEHOLDER_SECRET } from "../config/secrets.ts";
import { format, leftOf, readerOf, type Spending } from "./keys_list.ts";
import { createKeyring, type Keyring } from "../state/keyring.ts";
import { invocation } from "../programs/invocation.ts";
import type { Program } from "../programs/program.ts";

/** The text of `keys --help`. `program`: how the user starts this program. */
const keysHelp = (program: string) =>
  `Usage: ${program} keys <command> [options]

  create <name>                  create a key and print it; it is not shown again
    --lane <name>                  a lane that the key may use (repeatable; default: all)
    --model <pattern>              a model that the key may use (repeatable; default: all)
    --expires <date>               when it expires: 2027-01-31, or with a time
    --continuation <where>         where its answers that break off go on: off, same or any
    --operator                     an operator's key, also for the console and /metrics
    --requests-per-minute <n>  --tokens-per-minute <n>
    --tokens-per-day <n>  --concurrent-requests <n>
    --budget <dollars>/<period>    what it may spend: 5/day, 20/week, 50/month or 100/total
    --team <name>                  the team whose budget it also spends
  list                           the keys, without their secrets, oldest first
    --limit <n>                    how many at most (default: 1000)
    --after <name>                 start after the key with this name
  rotate <name>                  give a key another secret and print it
    --keep <time>                  how long the former one is still admitted: 30m, 24h,
                                   7d or 0 (default: 24h)
  revoke <name>                  revoke a key; it stops working within a second
`;

const PATIENCE_MS = 10_000;

/** A command line that cannot be understood, or a command that cannot be done. The message is for people. */
export class KeysError extends Error {}

/** A command that is understood but cannot be done in the present state. */
export class KeysStateError extends KeysError {}

const OPTIONS = {
  lane: { type: "string", multiple: true },
  model: { type: "string", multiple: true },
  expires: { type: "string" },
  continuation: { type: "string" },
  operator: { type: "boolean" },
  "requests-per-minute": { type: "string" },
  "tokens-per-minute": { type: "string" },
  "tokens-per-day": { type: "string" },
  "concurrent-requests": { type: "string" },
  budget: { type: "string" },
  team: { type: "string" },
} as const;

const ROTATE_OPTIONS = { keep: { type: "string" } } as const;
const KEEP = "24h";
const UNIT_MS: Record<string, number> = { m: 60_000, h: 3_600_000, d: 86_400_000 };

const QUOTA_OF = {
  "requests-per-minute": "requestsPerMinute",
  "tokens-per-minute": "tokensPerMinute",
  "tokens-per-day": "tokensPerDay",
  "concurrent-requests": "concurrentRequests",
} as const;

/** Runs the command on the store of the configuration. Returns the exit code. */
export async function manageKeys(args: string[], path: string | undefined, program: Program): Promise<number> {
  try {
    return await manage(args, path, program);
  } catch (error) {
    if (!(error instanceof KeysError)) throw error;
    const help = error instanceof KeysStateError ? "" : `\n\n${keysHelp(invocation(program.platform)).trimEnd()}`;
    program.streams.say(`${error.message}${help}`);
    return 2;
  }
}

async function manage(args: string[], path: string | undefined, program: Program): Promise<number> {
  const { platform, plugins, streams: { print, say } } = program;
  const { env } = platform;
  const command = invocation(platform);
  if (args.includes("--help")) {
    print(keysHelp(command).trimEnd());
    return 0;
  }
  // The command needs no secrets, and the user who manages keys may have none.
  const withoutSecrets = (name: string) => name === "LANEWAY_CONFIG" ? env(name) : env(name) || PLACEHOLDER_SECRET;
  const { config } = loadConfig({ path, ...pluginFacts(plugins), env: withoutSecrets });
  const place = placeOfStore(config.store, platform, env);
  if (place === "memory") throw new KeysStateError(whyNoStore(platform));
  const store = createStore(config, platform, env, Date.now);
  try {
    const configured = { lanes: Object.keys(config.lanes), keys: config.keys.map(({ name }) => name) };
    const spending = { teams: config.teams, read: readerOf(store) };
    print(await keysCommand(args, createKeyring(store, Date.now), configured, command, spending));
    await auditKeys(args, config, program);
    if (!config.storedKeys) say('To admit them, set "storedKeys": true in the configuration');
    return 0;
  } catch (error) {
    if (error instanceof KeysError) throw error;
    say(`Cannot use the store ${describePlace(place)}: ${(error as Error).message}`);
    return 1;
  } finally {
    store.close();
  }
}

const AUDITED = new Map([["create", "key made"], ["rotate", "key rotated"], ["revoke", "key revoked"]] as const);

/** Writes to the audit log what was done, and by whom. */
async function auditKeys(
  [command, ...rest]: string[],
  { observe }: Config,
  { platform: { env }, streams: { say } }: Program,
) {
  const event = AUDITED.get(command as "create");
  if (!observe.audit || !event) return;
  const { createAudit } = await import("../observe/audit.ts");
  const audit = createAudit(observe.audit.file, { say, now: Date.now });
  const [key = ""] = parse(rest, { ...OPTIONS, ...ROTATE_OPTIONS }).positionals;
  audit.write({ event, key, by: USER_VARIABLES.map(env).find(Boolean) });
  await audit.flush(PATIENCE_MS);
}

function whyNoStore({ hasDatabase }: Program["platform"]): string {
  return hasDatabase
    ? `Keys are kept in a store of kind ${kindsThat("isLasting")}, and this configuration has none`
    : "Cannot store keys, because this runtime has no persistent store: add the keys to the configuration";
}

/** The names of the configured lanes and keys. */
interface Configured {
  lanes: readonly string[];
  keys: readonly string[];
}

/** Returns the output of the command. Throws `KeysError`. `program`: how the user starts this program. */
export async function keysCommand(
  args: string[],
  keyring: Keyring,
  configured: Configured,
  program: string,
  { teams = {}, read }: Spending = { read: () => Promise.resolve([]) },
): Promise<string> {
  const [command, ...rest] = args;
  switch (command) {
    case "create":
      return await create(rest, keyring, { ...configured, teams: Object.keys(teams) }, program);
    case "list":
      return await list(rest, keyring, { teams, read }, program);
    case "rotate":
      return await rotate(rest, keyring, program);
    case "revoke": {
      const [name] = rest;
      if (name === undefined || rest.length > 1) {
        throw new KeysError(`Expected the name of one key: ${program} keys revoke <name>`);
      }
      if (!await keyring.revoke(name)) throw unknownKey(name, program);
      return `Revoked key "${name}"`;
    }
    default:
      throw new KeysError(
        `${command === undefined ? "No command" : `Unknown command "${command}"`}: use create, list, rotate or revoke`,
      );
  }
}

function unknownKey(name: string, program: string): KeysStateError {
  return new KeysStateError(`Cannot find key "${name}": ${program} keys list shows all keys`);
}

const LIST_OPTIONS = { limit: { type: "string" }, after: { type: "string" } } as const;
const PAGE = "1000";

async function list(args: string[], keyring: Keyring, spending: Spending, program: string): Promise<string> {
  const { values: { limit = PAGE, after }, positionals } = parse(args, LIST_OPTIONS);
  if (positionals.length > 0) throw new KeysError(`"list" takes no arguments`);
  const most = countOf("limit", limit);
  if (after !== undefined && !await keyring.has(after)) throw unknownKey(after, program);
  // One more key is read to see whether there are more.
  const found = await keyring.list({ limit: most + 1, after });
  const keys = found.slice(0, most);
  if (keys.length === 0) return `No keys. Create one: ${program} keys create <name>`;
  const text = format(keys, await leftOf(keys, spending));
  if (found.length <= most) return text;
  const rest = `There are more: ${program} keys list --limit ${limit} --after "${keys.at(-1)!.name}"`;
  return `${text}\n${rest}`;
}

async function rotate(args: string[], keyring: Keyring, program: string): Promise<string> {
  const { values: { keep = KEEP }, positionals } = parse(args, ROTATE_OPTIONS);
  const [name] = positionals;
  if (name === undefined || positionals.length > 1) {
    throw new KeysError(`Expected the name of one key: ${program} keys rotate <name>`);
  }
  const [, count, unit] = /^(\d{1,5})([mhd])$/.exec(keep === "0" ? "0m" : keep) ?? [];
  if (count === undefined) {
    throw new KeysError(`Cannot use "${keep}" for --keep: expected a time such as 30m, 24h or 7d`);
  }
  const secret = await keyring.rotate(name, Date.now() + Number(count) * UNIT_MS[unit!]!);
  if (secret === undefined) throw unknownKey(name, program);
  return secret;
}

interface Names extends Configured {
  teams: readonly string[];
}

async function create(args: string[], keyring: Keyring, names: Names, program: string): Promise<string> {
  const { lanes, keys, teams } = names;
  const { values, positionals } = parse(args, OPTIONS);
  const [name] = positionals;
  if (name === undefined || positionals.length > 1 || name.trim() === "") {
    throw new KeysError(`Expected one name for the key: ${program} keys create <name>`);
  }
  const why = whyNotName(name);
  if (why !== undefined) throw new KeysError(why);
  for (const lane of values.lane ?? []) refuseUnknown("lane", lane, lanes);
  if (values.team !== undefined) refuseUnknown("team", values.team, teams);
  // A key of that name would share the limits, usage and conversations of the configured key.
  const key = keys.includes(name) ? undefined : await keyring.create(factsOf(name, values));
  if (key === undefined) throw new KeysStateError(`Key "${name}" already exists`);
  return key;
}

type CreateValues = ReturnType<typeof parse<typeof OPTIONS>>["values"];

function factsOf(name: string, values: CreateValues): Parameters<Keyring["create"]>[0] {
  const expires = values.expires === undefined ? undefined : dateOf(values.expires);
  const quota = Object.fromEntries(
    Object.entries(QUOTA_OF).flatMap(([option, field]) => {
      const value = values[option as keyof typeof QUOTA_OF];
      return value === undefined ? [] : [[field, countOf(option, value)]];
    }),
  );
  return {
    name,
    ...(expires !== undefined && { expires }),
    ...(values.lane && { lanes: values.lane }),
    ...(values.model && { models: values.model }),
    ...(values.continuation !== undefined && { continuation: continuationIn(values.continuation) }),
    ...(values.operator && { operator: true }),
    ...(Object.keys(quota).length > 0 && { quota }),
    ...(values.budget !== undefined && { budget: budgetIn(values.budget) }),
    ...(values.team !== undefined && { team: values.team }),
  };
}

function refuseUnknown(kind: string, name: string, known: readonly string[]): void {
  if (known.includes(name)) return;
  throw new KeysError(`Cannot find ${kind} "${name}": the configuration has ${known.join(", ") || "none"}`);
}

function parse<const O extends ParseArgsOptionsConfig>(args: string[], options: O) {
  try {
    return builtin("node:util").parseArgs({ args, options, allowPositionals: true });
  } catch (error) {
    // The first sentence says what is wrong. The rest is advice that does not fit this command.
    throw new KeysError((error as Error).message.split(/\.\s/)[0]);
  }
}

function dateOf(text: string): string {
  const time = Date.parse(text);
  if (Number.isNaN(time)) throw new KeysError(`Cannot read the date "${text}": write it as 2027-01-31`);
  return new Date(time).toISOString();
}

function countOf(option: string, text: string): number {
  if (!/^[1-9]\d{0,14}$/.test(text)) {
    throw new KeysError(`Cannot use "${text}" for --${option}: expected an integer above 0`);
  }
  return Number(text);
}

function continuationIn(where: string): KeyFacts["continuation"] {
  if (where === "off" || where === "same" || where === "any") return where;
  throw new KeysError(`Expected off, same or any for --continuation: ${where}`);
}

function budgetIn(text: string): KeyFacts["budget"] {
  const [dollars, period, ...more] = text.split("/");
  const read = /^\d+(\.\d+)?$/.test(dollars!)
    ? budgetSchema.safeParse({ dollars: Number(dollars), period, ...(more.length > 0 && { more }) })
    : undefined;
  if (read?.success) return read.data;
  throw new KeysError(`Cannot use "${text}" for --budget: expected dollars and a period, as in 5/day or 100/total`);
}
