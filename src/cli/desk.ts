/**
 * The launcher's desk. A gateway may start no program and may not restart itself, so it asks the launcher over a loopback connection:
 * one question in a line of JSON, then the head of the answer in another line, then the rest. It is for the launcher, so it imports
 * only files that import nothing.
 */
import { DESK, DESK_TOKEN } from "../config/permissions.ts";
import { isObject } from "../util/config_text.ts";
import { commandOf, type CommandPlace, createTasks, type Tasks } from "./desk_tasks.ts";
import { createOneTimeCodes, isSame, newSession, type OneTimeCodes } from "./one_time_code.ts";
import { type Connection, host, type Listener } from "../platform/host.ts";

export interface DeskOptions {
  /** The program that is started again for each command. */
  launcher: string;
  say(text: string): void;
  /** `port`: the one on which the gateway listens. */
  place(port: number): CommandPlace;
  /** `token`: that of the gateway that asks. Returns why it failed. `undefined` if another gateway serves now. */
  restart(port: number, token: string): Promise<string | undefined>;
}

export interface Desk {
  /** The address of the desk: a host and a port. */
  address: string;
  /**
   * Whether pages have to give the one-time code, because there are no keys. The first time, it is printed. `page`: the URL of the
   * console, if it is known.
   */
  setNeedsCode(needsCode: boolean, page?: string): void;
  /** Takes questions from one more gateway. */
  admit(): Admitted;
  /** Ends all commands. */
  endCommands(): void;
  /** Takes no more questions at all. */
  close(): void;
}

export interface Admitted {
  token: string;
  /** The environment variables by which the gateway finds the desk. */
  variables: Record<string, string>;
  /** Resolves once the gateway says that it serves, or why it does not. */
  started: Promise<string | undefined>;
  /** Takes no more questions from it. */
  dismiss(): void;
}

/** How long a question may take to arrive, in milliseconds, and how long it may be, in bytes. */
const [PATIENCE_MS, LONGEST] = [10_000, 2 ** 21];
/** The most connections at a time. */
const MOST_OPEN = 32;
const PAUSE_MS = 100;

export async function openDesk(options: DeskOptions): Promise<Desk> {
  // An HTTP server would take ten times as long to start.
  const listener = await host().listen({ hostname: "127.0.0.1", port: 0 });
  const desk = new ListeningDesk(listener, options);
  void desk.takeAll();
  return desk;
}

interface Gateway {
  token: string;
  started(failure: string | undefined): void;
}

type Refusal = { code: string; reason: string };
/** Absent lines: the answer is complete. */
type Answer = Refusal | { body: unknown } | { lines: AsyncIterable<string> };

class ListeningDesk implements Desk {
  readonly address: string;
  readonly #listener: Listener;
  readonly #options: DeskOptions;
  readonly #codes: OneTimeCodes;
  readonly #tasks: Tasks;
  readonly #gateways = new Set<Gateway>();
  #needsCode = false;
  #isClosed = false;
  #open = 0;

  constructor(listener: Listener, options: DeskOptions) {
    this.address = `127.0.0.1:${listener.addr.port}`;
    this.#listener = listener;
    this.#options = options;
    this.#codes = createOneTimeCodes({ say: options.say, now: () => performance.now() });
    this.#tasks = createTasks(options.launcher);
  }

  setNeedsCode(needsCode: boolean, page?: string): void {
    this.#needsCode = needsCode;
    if (needsCode) this.#codes.begin(page);
  }

  admit(): Admitted {
    const started = Promise.withResolvers<string | undefined>();
    const gateway = { token: newSession(), started: started.resolve };
    this.#gateways.add(gateway);
    return {
      token: gateway.token,
      variables: { [DESK]: this.address, [DESK_TOKEN]: gateway.token },
      started: started.promise,
      dismiss: () => void this.#gateways.delete(gateway),
    };
  }

  endCommands(): void {
    this.#tasks.end();
  }

  close(): void {
    this.#isClosed = true;
    this.#listener.close();
    this.#tasks.end();
  }

  async takeAll(): Promise<void> {
    while (!this.#isClosed) {
      try {
        void this.#take(await this.#listener.accept());
      } catch {
        if (!this.#isClosed) await delay(PAUSE_MS); // no descriptor is free
      }
    }
  }

  async #take(connection: Connection): Promise<void> {
    const leaving = new AbortController();
    this.#open++;
    try {
      if (this.#open > MOST_OPEN) return;
      const question = await questionFrom(connection);
      const gateway = question && this.#senderOf(question);
      if (!gateway) return;
      void untilClosed(connection).then(() => leaving.abort());
      await send(connection, await this.#answer(question, gateway, leaving.signal));
    } catch {
      leaving.abort(); // the gateway has gone
    } finally {
      this.#open--;
      close(connection);
    }
  }

  #senderOf({ token }: Record<string, unknown>): Gateway | undefined {
    return [...this.#gateways].find((one) => isSame(String(token), one.token));
  }

  async #answer(question: Record<string, unknown>, gateway: Gateway, leaving: AbortSignal): Promise<Answer> {
    const { ask, session, port } = question;
    const isOpen = typeof session === "string" && this.#codes.isOpen(session);
    switch (ask) {
      case "state":
        return {
          body: isOpen || !this.#needsCode
            ? { needsCode: this.#needsCode, isOpen: true, folder: host().cwd() }
            : { needsCode: true, isOpen: false },
        };
      case "started":
        gateway.started(typeof question.failure === "string" ? question.failure : undefined);
        return { body: {} };
      case "open":
        return this.#exchange(question.code);
    }
    if (this.#needsCode && !isOpen) {
      return { code: "permission", reason: "First give the one-time code from the terminal" };
    }
    if (ask === "run") return await this.#run(question.task, isPort(port) ? port : 0, leaving);
    if (ask !== "restart" || !isPort(port)) {
      return { code: "invalid_request", reason: "The launcher does not know this question" };
    }
    const reason = await this.#options.restart(port, gateway.token);
    return { body: reason === undefined ? { outcome: "restarted" } : { outcome: "failed", reason } };
  }

  #exchange(code: unknown): Answer {
    if (!this.#needsCode) return { code: "invalid_request", reason: "There are keys, so no one-time code is needed" };
    const opened = this.#codes.open(String(code));
    return "session" in opened ? { body: opened } : { code: "permission", reason: opened.reason };
  }

  async #run(task: unknown, port: number, leaving: AbortSignal): Promise<Answer> {
    const command = commandOf(task, this.#options.place(port));
    if (!command) return { code: "invalid_request", reason: "The launcher cannot run this task" };
    const running = this.#tasks.start(command, leaving);
    if (typeof running === "string") return { code: "rate_limit", reason: running };
    const { lines, complaint } = running;
    if (command.isStreamed) return { lines: withResult(lines, complaint, task) };
    const body = parsed((await Array.fromAsync(lines)).join("\n"));
    return body === undefined ? { code: "unavailable", reason: complaint() } : { body };
  }
}

/** A command that was ended has printed no result. */
async function* withResult(
  lines: AsyncIterable<string>,
  complaint: () => string,
  task: unknown,
): AsyncGenerator<string> {
  let hasResult = false;
  for await (const line of lines) {
    const one = parsed(line);
    if (!isObject(one)) continue;
    // Files that are only shown have no other result.
    hasResult ||= one.result !== undefined || one.files !== undefined;
    yield line;
  }
  if (hasResult) return;
  const client = isObject(task) ? task.client : undefined;
  yield JSON.stringify({ result: { client, ok: false, reason: complaint(), changed: [] } });
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function isPort(value: unknown): value is number {
  return Number.isInteger(value) && Number(value) > 0 && Number(value) <= 65_535;
}

async function questionFrom(connection: Connection): Promise<Record<string, unknown> | undefined> {
  const late = setTimeout(() => close(connection), PATIENCE_MS);
  try {
    const decoder = new TextDecoder();
    const bytes = new Uint8Array(65_536);
    let text = "";
    while (!text.includes("\n")) {
      const count = await connection.read(bytes);
      if (count === null || text.length > LONGEST) return undefined;
      text += decoder.decode(bytes.subarray(0, count), { stream: true });
    }
    const question = parsed(text);
    return isObject(question) ? question : undefined;
  } finally {
    clearTimeout(late);
  }
}

/** Resolves when the page has left. A page sends nothing after its question, so its connection ends only then. */
async function untilClosed(connection: Connection): Promise<void> {
  const bytes = new Uint8Array(1024);
  try {
    while (await connection.read(bytes) !== null);
  } catch {
    // It was closed.
  }
}

async function send(connection: Connection, answer: Answer): Promise<void> {
  if ("reason" in answer) return await write(connection, JSON.stringify({ ok: false, ...answer }));
  await write(connection, JSON.stringify({ ok: true }));
  if ("body" in answer) return await write(connection, JSON.stringify(answer.body));
  for await (const line of answer.lines) await write(connection, line);
}

async function write(connection: Connection, line: string): Promise<void> {
  const bytes = new TextEncoder().encode(`${line}\n`);
  for (let at = 0; at < bytes.length;) at += await connection.write(bytes.subarray(at));
}

function close(connection: Connection): void {
  try {
    connection.close();
  } catch {
    // It is closed already.
  }
}

function delay(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
