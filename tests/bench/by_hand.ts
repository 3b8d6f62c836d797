/**
 * What the floors have in place of a gateway: a server written by hand, with the safeguards that no gateway can leave out and no
 * form between the wires.
 */
import { Agent, request as requestByNode } from "node:http";
import { TextBody } from "../../src/platform/fetch_transport.ts";
import { Connection } from "./client.ts";
import { treeCpuUs } from "./process_tree.ts";

const [CONNECTIONS, REQUESTS, ROUNDS, WARM_ROUNDS] = [32, 3_200, 7, 3];
const [BODY_MS, ANSWER_MS, PRINT_MS] = [30_000, 60_000, 20];
export const JSON_TYPE = { "content-type": "application/json" };

/** Sends a text and reads the answer. */
export type Post = (url: string, body: string, signal?: AbortSignal) => Promise<string>;
type Hand = (text: string, post: (text: string) => Promise<string>) => Promise<string>;

async function postByFetch(url: string, body: string, signal?: AbortSignal): Promise<string> {
  return await (await fetch(url, { method: "POST", headers: JSON_TYPE, body: new TextBody(body), signal })).text();
}

const agent = new Agent({ keepAlive: true });

function postByNode(url: string, body: string, signal?: AbortSignal): Promise<string> {
  const { promise, resolve, reject } = Promise.withResolvers<string>();
  const headers = { ...JSON_TYPE, "content-length": Buffer.byteLength(body) };
  const outgoing = requestByNode(url, { agent, method: "POST", headers, signal }, (incoming) => {
    let text = "";
    incoming.setEncoding("utf8").on("data", (piece: string) => text += piece).on("end", () => resolve(text));
  });
  outgoing.on("error", reject).end(body);
  return promise;
}

export const POSTS: Record<string, Post> = { fetch: postByFetch, node: postByNode };

/** `path`: what the upstream is asked. */
export function serve(upstream: string, post: Post, path: string, hand: Hand): void {
  Deno.serve({ hostname: "127.0.0.1", port: 0 }, async (request) => {
    if (new URL(request.url).pathname === "/healthz") return new Response("ok");
    return new Response(await hand(await request.text(), (text) => post(upstream + path, text)), {
      headers: JSON_TYPE,
    });
  });
}

const LOOKED_AT = ["host", "origin", "authorization", "x-api-key", "content-length", "content-encoding", "upgrade"];
const OWN = ["x-request-id", "request-id", "x-content-type-options", "x-target", "x-tokens"];

/** It hears of a client that leaves, limits the time of both bodies, looks into the headers, has its own and writes a line. */
export function serveGuarded(upstream: string, post: Post, path: string, hand: Hand): void {
  const lines: string[] = [];
  const print = () => void Deno.stdout.write(new TextEncoder().encode(lines.splice(0).join("")));
  Deno.serve({ hostname: "127.0.0.1", port: 0 }, async (request) => {
    const { pathname } = new URL(request.url);
    if (pathname === "/healthz") return new Response("ok");
    const began = performance.now();
    const over = new AbortController();
    request.signal.addEventListener("abort", () => over.abort(), { once: true });
    const found = LOOKED_AT.filter((name) => request.headers.has(name));
    const late = setTimeout(() => over.abort(), BODY_MS);
    const text = new TextDecoder().decode(await request.bytes());
    clearTimeout(late);
    const silent = setTimeout(() => over.abort(), ANSWER_MS);
    const answer = new Response(await hand(text, (text) => post(upstream + path, text, over.signal)), {
      headers: JSON_TYPE,
    });
    clearTimeout(silent);
    for (const name of OWN) answer.headers.set(name, "a0b1c2d3e4f5");
    const entry = { time: new Date(), id: crypto.randomUUID(), pathname, found, ms: performance.now() - began };
    if (lines.push(`${JSON.stringify(entry)}\n`) === 1) setTimeout(print, PRINT_MS);
    return answer;
  });
}

/** Prints the least processor time of a request to each server, and how many times that of the first it is. */
export async function printCosts(servers: Record<string, { pid: number; request: Uint8Array; origin: string }>) {
  const least: Record<string, number> = {};
  for (let round = -WARM_ROUNDS; round < ROUNDS; round++) {
    for (const [name, server] of Object.entries(servers)) {
      const us = await costOf(server);
      if (round >= 0) least[name] = Math.min(least[name] ?? Infinity, us);
    }
  }
  const base = Object.values(least)[0]!;
  const lines = Object.entries(least).map(([name, us]) =>
    `${name}: ${us.toFixed(0)} µs a request, ${(us / base).toFixed(2)} ×\n`
  );
  Deno.stdout.writeSync(new TextEncoder().encode(lines.join("")));
}

/** The processor time of one of many requests, on so many connections, in microseconds. */
export async function costOf(
  { origin, pid, request }: { origin: string; pid: number; request: Uint8Array },
  count = CONNECTIONS,
): Promise<number> {
  const connections = await Promise.all(Array.from({ length: count }, () => Connection.open(origin)));
  const before = treeCpuUs(pid);
  await Promise.all(connections.map(async (connection) => {
    for (let sent = 0; sent < REQUESTS / count; sent++) await connection.ask(request);
  }));
  const spent = treeCpuUs(pid) - before;
  for (const connection of connections) connection.close();
  return spent / REQUESTS;
}
