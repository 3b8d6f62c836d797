/** The way to a cluster: a link to each of its nodes, so that one that fails costs no more than what lies on it. */
import type { Link } from "./link.ts";
import { REPLY_MS } from "./link.ts";
import type { Script } from "./scripts.ts";
import type { Command } from "./wire.ts";

export interface ClusterOptions {
  /** Nodes that are asked first what the others are. */
  seeds: readonly Node[];
  open(node: Node): Link;
}

/** How often a command goes on to another node. */
const MOST_REDIRECTS = 4;
/** How long the parts of a cluster are not asked for again, in milliseconds. */
const REST_MS = 250;
/** How long a part that has no node, or moves, is waited for before a command is tried again, in milliseconds. */
const RETRY_MS = 50;

/** `send` takes commands whose first argument is a key; all keys of one command lie on one node. */
export function createClusterLink(options: ClusterOptions): Link {
  return new ClusterLink(options);
}

/** Asks one node. */
type Ask = (link: Link, isAsking: boolean) => Promise<unknown>;

class ClusterLink implements Link {
  readonly #options: ClusterOptions;
  readonly #links = new Map<string, { node: Node; link: Link }>();
  #stretches: readonly Stretch[] = [];
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
        // What is allowed next is one command, which has to be known.
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
    if (this.#stretches.length === 0) await this.#read(true);
    const stretch = this.#stretches.find(({ from, to }) => slot >= from && slot <= to);
    if (stretch) return this.#linkTo(stretch.primary);
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

  /** Asks the nodes that are known which of them has what. One time at once, and not again right after unless it `isFirst`. */
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
      const stretches = readSlots(await this.#linkTo(node).send(["CLUSTER", "SLOTS"]), node);
      if (stretches.length === 0) throw new Error("The cluster has no slots yet");
      return stretches;
    };
    try {
      this.#stretches = await Promise.any([...nodes.values()].map(ask));
    } catch (error) {
      throw error instanceof AggregateError ? error.errors.at(-1) : error;
    }
    this.#closeUnused([...this.#options.seeds, ...this.#stretches.map(({ primary }) => primary)]);
  }

  /** Nodes that are gone for good are not to be tried for ever. */
  #closeUnused(used: readonly Node[]): void {
    const names = new Set(used.map(({ host, port }) => `${host}:${port}`));
    for (const [name, { link }] of this.#links) {
      if (names.has(name)) continue;
      this.#links.delete(name);
      link.close();
    }
  }
}

/** Where a part is now, or is on its way to. */
const REDIRECT = /^(MOVED|ASK) \d+ (.*):(\d+)$/;
/** What soon ends by itself. */
const IN_BETWEEN = /^(TRYAGAIN|CLUSTERDOWN)\b/;

/** Whether a node refused the command itself, which says nothing of the cluster. */
function isOfCommand(message: string): boolean {
  return /^[A-Z]+ /.test(message) && !/^(MOVED|CLUSTERDOWN|READONLY|MASTERDOWN|LOADING)\b/.test(message);
}

/** Which part of a cluster a key belongs to. */

const SLOTS = 16_384;

/** What of a key decides: what stands in its first braces, or else all of it. */
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

/** By CRC-16 in the form of XMODEM. */
export function slotOf(key: string): number {
  let crc = 0;
  for (const byte of new TextEncoder().encode(tagOf(key))) crc = (crc << 8 ^ TABLE[(crc >> 8 ^ byte) & 0xff]!) & 0xffff;
  return crc % SLOTS;
}

interface Node {
  host: string;
  port: number;
}

/** A stretch of slots, and who has it. */
interface Stretch {
  from: number;
  to: number;
  primary: Node;
}

/** What `CLUSTER SLOTS` replies, asked of `asked`: a node that knows no name of its own leaves it out. */
export function readSlots(reply: unknown, asked: Node): Stretch[] {
  return (reply as [unknown, unknown, [unknown, unknown]][]).map(([from, to, [host, port]]) => ({
    from: Number(from),
    to: Number(to),
    primary: { host: String(host ?? "") || asked.host, port: Number(port) },
  }));
}
