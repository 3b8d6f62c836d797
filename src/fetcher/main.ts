/**
 * Fetches pages for the gateway, as a process of its own. Only this process may connect to any host, and the only secret that
 * it knows is the gateway's token.
 */
import type { AddressInfo } from "node:net";
import process from "node:process";
import { parseArgs } from "node:util";
import { endWithGateway, fail, requiredToken, say } from "../platform/beside.ts";
import { nodeTransport } from "../platform/node_transport.ts";
import { isPublicAddress, publicLookup } from "../platform/public_address.ts";
import { PageFetcher } from "./page_fetcher.ts";
import { Documents } from "./documents.ts";
import { DocumentReader, Reader } from "./reader.ts";
import { createFetcherServer } from "./server.ts";

/** How long pages may still be fetched once the process has to stop, in milliseconds. */
const STOP_MS = 10_000;
/** How long they may if a thread works that cannot be ended, and if that thread also holds too much memory. */
const [SPOILED_MS, FULL_MS] = [3_000, 200];
/** The exit code by which the process asks to be restarted. */
const ANEW = 75;

function main(args: string[]): void {
  const { values: { hostname, port, allow, "ignore-robots": ignoresRobots, held, documents } } = parseArgs({
    args,
    options: {
      hostname: { type: "string", default: "127.0.0.1" },
      port: { type: "string", default: "0" },
      allow: { type: "string", multiple: true, default: [] },
      "ignore-robots": { type: "boolean", default: false },
      // The process ends with its standard input, because the gateway that started it is gone then.
      held: { type: "boolean", default: false },
      // Whether documents are read, too, for which further packages were downloaded.
      documents: { type: "boolean", default: false },
    },
  });
  const token = requiredToken("LANEWAY_FETCHER_TOKEN");
  const spoiled = (holdsMuch: boolean) => stop(ANEW, holdsMuch ? FULL_MS : SPOILED_MS);
  const converter = documents ? new Documents(new DocumentReader(spoiled)) : undefined;
  const fetcher = new PageFetcher({
    allow,
    obeysRobots: !ignoresRobots,
    outside: nodeTransport({ lookup: publicLookup(), mayReach: isPublicAddress }),
    inside: nodeTransport(),
    reader: new Reader(spoiled),
    now: Date.now,
  });
  const server = createFetcherServer({
    token,
    fetch: (...asked) => fetcher.fetch(...asked),
    convert: converter && ((...asked) => converter.convert(...asked)),
    say,
  });
  server.once("error", (error) => fail(`Cannot listen on ${hostname} port ${port}: ${error.message}`));
  server.listen(Number(port), hostname, () => {
    const { address, port } = server.address() as AddressInfo;
    process.stdout.on("error", () => {}).write(
      `Fetcher: http://${address.includes(":") ? `[${address}]` : address}:${port}\n`,
    );
  });
  const stop = (code: number, ms: number) => {
    if (server.listening) server.close(() => process.exit(code));
    setTimeout(() => process.exit(code), ms).unref();
  };
  if (held) {
    endWithGateway(() => stop(0, STOP_MS), () => process.exit(0));
  } else {
    process.on("SIGINT", () => stop(0, STOP_MS));
    process.on("SIGTERM", () => stop(0, STOP_MS));
  }
}

if (navigator.userAgent.startsWith("Node.js")) await import("../platform/node_standards.ts");
main(process.argv.slice(2));
