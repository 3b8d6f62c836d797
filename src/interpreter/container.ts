/** One container: a process that runs Python, as the server sees it. What comes from it is hostile. */
import { asObject, asObjects, asText, parseJson } from "../canonical/json.ts";
import type { ChildProcess } from "../platform/host.ts";
import { type ContainerLimits, type Executed, MOST_FILES, type Order } from "./protocol.ts";

export interface ContainerOptions extends ContainerLimits {
  /** How long one execution may take, in milliseconds. */
  timeoutMs: number;
  /** Starts the process. */
  spawn(): ChildProcess;
}

/** How long a process may take to start, in milliseconds. Loading Python takes two seconds on a machine that does nothing else. */
const START_MS = 120_000;
/** An upper limit on the length of an escape in JSON, and on what stands around the texts. */
const [ESCAPED, AROUND] = [6, 100_000];
/** The longest path of a file, as it is reported. */
const LONGEST_NAME = 200;

type Reported = Executed | "done" | "failed";

export class Container {
  readonly #options: ContainerOptions;
  readonly #child: ChildProcess;
  readonly #writer: WritableStreamDefaultWriter<Uint8Array<ArrayBuffer>>;
  readonly #waiting = new Map<number, (reported: Reported) => void>();
  readonly #isUp: Promise<Reported | "late">;
  /** Resolves once the process has ended. */
  readonly ended: Promise<void>;
  #orders = 0;
  #isOver = false;

  /** `onEnd` is called once the process has ended, for whatever reason. */
  constructor(options: ContainerOptions, onEnd: () => void) {
    this.#options = options;
    this.#child = options.spawn();
    this.#writer = this.#child.stdin.getWriter();
    this.#isUp = this.#reported(0, START_MS);
    const read = this.#read();
    this.ended = this.#child.status.catch(() => {}).then(async () => {
      this.#end();
      onEnd();
      await this.#writer.abort().catch(() => {});
      await read;
    });
  }

  /** Whether the process has ended, or is about to. */
  get isOver(): boolean {
    return this.#isOver;
  }

  /** Runs code after the orders before it. A process that is late is ended. */
  async order(order: Order extends infer One ? One extends Order ? Omit<One, "id"> : never : never) {
    if (await this.#isUp !== "done") return "failed";
    const id = ++this.#orders;
    const reported = this.#reported(id, this.#options.timeoutMs);
    const line = new TextEncoder().encode(`${JSON.stringify({ id, ...order })}\n`);
    this.#writer.write(line).catch(() => this.kill());
    const came = await reported;
    if (came === "failed") this.kill();
    return came;
  }

  kill(): void {
    this.#end();
    try {
      this.#child.kill("SIGKILL");
    } catch {
      // It has ended by itself meanwhile.
    }
  }

  async #reported(id: number, ms: number): Promise<Reported | "late"> {
    const { promise, resolve } = Promise.withResolvers<Reported | "late">();
    if (this.#isOver) return "failed";
    this.#waiting.set(id, resolve);
    const timer = setTimeout(() => {
      resolve("late");
      this.kill();
    }, ms);
    const reported = await promise;
    clearTimeout(timer);
    this.#waiting.delete(id);
    return reported;
  }

  #end(): void {
    this.#isOver = true;
    for (const resolve of this.#waiting.values()) resolve("failed");
  }

  async #read(): Promise<void> {
    const { output, fileBytes } = this.#options;
    const most = 2 * ESCAPED * output + 2 * fileBytes + AROUND;
    const decoder = new TextDecoder();
    let pieces: string[] = [];
    let length = 0;
    try {
      for await (const bytes of this.#child.stdout) {
        const [first = "", ...lines] = decoder.decode(bytes, { stream: true }).split("\n");
        pieces.push(first);
        length += first.length;
        if (length > most) break;
        for (const line of lines) {
          this.#take(pieces.join(""));
          [pieces, length] = [[line], line.length];
        }
      }
    } catch {
      // The process has ended.
    }
    this.kill();
  }

  #take(line: string): void {
    const { id, failed, executed } = asObject(parseJson(line));
    const resolve = this.#waiting.get(Number(id));
    resolve?.(failed === true ? "failed" : executed === undefined ? "done" : this.#executedIn(executed));
  }

  #executedIn(value: unknown): Executed {
    const { stdout, stderr, exitCode, files } = asObject(value);
    const most = this.#options.output + 100;
    return {
      stdout: asText(stdout).slice(0, most),
      stderr: asText(stderr).slice(0, most),
      exitCode: Number.isSafeInteger(exitCode) ? exitCode as number : 1,
      files: asObjects(files).slice(0, MOST_FILES).flatMap(({ name, data }) => {
        const path = plainPath(asText(name));
        return path === undefined || !isBase64(asText(data)) ? [] : [{ name: path, data: asText(data) }];
      }),
    };
  }
}

/** The path of a file below its folder. `undefined` if it leads elsewhere, or is not a name that can be shown. */
export function plainPath(name: string): string | undefined {
  const isPlain = name !== "" && name.length <= LONGEST_NAME && !/[\p{Cc}\\]/u.test(name);
  return isPlain && name.split("/").every((part) => part !== "" && part !== "." && part !== "..") ? name : undefined;
}

function isBase64(text: string): boolean {
  return text.length % 4 === 0 && /^[A-Za-z0-9+/]*={0,2}$/.test(text);
}
