/** Tests whether a client with these settings gets its answers: it is run once, or its requests are sent in its place. */
import { toolTurns } from "../../../plugins/programs/clients/requests.ts";
import { isJsonObject, type JsonObject, type JsonValue } from "../../canonical/json.ts";
import type { Client, ClientMachine, ClientProof, Connection, SettingsFile } from "../../contract/client.ts";
import { builtin } from "../../util/builtin.ts";
import { withSettings } from "./edit.ts";
import { readFile, writeFile } from "./files.ts";
import { printable } from "../../util/printable.ts";
import { readText } from "../../util/read_text.ts";
import { withoutKey } from "./mask.ts";
import { record, type Recorder, type Seen } from "./recorder.ts";
import { programHere } from "../../platform/here.ts";

export interface Proof {
  isProved: boolean;
  /** The observations, one sentence each. */
  lines: string[];
}

export interface Proving {
  client: Client;
  connection: Connection;
  machine: ClientMachine;
  /** The key itself. */
  key?: string;
  /** The file of the client's program. Absent if it is not run. */
  program?: string;
  /** The folder in which a home is created for it. */
  folder: string;
  /** How long it may take for its turn, in milliseconds. */
  patienceMs: number;
}

/** How much of an answer is read, in characters. */
const MOST_ANSWER = 1_000_000;
const PROMPT = "List the files in the current folder with one of your tools. Then say in one sentence what you found.";

/** Any error is a failed test. Control characters in messages of a gateway or a client are made visible. */
export async function prove(proving: Proving): Promise<Proof> {
  const { isProved, lines } = await attempt(proving);
  return { isProved, lines: lines.map((line) => printable(withoutKey(line, proving.key))) };
}

async function attempt(proving: Proving): Promise<Proof> {
  const { client: { proof }, program } = proving;
  try {
    return proof && program !== undefined ? await byClient(proving, proof, program) : await byRequest(proving);
  } catch (error) {
    return { isProved: false, lines: [`The test stopped: ${(error as Error).message}`] };
  }
}

/** Runs the client in a copy of its settings that names the recorder as the gateway, so that it leaves nothing behind. */
async function byClient(proving: Proving, proof: ClientProof, program: string): Promise<Proof> {
  const { client, machine, key } = proving;
  const { mkdirSync, mkdtempSync, rmSync, writeFileSync } = builtin("node:fs");
  const recorder = await record(proving.connection.gateway, (text) => withoutKey(text, key));
  mkdirSync(proving.folder, { recursive: true, mode: 0o700 });
  removeAbandoned(proving.folder);
  const home = mkdtempSync(`${proving.folder}/proof-`);
  try {
    const connection = { ...proving.connection, gateway: recorder.url };
    const work = `${home}/project`;
    mkdirSync(work);
    writeFileSync(`${work}/README.md`, "# An example\n");
    const variables = copySettings(client, connection, machine, home);
    const env = { ...environment(proving, home), ...proof.env, ...variables };
    const ran = await run(program, proof.args(connection, PROMPT), { cwd: work, env }, proving.patienceMs);
    return judged(proving, ran, recorder);
  } finally {
    await recorder.close();
    rmSync(home, { recursive: true, force: true });
  }
}

/** A home that is older than any test, in milliseconds, was left by a killed process, and may hold a key. */
const ABANDONED_MS = 3_600_000;

function removeAbandoned(folder: string): void {
  const { readdirSync, rmSync, statSync } = builtin("node:fs");
  for (const name of readdirSync(folder).filter((name) => name.startsWith("proof-"))) {
    const home = `${folder}/${name}`;
    if (Date.now() - (statSync(home, { throwIfNoEntry: false })?.mtimeMs ?? Date.now()) > ABANDONED_MS) {
      rmSync(home, { recursive: true, force: true });
    }
  }
}

/** The whole environment of the client. */
function environment({ client, connection, machine, key }: Proving, home: string): Record<string, string> {
  const { key: from } = connection;
  const { keyIn } = client.proof ?? {};
  return {
    HOME: home,
    TMPDIR: home,
    PATH: machine.env("PATH") ?? "",
    TERM: "dumb",
    CI: "1",
    NO_COLOR: "1",
    NO_PROXY: "127.0.0.1,localhost",
    ...from && "env" in from && key !== undefined && { [from.env]: key, ...keyIn && { [keyIn]: key } },
  };
}

const IS_SETTINGS = /\.(json|jsonc|toml|ya?ml)$/;
/** Names of files with logins and conversations, which the test does not need. */
const IS_PRIVATE = /auth|credential|token|secret|history|session/i;
const MOST_BYTES = 1_000_000;

/** Copies the client's settings, with the connection, to another home. Returns the variables that a shell would set. */
function copySettings(
  client: Client,
  connection: Connection,
  machine: ClientMachine,
  home: string,
): Record<string, string> {
  const original = client.files?.(connection, machine) ?? [];
  const isThere = (path: string) => machine.isThere(path.replace(home, machine.home));
  const copies = client.files?.(connection, { os: machine.os, home, env: shellOnly(machine), isThere }) ?? [];
  const pairs = copies.map((copy, index) => ({ copy, from: original[index]!.path }));
  const written = pairs.filter(({ copy }) => copy.format !== "shell");
  for (const { copy, from } of written) copyBeside(from, copy.path, machine.home);
  for (const { copy, from } of written) writeFile(copy.path, withSettings(readFile(from)?.text ?? "", copy));
  const variables = pairs.filter(({ copy }) => copy.format === "shell").map(({ copy }) => variablesOf(copy, machine));
  return Object.assign({}, ...variables);
}

function shellOnly({ env }: ClientMachine): ClientMachine["env"] {
  return (name) => name === "SHELL" ? env(name) : undefined;
}

function variablesOf({ settings }: SettingsFile, { env }: ClientMachine): Record<string, string> {
  return Object.fromEntries(settings.flatMap((setting) => {
    if ("entry" in setting) return [];
    const { at: [name], value } = setting;
    return [[name!, isJsonObject(value) ? env(String(value.env)) ?? "" : String(value)]];
  }));
}

/** Copies the other settings in the folder of a client's file, because they may change its behaviour. */
function copyBeside(from: string, to: string, home: string): void {
  const { readdirSync, statSync } = builtin("node:fs");
  const { dirname, join } = builtin("node:path");
  const folder = dirname(from);
  if (folder === home) return;
  let names: string[];
  try {
    names = readdirSync(folder);
  } catch {
    return; // there is no such folder yet
  }
  for (const name of names.filter((name) => IS_SETTINGS.test(name) && !IS_PRIVATE.test(name))) {
    try {
      const path = join(folder, name);
      const { size } = statSync(path);
      if (path !== from && size <= MOST_BYTES) writeFile(join(dirname(to), name), readFile(path)?.text ?? "");
    } catch {
      // an unreadable file is not needed
    }
  }
}

/** How long a stopped client may take to end, in milliseconds. */
const GRACE_MS = 5_000;

interface Ran {
  /** Absent if it did not end by itself. */
  code?: number;
  output: string;
}

async function run(
  program: string,
  args: readonly string[],
  { cwd, env }: { cwd: string; env: Record<string, string> },
  patienceMs: number,
): Promise<Ran> {
  const signal = AbortSignal.timeout(patienceMs);
  const command = await programHere(program, {
    args: [...args],
    cwd,
    env,
    clearEnv: true,
    stdin: "null",
    stdout: "piped",
    stderr: "piped",
    signal,
  });
  // A process that the client has started may hold its output open.
  const gaveUp = Promise.withResolvers<void>();
  const timer = setTimeout(gaveUp.resolve, patienceMs + GRACE_MS);
  const ended = await Promise.race([command.output(), gaveUp.promise]);
  clearTimeout(timer);
  if (!ended) return { output: "" };
  const output = [ended.stdout, ended.stderr].map((bytes) => new TextDecoder().decode(bytes)).join("\n");
  return { code: signal.aborted ? undefined : ended.code, output };
}

/** Judges by the gateway's answers, because some clients exit with 0 after an error. */
function judged({ client, connection, key, patienceMs }: Proving, { code, output }: Ran, { seen }: Recorder): Proof {
  const lines = [`Ran ${client.program}: ${asked(seen)}`];
  const failed = seen.find(({ status }) => status >= 400);
  if (failed) lines.push(`${failed.path} was answered with ${failed.status}: ${failed.error ?? ""}`);
  if (code === undefined) lines.push(`It did not finish within ${patienceMs / 1000} seconds`);
  else if (code !== 0) lines.push(`It ended with code ${code}`);
  const isProved = code === 0 && seen.some(({ status, isWhole }) => status < 400 && isWhole);
  // The key is removed before the text is cut, because a part of it would not be found.
  const printed = withoutKey(output, key).trim().slice(-600);
  // The gateway's answer says it better than a client's account of it.
  if (!isProved && !failed && printed !== "") lines.push(`It printed: ${printed}`);
  if (isProved) lines.push(loopOf(seen, connection));
  return { isProved, lines };
}

function asked(seen: readonly Seen[]): string {
  if (seen.length === 0) return "it did not call the gateway";
  const models = [...new Set(seen.map(({ model }) => model ?? "?"))];
  const requests = seen.length === 1 ? "1 request" : `${seen.length} requests`;
  const whole = seen.filter(({ isWhole, status }) => isWhole && status < 400).length;
  return `it made ${requests} for ${models.join(", ")}; ${whole} got a complete answer`;
}

function loopOf(seen: readonly Seen[], { model }: Connection): string {
  return seen.some(({ hasResult, status }) => hasResult && status < 400)
    ? `${model} called a tool and received its result`
    : `${model} did not call a tool this time`;
}

/** The requests of a turn with a tool, as clients of its wire send them. */
async function byRequest({ client, connection, key, patienceMs }: Proving): Promise<Proof> {
  const { path, headers, first, second, isWhole } = toolTurns[client.wire]!;
  const auth: Record<string, string> = key === undefined ? {} : { authorization: `Bearer ${key}` };
  const post = async (body: JsonObject, isStreamed: boolean) => {
    const below = path(connection.model, isStreamed);
    const { ok, status, body: answer } = await fetch(`${connection.gateway}/${connection.lane}/${below}`, {
      method: "POST",
      headers: { "content-type": "application/json", ...auth, ...headers },
      body: JSON.stringify(body),
      redirect: "manual",
      signal: AbortSignal.timeout(patienceMs),
    });
    const { text } = await readText(answer, MOST_ANSWER);
    return { ok, status, text, below };
  };
  const refused = ({ status, text, below }: Awaited<ReturnType<typeof post>>): Proof => {
    return {
      isProved: false,
      lines: [`/${below} was answered with ${status}: ${withoutKey(text, key).slice(0, 300)}`],
    };
  };
  const asked = first(connection.model, PROMPT);
  const response = await post(asked, false);
  const answer = response.ok ? objectIn(response.text) : undefined;
  if (!answer) return refused(response);
  const isNotRun = `${client.title}: not run, so this tests the address and the key, not the program`;
  const turn = second(asked, answer);
  if (!turn) return { isProved: true, lines: [`${connection.model} answered without calling a tool`, isNotRun] };
  const streamed = await post(turn, true);
  if (!streamed.ok || !isWhole(streamed.text)) return refused(streamed);
  return {
    isProved: true,
    lines: [`${connection.model} called a tool, received its result and streamed a complete answer`, isNotRun],
  };
}

function objectIn(text: string): JsonObject | undefined {
  try {
    const value: JsonValue = JSON.parse(text);
    return isJsonObject(value) ? value : undefined;
  } catch {
    return undefined;
  }
}
