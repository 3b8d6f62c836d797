/**
 * Claim: a turn that goes on from 200 others cannot cost what the first one costs. Upstreams remember nothing, so all of the
 * conversation is read from the database, parsed, written again and sent, before the gateway does any work of its own. Prints the
 * least processor time of each.
 */
import process from "node:process";
import { FILE } from "../bodies.ts";

const turn = JSON.stringify({
  input: [{ role: "user", content: FILE.repeat(4) }],
  output: "la li lu le lo. ".repeat(60),
});
const folder = await Deno.makeTempDir();
const kv = await Deno.openKv(`${folder}/turns`);
const server = Deno.serve({ port: 0, hostname: "127.0.0.1", onListen() {} }, async (request) => {
  await request.body?.cancel();
  return new Response();
});
for (let at = 0; at < 200; at++) await kv.set(["turns", at], new TextEncoder().encode(turn));

async function least(run: () => unknown): Promise<string> {
  let least = Infinity;
  for (let time = 0; time < 40; time++) {
    const before = process.cpuUsage();
    await run();
    const { user, system } = process.cpuUsage(before);
    least = Math.min(least, user + system);
  }
  return `${(least / 1_000).toFixed(2)} ms`;
}

for (const depth of [1, 20, 200]) {
  const read = () =>
    Array.fromAsync(kv.list<Uint8Array>({ start: ["turns", 0], end: ["turns", depth] }, { batchSize: 500 }));
  const bytes = (await read()).map(({ value }) => value);
  const parse = () => bytes.map((one) => JSON.parse(new TextDecoder().decode(one)));
  const turns = parse();
  const body = new Blob([JSON.stringify(turns)]);
  const url = `http://127.0.0.1:${server.addr.port}/`;
  // deno-lint-ignore no-console -- the report
  console.log(
    `${depth} turns, ${(body.size / 1_000).toFixed(0)} kB: read ${await least(read)}, parse ${await least(
      parse,
    )}, write ${await least(
      () => JSON.stringify(turns),
    )}, send ${await least(async () => (await fetch(url, { method: "POST", body })).bytes())} (with its server's part)`,
  );
}
kv.close();
await Deno.remove(folder, { recursive: true });
Deno.exit();
