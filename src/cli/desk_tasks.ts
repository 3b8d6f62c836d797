/** Commands that the launcher runs for a page, exactly as if the user had typed them. It imports only files that import nothing. */
import { ENGINE } from "../config/permissions.ts";
import { isObject } from "../util/config_text.ts";
import { type ChildProcess, host, moduleCommand } from "../platform/host.ts";

/** A command line, with the text for its standard input. */
export interface Command {
  args: string[];
  input?: string;
  /** Whether its lines are wanted as they come. */
  isStreamed: boolean;
  patienceMs: number;
  /** Whether it goes on if the page leaves, because half of its work would be worse. */
  isWhole: boolean;
}

export interface CommandPlace {
  /** The options by which the gateway was started, such as its configuration. */
  options: readonly string[];
  /** The gateway's URL. */
  url: string;
}

/** How long commands may take, in milliseconds: those that ask a server, and one that runs a client. */
const [SHORT_MS, LONG_MS] = [60_000, 300_000];
const CLIENT = /^[a-z0-9][a-z0-9-]{0,60}$/;
const LANE = /^[a-z0-9][a-z0-9-]{0,100}$/;
const VERSION = /^\w[\w.-]{0,200}$/;
const KEY = /^[\x21-\x7e]{1,8192}$/;
const MODEL = /^[^\p{Cc}]{1,300}$/u;

/**
 * The command for a task. A text from the page becomes the value of an option in one argument, or standard input, so that none can
 * become an option of its own. Returns `undefined` for a task that is not possible.
 */
export function commandOf(task: unknown, place: CommandPlace): Command | undefined {
  if (!isObject(task)) return undefined;
  const init = (name: string, more: Partial<Command> = {}, args: readonly string[] = []): Command => ({
    args: ["init", name, "--json", ...args, ...place.options],
    isStreamed: false,
    patienceMs: SHORT_MS,
    isWhole: false,
    ...more,
  });
  switch (task.do) {
    case "find":
      return init("find", {}, [`--except=${place.url}`]);
    case "check":
      return isObject(task.source) ? init("check", { input: JSON.stringify(task.source) }) : undefined;
    case "plan":
      return isObject(task.answers) ? init("plan", { input: JSON.stringify(task.answers) }) : undefined;
    case "write": {
      if (!isObject(task.answers) || !isText(task.version, VERSION)) return undefined;
      return init("write", { input: JSON.stringify(task.answers), isWhole: true }, [`--version=${task.version}`]);
    }
    case "examine":
      // The gateway itself makes the other checks of the command.
      return { ...init(""), args: ["doctor", "--part=clients", "--json", ...place.options] };
    case "connect":
      return connectOf(task, place);
    default:
      return undefined;
  }
}

function connectOf({ client, model, lane, key, undo, print }: Record<string, unknown>, { url }: CommandPlace) {
  if (!isText(client, CLIENT)) return undefined;
  const values = [["model", model, MODEL], ["lane", lane, LANE]] as const;
  if (values.some(([, value, form]) => value !== undefined && !isText(value, form))) return undefined;
  if (key !== undefined && !isText(key, KEY)) return undefined;
  const command: Command = {
    args: [
      "connect",
      client,
      "--json",
      ...(undo === true ? ["--undo"] : [`--url=${url}`]),
      ...values.flatMap(([name, value]) => value === undefined ? [] : [`--${name}=${value}`]),
      ...(key === undefined ? [] : ["--key=-"]),
      print === true ? "--print" : "--yes",
    ],
    ...key !== undefined && { input: `${key}\n` },
    isStreamed: true,
    patienceMs: LONG_MS,
    isWhole: false,
  };
  return command;
}

function isText(value: unknown, form: RegExp): value is string {
  return typeof value === "string" && form.test(value);
}

/** The most commands at a time. */
const MOST_RUNNING = 4;
/** How long a command may take to end, in milliseconds. */
const END_MS = 3_000;
/** The longest output, in characters, and how much of its complaints is kept. */
const [LONGEST, LONGEST_COMPLAINT] = [8 * 2 ** 20, 2_000];

export interface Running {
  /** Its lines as they come, or all of them at once. */
  lines: AsyncIterable<string>;
  /** Why it printed no result, in its own words or in ours. Known once there are no more lines. */
  complaint(): string;
}

export interface Tasks {
  /** Starts a command, or tells why not. It is ended when `leaving` is aborted. */
  start(command: Command, leaving: AbortSignal): Running | string;
  /** Ends all, except those whose work is to be whole. */
  end(): void;
}

/** `launcher`: the program that is started again. */
export function createTasks(launcher: string): Tasks {
  const running = new Set<() => void>();
  return {
    start(command, leaving) {
      if (running.size >= MOST_RUNNING) {
        return `${MOST_RUNNING} commands are running already: try again once one has ended`;
      }
      return startTask(launcher, command, leaving, running);
    },
    end: () => running.forEach((end) => end()),
  };
}

function startTask(launcher: string, command: Command, leaving: AbortSignal, running: Set<() => void>): Running {
  const { args, input, patienceMs, isWhole } = command;
  const permissions = ["--allow-read", "--allow-env", "--allow-run", "--no-prompt"];
  const child = moduleCommand({
    flags: [ENGINE, ...permissions],
    main: launcher,
    args,
    stdin: "piped",
    stdout: "piped",
    stderr: "piped",
    // As a group of processes, so that a client that the command runs ends with it.
    detached: host().build.os !== "windows",
  }).spawn();
  let why = "";
  const end = (reason: string) => {
    if (why !== "") return;
    why = reason;
    signal(child, "SIGTERM");
    ending = setTimeout(() => signal(child, "SIGKILL"), END_MS);
  };
  let ending: ReturnType<typeof setTimeout> | undefined;
  const late = setTimeout(() => end(`It took longer than ${patienceMs / 1000} seconds`), patienceMs);
  const left = () => end("The page has left");
  const stop = () => isWhole ? undefined : end("The gateway stops");
  if (!isWhole && leaving.aborted) left();
  if (!isWhole) leaving.addEventListener("abort", left, { once: true });
  running.add(stop);
  void write(child, input);
  const complaints = tailOf(child.stderr);
  const over = child.status.then(async ({ code }) => {
    clearTimeout(late);
    clearTimeout(ending);
    leaving.removeEventListener("abort", left);
    running.delete(stop);
    const said = await complaints;
    if (why === "") why = said || `It ended with code ${code}`;
  });
  return { lines: linesOf(child.stdout, over, () => end("It printed too much")), complaint: () => why };
}

async function write({ stdin }: ChildProcess, input = ""): Promise<void> {
  const writer = stdin.getWriter();
  try {
    await writer.write(new TextEncoder().encode(input));
    await writer.close();
  } catch {
    // It has ended without reading all of it.
  }
}

/** All processes of the command. */
function signal(child: ChildProcess, signal: Deno.Signal): void {
  try {
    if (host().build.os === "windows") child.kill(signal);
    else host().kill(-child.pid, signal);
  } catch {
    // It has ended by itself meanwhile.
  }
}

async function tailOf(stream: ReadableStream<Uint8Array<ArrayBuffer>>): Promise<string> {
  let text = "";
  for await (const piece of stream.pipeThrough(new TextDecoderStream())) {
    text = (text + piece).slice(-LONGEST_COMPLAINT);
  }
  return text.trim();
}

/** The lines, until the process has ended. */
async function* linesOf(
  stdout: ReadableStream<Uint8Array<ArrayBuffer>>,
  over: Promise<void>,
  tooMuch: () => void,
): AsyncGenerator<string> {
  let [rest, length] = ["", 0];
  for await (const piece of stdout.pipeThrough(new TextDecoderStream())) {
    length += piece.length;
    if (length > LONGEST) {
      tooMuch();
      continue;
    }
    const lines = (rest + piece).split("\n");
    rest = lines.pop()!;
    yield* lines;
  }
  if (rest !== "") yield rest;
  await over;
}
