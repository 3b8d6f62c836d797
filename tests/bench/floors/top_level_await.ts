/**
 * Claim: while the main module of a program waits at its top level, each chunk of a stream that came at once is sent by itself,
 * and a gateway takes a fifth more for it than one whose module has ended. So `run()` is not waited for.
 * `deno run --allow-all` prints the CPU of 200 chunks for both.
 */
import { Connection } from "../client.ts";
import { BARE, type Gateway, requestTo, startGateway, startUpstream } from "../gateways.ts";
import { treeCpuUs } from "../process_tree.ts";
import { stopPrograms } from "../program.ts";

const [ROUNDS, STREAMS] = [8, 100];

function pump(name: string, end: string): Gateway {
  return {
    ...BARE,
    name,
    async program(upstream, port, folder) {
      const { command, args } = await BARE.program(upstream, port, folder);
      const source = await Deno.readTextFile(new URL("../pump.ts", import.meta.url));
      await Deno.writeTextFile(`${folder}/pump.ts`, source + end);
      return { command, args: args.map((arg) => arg.endsWith("/passthrough.ts") ? `${folder}/pump.ts` : arg) };
    },
  };
}

const { origin } = await startUpstream();
const gateways = [pump("ended", ""), pump("waiting", "\nawait new Promise(() => {});\n")];
const subjects = await Promise.all(gateways.map(async ({ name, ...gateway }) => {
  const server = await startGateway({ name, ...gateway }, origin);
  const request = requestTo(BARE, "chat", server.origin, { bytes: 1_000, stream: "chunks=200" });
  return { name, server, request, least: Infinity };
}));
for (let round = 0; round < ROUNDS; round++) {
  for (const subject of subjects) {
    const connection = await Connection.open(subject.server.origin);
    const before = treeCpuUs(subject.server.pid);
    for (let stream = 0; stream < STREAMS; stream++) await connection.ask(subject.request);
    subject.least = Math.min(subject.least, (treeCpuUs(subject.server.pid) - before) / STREAMS);
    connection.close();
  }
}
await stopPrograms();
const lines = subjects.map(({ name, least }) => `its main module ${name}: ${(least / 1_000).toFixed(2)} ms of CPU\n`);
Deno.stdout.writeSync(new TextEncoder().encode(lines.join("")));
Deno.exit();
