/**
 * Runs code for the gateway, as a process of its own. It starts a process for each container, and is the only one that may: the gateway
 * itself starts none.
 */
import type { AddressInfo } from "node:net";
import process from "node:process";
import { parseArgs } from "node:util";
import { shown } from "../util/printable.ts";
import { Containers } from "./containers.ts";
import { createInterpreterServer } from "./server.ts";
import { spawnContainer } from "./spawn.ts";

const LEAST_TOKEN = 16;
/** The most that a request holds beside its files, in bytes. */
const BESIDE_FILES = 4 * 2 ** 20;

async function main(args: string[]): Promise<void> {
  const { values } = parseArgs({
    args,
    options: Object.fromEntries(
      ["port", "processes", "memory", "timeout", "idle", "output", "files"].map((
        name,
      ) => [name, { type: "string" as const }]),
    ),
  });
  const number = (name: string) => Number(values[name]);
  const token = process.env.LANEWAY_INTERPRETER_TOKEN ?? "";
  if (token.length < LEAST_TOKEN) {
    return fail(`Set LANEWAY_INTERPRETER_TOKEN to at least ${LEAST_TOKEN} characters`);
  }
  const limits = { memory: number("memory"), output: number("output"), fileBytes: number("files") };
  const spawn = await spawnContainer(limits);
  const containers = new Containers({
    ...limits,
    spawn,
    most: number("processes"),
    timeoutMs: number("timeout"),
    idleMs: number("idle"),
    now: Date.now,
  });
  const requestBytes = 2 * limits.fileBytes + BESIDE_FILES;
  const server = createInterpreterServer({ token, containers, requestBytes, say });
  server.once("error", (error) => fail(`Cannot listen: ${error.message}`));
  server.listen(number("port"), "127.0.0.1", () => {
    const { port } = server.address() as AddressInfo;
    process.stdout.on("error", () => {}).write(`Interpreter: http://127.0.0.1:${port}\n`);
  });
  const stop = () => {
    void containers.close();
    process.exit(0);
  };
  // A terminal sends its signals to the gateway, too, whose requests may still need it.
  process.on("SIGINT", () => {});
  process.on("SIGTERM", stop);
  process.stdin.on("end", stop).on("error", stop).resume();
}

function say(text: string): void {
  process.stderr.write(`${shown(text)}\n`);
}

function fail(message: string): void {
  say(message);
  process.exit(1);
}

if (navigator.userAgent.startsWith("Node.js")) await import("../platform/node_standards.ts");
await main(process.argv.slice(2));
