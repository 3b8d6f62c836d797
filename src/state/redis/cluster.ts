/** A link to a cluster. It has a link to each node, so that a failed node affects only the keys on it. */
import type { Link } from "./link.ts";
import { REPLY_MS } from "./link.ts";
import type { Script } from "./scripts.ts";
import type { Command } from "./wire.ts";

export interface ClusterOptions {
  /** The nodes that are asked first which nodes there are. */
  seeds: readonly Node[];
  open(node: Node): Link;
}

/** How often a command is redirected to another node. */
const MOST_REDIRECTS = 4;
/** How long the slots of a cluster are not read again, in milliseconds. */
const REST_MS = 250;
/** The wait before a command is retried if its slot has no node or is moving, in milliseconds. */
const RETRY_MS = 50;

/** `send` takes commands whose first argument is a key. All keys of one command are on one node. */
export function createClusterLink(options: ClusterOptions): Link {
  return new ClusterLink(options);
}

/** Asks one node. */
type Ask = (link: Link, isAsking: boolean) => Promise<unknown>;

class ClusterLink implements Link {
  readonly #options: ClusterOptions;
  readonly #links = new Map<string, { node: Node; link: Link }>();
  #ranges: readonly SlotRange[] = [];
  #reading: Promise<void> | undefined;
  #readAt = -Infinity;
  #isClosed = false;

  constructor(options: ClusterOptions) {
    this.#options = options;
  }

  async send(command: Command, limitMs = REPLY_MS): Promise<unknown> {
    return await this.#ask(String(command[1]), limitMs, async (link, isAsking) => {
      if (isAsking) link.send(["ASKING"], limitMs).catch(() => {});
      return await link.send(command, limitMs);
    });
  }

  async run(script: Script, keys: readonly string[], args: Command, limitMs = REPLY_MS): Promise<unknown> {
    return await this.#ask(keys[0]!, limitMs, async (link, isAsking) => {
      if (isAsking) {
        // ASKING allows only one command, so the script has to be loaded before it.
        await link.send(["SCRIPT", "LOAD", script.text], limitMs).catch(() => {});
        link.send(["ASKING"], limitMs).catch(() => {});
      }
      return await link.run(script, keys, args, limitMs);
    });
  }

  isReady(limitMs: number): boolean {
    return [...this.#links.values()].some(({ link }) => link.isReady(limitMs));
  }

  close(): void {
    this.#isClosed = true;
    for (const { link } of this.#links.values()) link.close();
    this.#links.clear();
  }

  async #ask(key: string, limitMs: number, ask: Ask): Promise<unknown> {
    const until = performance.now() + limitMs;
    const slot = slotOf(key);
    let link = await this.#linkOf(slot);
    let isAsking = false;
    for (let redirects = 0;; redirects++) {
      try {
        return await ask(link, isAsking);
      } catch (error) {
        const { message } = error as Error;
        const [, kind, host, port] = REDIRECT.exec(message) ?? [];
        const mayGoOn = redirects < MOST_REDIRECTS && performance.now() + RETRY_MS < until;
        if (kind !== "ASK" && !isOfCommand(message)) void this.#read().catch(() => {});
        if (!mayGoOn || kind === undefined && !IN_BETWEEN.test(message)) throw error;
        isAsking = kind === "ASK";
        if (kind === undefined) {
          await new Promise((resolve) => setTimeout(resolve, RETRY_MS));
          link = await this.#linkOf(slot);
        } else link = this.#linkTo({ host: host || this.#nodeOf(link).host, port: Number(port) });
      }
    }
  }

  async #linkOf(slot: number): Promise<Link> {
    if (this.#ranges.length === 0) await this.#read(true);
    const range = this.#ranges.find(({ from, to }) => slot >= from && slot <= to);
    if (range) return this.#linkTo(range.primary);
    void this.#read().catch(() => {});
    throw new Error("No node of the cluster has this slot");
  }

  #linkTo(node: Node): Link {
    if (this.#isClosed) throw new Error("Cannot use the store: it is closed");
    const name = `${node.host}:${node.port}`;
    let known = this.#links.get(name);
    if (!known) this.#links.set(name, known = { node, link: this.#options.open(node) });
    return known.link;
  }

  #nodeOf(link: Link): Node {
    return [...this.#links.values()].find((one) => one.link === link)!.node;
  }

  /** Asks the known nodes for their slots. Only one read runs at a time, and none right after it unless `isFirst`. */
  #read(isFirst = false): Promise<void> {
    if (this.#reading) return this.#reading;
    if (!isFirst && performance.now() - this.#readAt < REST_MS) return Promise.resolve();
    this.#readAt = performance.now();
    return this.#reading = this.#readNow().finally(() => this.#reading = undefined);
  }

  async #readNow(): Promise<void> {
    const known = [...this.#links.values()].map(({ node }) => node);
    const nodes = new Map([...this.#options.seeds, ...known].map((node) => [`${node.host}:${node.port}`, node]));
    const ask = async (node: Node) => {
      const ranges = readSlots(await this.#linkTo(node).send(["CLUSTER", "SLOTS"]), node);
      if (ranges.length === 0) throw new Error("The cluster has no slots yet");
      return ranges;
    };
    try {
      this.#ranges = await Promise.any([...nodes.values()].map(ask));
    } catch (error) {
      throw error instanceof AggregateError ? error.errors.at(-1) : error;
    }
    this.#closeUnused([...this.#options.seeds, ...this.#ranges.map(({ primary }) => primary)]);
  }

  /** Nodes that are gone for good must not be tried for ever. */
  #closeUnused(used: readonly Node[]): void {
    const names = new Set(used.map(({ host, port }) => `${host}:${port}`));
    for (const [name, { link }] of this.#links) {
      if (names.has(name)) continue;
      this.#links.delete(name);
      link.close();
    }
  }
}

/** The error that names the node to which a slot has moved, or is moving. */
const REDIRECT = /^(MOVED|ASK) \d+ (.*):(\d+)$/;
/** Errors that soon end by themselves. */
const IN_BETWEEN = /^(TRYAGAIN|CLUSTERDOWN)\b/;

/** Whether a node refused the command itself, which says nothing about the cluster. */
function isOfCommand(message: string): boolean {
  return /^[A-Z]+ /.test(message) && !/^(MOVED|CLUSTERDOWN|READONLY|MASTERDOWN|LOADING)\b/.test(message);
}

const SLOTS = 16_384;

/** The part of a key that decides its slot: the text in its first braces, or else the whole key. */
function tagOf(key: string): string {
  const from = key.indexOf("{");
  const to = from < 0 ? -1 : key.indexOf("}", from + 1);
  return to > from + 1 ? key.slice(from + 1, to) : key;
}

const POLYNOMIAL = 0x1021;
const TABLE = Uint16Array.from({ length: 256 }, (_, byte) => {
  let crc = byte << 8;
  for (let bit = 0; bit < 8; bit++) crc = crc & 0x8000 ? (crc << 1) ^ POLYNOMIAL : crc << 1;
  return crc;
});

/** The slot of a key, by CRC-16/XMODEM. */
export function slotOf(key: string): number {
  let crc = 0;
  for (const byte of new TextEncoder().encode(tagOf(key))) crc = (crc << 8 ^ TABLE[(crc >> 8 ^ byte) & 0xff]!) & 0xffff;
  return crc % SLOTS;
}

interface Node {
  host: string;
  port: number;
}

/** A range of slots, and the node that has it. */
interface SlotRange {
  from: number;
  to: number;
  primary: Node;
}

/** Reads the reply of the node `asked` to `CLUSTER SLOTS`. A node that does not know its own name leaves it out. */
export function readSlots(reply: unknown, asked: Node): SlotRange[] {
  return (reply as [unknown, unknown, [unknown, unknown]][]).map(([from, to, [host, port]]) => ({
    from: Number(from),
    to: Number(to),
    primary: { host: String(host ?? "") || asked.host, port: Number(port) },
  }));
}
