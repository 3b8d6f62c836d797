/** The command `keys`: creates, lists and revokes keys in the store of a gateway, which need not stop for it. */
import type { ParseArgsOptionsConfig } from "node:util";
import { pluginFacts } from "../app.ts";
import { createStore, describePlace, placeOfStore } from "../compose/store.ts";
import { whyNotName } from "../config/key_name.ts";
import { kindsThat } from "../config/store_kinds.ts";
import { budgetSchema } from "../config/limits_schema.ts";
import { loadConfig } from "../config/load.ts";
import { USER_VARIABLES } from "../config/permissions.ts";
import type { Config, KeyFacts } from "../config/schema.ts";
import { withPlaceholders } from "../config/secrets.ts";
import { asJson, format, leftOf, readerOf, type Spending } from "./keys_list.ts";
import { createKeyring, type Keyring } from "../state/keyring.ts";
import { invocation } from "../programs/invocation.ts";
import { hint } from "../config/hint.ts";
import { KEYS_CREATE, KEYS_LIST, KEYS_REVOKE, KEYS_ROTATE } from "../programs/commands/keys.ts";
import { printFailure, printJson } from "../programs/json_output.ts";
import { readArguments } from "../programs/flags.ts";
import { CommandError, type Program, UsageError } from "../programs/program.ts";

const PATIENCE_MS = 10_000;

/** A command line that cannot be understood, or a command that cannot be done. The message is for people. */
export class KeysError extends Error {}

/** A command that is understood but cannot be done in the present state. */
export class KeysStateError extends KeysError {}

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
    const help = error instanceof KeysStateError ? "" : "; --help lists the options";
    if (args.includes("--json")) printFailure(program.streams, error.message);
    else program.streams.say(`${error.message}${help}`);
    return 2;
  }
}

async function manage(args: string[], path: string | undefined, program: Program): Promise<number> {
  const { platform, plugins, streams } = program;
  const { print, say } = streams;
  const { env } = platform;
  const command = invocation(platform);
  // The command needs no secrets, and the user who manages keys may have none.
  const { config } = loadConfig({ path, ...pluginFacts(plugins), ...withPlaceholders(platform) });
  const place = placeOfStore(config.store, platform, env);
  if (place === "memory") throw new KeysStateError(whyNoStore(platform));
  const store = createStore(config, platform, env, Date.now);
  try {
    const configured = { lanes: Object.keys(config.lanes), keys: config.keys.map(({ name }) => name) };
    const spending = { teams: config.teams, read: readerOf(store) };
    const { text, data } = await outcomeOf(args, createKeyring(store, Date.now), configured, command, spending);
    if (args.includes("--json")) printJson(streams, data);
    else print(text);
    await auditKeys(args, config, program);
    if (!config.storedKeys) say('To admit keys of the store, set "storedKeys": true in the configuration');
    return 0;
  } catch (error) {
    if (error instanceof KeysError) throw error;
    throw new CommandError(`Cannot use the store ${describePlace(place)}: ${(error as Error).message}`);
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
  const [key = ""] = parse(rest, { ...KEYS_CREATE.options, ...KEYS_ROTATE.options }).positionals;
  audit.write({ event, key, by: USER_VARIABLES.map(env).find(Boolean) });
  await audit.flush(PATIENCE_MS);
}

function whyNoStore({ database }: Program["platform"]): string {
  return database
    ? `Keys are kept in a store of kind ${kindsThat("isLasting")}, and this configuration has none`
    : "Cannot store keys, because this runtime has no persistent store: add the keys to the configuration";
}

/** The names of the configured lanes and keys. */
interface Configured {
  lanes: readonly string[];
  keys: readonly string[];
}

/** The result of a command, for people and as JSON. */
interface Outcome {
  text: string;
  data: object;
}

/** Returns the output of the command. Throws `KeysError`. `program`: how the user starts this program. */
export async function keysCommand(...given: Parameters<typeof outcomeOf>): Promise<string> {
  return (await outcomeOf(...given)).text;
}

async function outcomeOf(
  args: string[],
  keyring: Keyring,
  configured: Configured,
  program: string,
  { teams = {}, read }: Spending = { read: () => Promise.resolve([]) },
): Promise<Outcome> {
  const [command, ...rest] = args;
  switch (command) {
    case "create":
      return await create(rest, keyring, { ...configured, teams: Object.keys(teams) }, program);
    case "list":
      return await list(rest, keyring, { teams, read }, program);
    case "rotate":
      return await rotate(rest, keyring, program);
    case "revoke": {
      const [name, more] = parse(rest, KEYS_REVOKE.options).positionals;
      if (name === undefined || more !== undefined) {
        throw new KeysError(`Expected the name of one key: ${program} keys revoke <name>`);
      }
      if (!await keyring.revoke(name)) throw unknownKey(name, program);
      return { text: `Revoked key "${name}"`, data: { name } };
    }
    default:
      throw new KeysError(
        command === undefined || command.startsWith("-")
          ? "No command: use create, list, rotate or revoke"
          : `Unknown command "${command}"${hint(command, VERBS)}`,
      );
  }
}

const VERBS = ["create", "list", "rotate", "revoke"];

function unknownKey(name: string, program: string): KeysStateError {
  return new KeysStateError(`Cannot find key "${name}": ${program} keys list shows all keys`);
}

const PAGE = "1000";

async function list(args: string[], keyring: Keyring, spending: Spending, program: string): Promise<Outcome> {
  const { values: { limit = PAGE, after }, positionals } = parse(args, KEYS_LIST.options);
  if (positionals.length > 0) throw new KeysError(`"list" takes no arguments`);
  const most = countOf("limit", limit);
  if (after !== undefined && !await keyring.has(after)) throw unknownKey(after, program);
  // One more key is read to see whether there are more.
  const found = await keyring.list({ limit: most + 1, after });
  const keys = found.slice(0, most);
  if (keys.length === 0) return { text: `No keys. Create one: ${program} keys create <name>`, data: { keys } };
  const left = await leftOf(keys, spending);
  const text = format(keys, left);
  const data = { keys: keys.map((key) => asJson(key, left)), ...(found.length > most && { next: keys.at(-1)!.name }) };
  if (found.length <= most) return { text, data };
  const rest = `There are more: ${program} keys list --limit ${limit} --after "${keys.at(-1)!.name}"`;
  return { text: `${text}\n${rest}`, data };
}

async function rotate(args: string[], keyring: Keyring, program: string): Promise<Outcome> {
  const { values: { keep = KEEP }, positionals } = parse(args, KEYS_ROTATE.options);
  const [name] = positionals;
  if (name === undefined || positionals.length > 1) {
    throw new KeysError(`Expected the name of one key: ${program} keys rotate <name>`);
  }
  const [, count, unit] = /^(\d{1,5})([mhd])$/.exec(keep === "0" ? "0m" : keep) ?? [];
  if (count === undefined) {
    throw new KeysError(`Cannot use "${keep}" for --keep: expected a time such as 30m, 24h or 7d`);
  }
  const until = Date.now() + Number(count) * UNIT_MS[unit!]!;
  const key = await keyring.rotate(name, until);
  if (key === undefined) throw unknownKey(name, program);
  return { text: key, data: { name, key, formerUntil: new Date(until).toISOString() } };
}

interface Names extends Configured {
  teams: readonly string[];
}

async function create(args: string[], keyring: Keyring, names: Names, program: string): Promise<Outcome> {
  const { lanes, keys, teams } = names;
  const { values, positionals } = parse(args, KEYS_CREATE.options);
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
  return { text: key, data: { name, key } };
}

type CreateValues = ReturnType<typeof parse<typeof KEYS_CREATE.options>>["values"];

function factsOf(name: string, values: CreateValues): Parameters<Keyring["create"]>[0] {
  const expires = values.expires === undefined ? undefined : dateOf(values.expires);
  const quota = Object.fromEntries(
    Object.entries(QUOTA_OF).flatMap(([option, field]) => {
      const value = values[option as keyof typeof QUOTA_OF];
      return value === undefined ? [] : [[field, countOf(option, value)]];
    }),
  );
  if (values.unpriced !== undefined && values.budget === undefined) {
    throw new KeysError("--unpriced goes with --budget");
  }
  return {
    name,
    ...(expires !== undefined && { expires }),
    ...(values.lane && { lanes: values.lane }),
    ...(values.model && { models: values.model }),
    ...(values.continuation !== undefined && { continuation: continuationIn(values.continuation) }),
    ...(values["no-files"] && { files: false }),
    ...(values.operator && { operator: true }),
    ...(Object.keys(quota).length > 0 && { quota }),
    ...(values.budget !== undefined && { budget: budgetIn(values.budget, values.unpriced) }),
    ...(values.team !== undefined && { team: values.team }),
  };
}

function refuseUnknown(kind: string, name: string, known: readonly string[]): void {
  if (known.includes(name)) return;
  throw new KeysError(`Cannot find ${kind} "${name}": the configuration has ${known.join(", ") || "none"}`);
}

function parse<const O extends ParseArgsOptionsConfig>(args: string[], options: O) {
  try {
    return readArguments(args, options);
  } catch (error) {
    if (!(error instanceof UsageError)) throw error;
    throw new KeysError(error.message);
  }
}

function dateOf(text: string): string {
  const time = Date.parse(text);
  if (Number.isNaN(time)) throw new KeysError(`Cannot read the date "${text}": write it as 2027-01-31`);
  if (time <= Date.now()) throw new KeysError(`Cannot use "${text}" for --expires: it is in the past`);
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

function budgetIn(text: string, unpriced: string | undefined): KeyFacts["budget"] {
  if (unpriced !== undefined && unpriced !== "allow" && unpriced !== "refuse") {
    throw new KeysError(`Cannot use "${unpriced}" for --unpriced: expected allow or refuse`);
  }
  const [dollars, period, ...more] = text.split("/");
  const read = /^\d+(\.\d+)?$/.test(dollars!)
    ? budgetSchema.safeParse({ dollars: Number(dollars), period, unpriced, ...(more.length > 0 && { more }) })
    : undefined;
  if (read?.success) return read.data;
  throw new KeysError(`Cannot use "${text}" for --budget: expected dollars and a period, as in 5/day or 100/total`);
}
