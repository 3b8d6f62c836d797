/** Reading the body of a `fetch`, chunk by chunk: the default reader, a reader with a buffer, and handing it on unread. */
import process from "node:process";
import { startUpstream } from "../gateways.ts";
import { stopPrograms } from "../program.ts";

const CHUNKS = 3_000;
const { origin } = await startUpstream();
const body = JSON.stringify({ stream: true, messages: [{ role: "user", content: `chunks=${CHUNKS}` }] });
const ask = async () => (await fetch(`${origin}/v1/chat/completions`, { method: "POST", body })).body!;

const READERS: Record<string, () => Promise<void>> = {
  "default reader": async () => {
    const reader = (await ask()).getReader();
    while (!(await reader.read()).done);
  },
  "reader with a buffer (BYOB)": async () => {
    const reader = (await ask()).getReader({ mode: "byob" });
    let buffer = new Uint8Array(16_384);
    for (;;) {
      const { done, value } = await reader.read(buffer);
      if (done) return;
      buffer = new Uint8Array(value!.buffer);
    }
  },
  "natively, all at once": async () => void await new Response(await ask()).bytes(),
};

for (const [name, read] of Object.entries(READERS)) {
  let least = Infinity;
  for (let time = 0; time < 6; time++) {
    const before = process.cpuUsage();
    await read();
    const { user, system } = process.cpuUsage(before);
    least = Math.min(least, (user + system) / CHUNKS);
  }
  Deno.stdout.writeSync(new TextEncoder().encode(`${name}: ${least.toFixed(1)} µs of CPU a chunk\n`));
}
await stopPrograms();
