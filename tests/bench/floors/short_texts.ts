/**
 * `deno run tests/bench/floors/short_texts.ts`: what a look at the clock costs, and to encode the text of a chunk: into memory of its
 * own, and into memory that is there already. The least of several rounds.
 */
const ROUNDS = 5;
const RUNS = 300_000;
const encoder = new TextEncoder();
const memory = new Uint8Array(4_096);
const BEGINNING =
  'event: content_block_delta\ndata: {"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"';
let run = 0;
// A text that is made anew each time, as those of a stream are.
const text = () => `${BEGINNING}${run++ % 100}"}}\n\n`;

const WORKS: Record<string, () => unknown> = {
  "to make the text": () => text().length,
  "to look at the clock": () => performance.now(),
  "to encode the text into memory of its own": () => encoder.encode(text()),
  "to encode the text into memory that is there": () =>
    encoder.encodeInto(text(), memory.subarray(run % 2_048)).written,
};

const least: Record<string, number> = {};
for (let round = 0; round < ROUNDS; round++) {
  for (const [name, work] of Object.entries(WORKS)) {
    const began = performance.now();
    for (let at = 0; at < RUNS; at++) work();
    least[name] = Math.min(least[name] ?? Infinity, (performance.now() - began) * 1_000 / RUNS);
  }
}
for (const [name, us] of Object.entries(least)) {
  Deno.stdout.writeSync(encoder.encode(`${name}: ${us.toFixed(3)} µs\n`));
}
