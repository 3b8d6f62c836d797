/**
 * Claim: a server that only reads a streamed answer by `fetch` and writes it by `Deno.serve` takes more CPU, delay and memory
 * through JavaScript than natively. That is the floor of every gateway that looks into streams; Laneway stands beside them. With
 * 65 small functions for each read, which take 5 µs in a loop, 200 chunks at once take more than 3.5 times what bare takes, and a
 * paced chunk more than 1.2 times what it takes without them. The memory is resident: what the warm-up left free is used first
 * and not counted, so one that frees much there shows too little.
 */
import { measureMemory, MEMORY_FIGURES } from "../fresh.ts";
import { BARE, type Gateway, laneway, startGateway, startUpstream, type Subject } from "../gateways.ts";
import { stopPrograms } from "../program.ts";
import { type Figure, formatTable, Results, rotate } from "../table.ts";
import { MEASURES, QUICK, warmUp } from "../traffic.ts";

const [ROUNDS, FUNCTIONS] = [3, 65];

function pump(name: string, functions: number): Gateway {
  return {
    ...BARE,
    name,
    async program(...where) {
      const { command, args } = await BARE.program(...where);
      return { command, args: [...args.map((arg) => arg.replace(/passthrough\.ts$/, "pump.ts")), String(functions)] };
    },
  };
}

const GATEWAYS = [
  { ...BARE, name: "natively" },
  pump("through JavaScript", 0),
  pump("with small functions", FUNCTIONS),
  laneway(),
];
const measures = MEASURES.filter(({ name }) => ["chunks-at-once", "chunks-paced", "streams-500"].includes(name));

const { origin } = await startUpstream();
const results = new Results();
const subjects: Subject[] = [];
for (const gateway of GATEWAYS) {
  const subject = { name: gateway.name, gateway, wire: "chat" as const, server: await startGateway(gateway, origin) };
  await warmUp(subject);
  subjects.push(subject);
}
for (let round = 0; round < ROUNDS; round++) {
  for (const measure of measures) {
    for (const subject of rotate(subjects, round)) results.record(subject.name, await measure.take(subject, QUICK));
  }
}
for (const { server } of subjects) await server.stop();
for (const gateway of GATEWAYS) results.record(gateway.name, await measureMemory(gateway, "chat", origin, true));

const figures: Record<string, Figure> = Object.assign({}, ...measures.map((one) => one.figures), MEMORY_FIGURES);
// deno-lint-ignore no-console -- the report
console.log(formatTable(figures, GATEWAYS.map(({ name }) => name), results));
await stopPrograms();
Deno.exit();
