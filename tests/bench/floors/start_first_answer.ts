/**
 * Claim: of the time until Laneway's first answer, half goes by before any code of its own runs, in a passthrough that loads zod and
 * 400 modules of 4 kB; most of the rest loads its own modules. Idle, that passthrough has more than 60 MB already. In one file, made
 * of the modules that a start needs, Laneway takes two thirds of its time.
 * `deno run --allow-all` prints the least of a dozen starts of each.
 */
import { ENGINE } from "../../../src/config/permissions.ts";
import { BARE, type Gateway, laneway, startGateway, startUpstream } from "../gateways.ts";
import { treeResidentKb } from "../process_tree.ts";
import { stopPrograms } from "../program.ts";
import { sleep } from "../traffic.ts";

const [STARTS, MODULES, IDLE_MS] = [12, 400, 1_500];
const folder = await Deno.makeTempDir();
const line = (_: unknown, at: number) => `export const f${at} = (x: number, y: string): string => y + (x * ${at});\n`;
const content = Array.from({ length: 60 }, line).join("");
const bench = new URL("../", import.meta.url);
const passthrough = `import "${new URL("passthrough.ts", bench)}";\n`;

/** The passthrough with some modules before it. With other options of the engine its compiled code would not be Laneway's. */
async function withModules(name: string, imports: string, count: number): Promise<Gateway> {
  for (let at = 0; at < count; at++) await Deno.writeTextFile(`${folder}/m${at}.ts`, content);
  const more = Array.from({ length: count }, (_, at) => `import "./m${at}.ts";\n`).join("");
  const file = `${folder}/${name.replaceAll(/\W/g, "_")}.ts`;
  await Deno.writeTextFile(file, imports + more + passthrough);
  const config = new URL("../../deno.json", bench).pathname;
  const args = ["run", "--allow-all", "--no-lock", "--quiet", "--config", config, ENGINE, file];
  return {
    ...BARE,
    name,
    program: (upstream, port) => Promise.resolve({ command: Deno.execPath(), args: [...args, upstream, String(port)] }),
  };
}

/** What is loaded later stays in files of its own, as it is without a bundle. */
async function inOneFile(): Promise<Gateway> {
  const config = new URL("../../deno.json", bench).pathname;
  const out = `${folder}/bundle`;
  const source = new URL("../../src/main.ts", bench).pathname;
  const args = ["bundle", "--quiet", "--config", config, "--code-splitting", "--minify", "--outdir", out, source];
  const { success, stderr } = await new Deno.Command(Deno.execPath(), { args }).output();
  if (!success) throw new Error(`No bundle: ${new TextDecoder().decode(stderr)}`);
  const gateway = laneway("Laneway in one file", {}, "main.ts");
  return {
    ...gateway,
    async program(...place) {
      const { args, ...rest } = await gateway.program(...place);
      return { ...rest, args: args.map((arg) => arg.endsWith("/src/main.ts") ? `${out}/main.js` : arg) };
    },
  };
}

const { origin } = await startUpstream();
const gateways = [
  await withModules("passthrough", "", 0),
  await withModules("with zod", 'import "zod";\n', 0),
  await withModules("with zod and modules", 'import "zod";\n', MODULES),
  await withModules("with Laneway's modules", `import "${new URL("../../src/cli/run.ts", bench)}";\n`, 0),
  laneway("Laneway", {}, "main.ts"),
  await inOneFile(),
];
const least = new Map<Gateway, number>();
for (let start = 0; start < STARTS; start++) {
  for (const gateway of gateways) {
    const server = await startGateway(gateway, origin);
    least.set(gateway, Math.min(least.get(gateway) ?? Infinity, server.startMs));
    await server.stop();
  }
}
for (const [gateway, ms] of least) {
  const server = await startGateway(gateway, origin);
  await sleep(IDLE_MS);
  const mb = treeResidentKb(server.pid) / 1_024;
  await server.stop();
  const text = `${gateway.name}: ${ms.toFixed(0)} ms to the first answer, ${mb.toFixed(0)} MB idle\n`;
  Deno.stdout.writeSync(new TextEncoder().encode(text));
}
await stopPrograms();
await Deno.remove(folder, { recursive: true });
