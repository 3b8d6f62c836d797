/**
 * Runs code for the gateway, as a process of its own. It starts a process for each container, and is the only one that may: the gateway
 * itself starts none.
 */
import type { AddressInfo } from "node:net";
import process from "node:process";
import { parseArgs } from "node:util";
import { endWithGateway, fail, requiredToken, say } from "../platform/beside.ts";
import { Containers } from "./containers.ts";
import { createInterpreterServer } from "./server.ts";
import { spawnContainer } from "./spawn.ts";

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
  const token = requiredToken("LANEWAY_INTERPRETER_TOKEN");
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
  endWithGateway(stop, stop);
}

if (navigator.userAgent.startsWith("Node.js")) await import("../platform/node_standards.ts");
await main(process.argv.slice(2));
