// deno-lint-ignore-file no-console -- an experiment prints its numbers
/** Claim: the first module of Node's takes a warm Deno 15 ms to load, and all that the gateway uses 20. `deno run -A` prints it. */
const CASES = {
  "nothing": [],
  "node:path": ["path"],
  "node:crypto": ["crypto"],
  "node:fs": ["fs"],
  "all": ["crypto", "fs", "fs/promises", "os", "path", "timers", "util", "v8", "vm", "zlib"],
};
const start = async (names: readonly string[]) => {
  const program = names.map((name) => `import "node:${name}";`).join("") + "console.log(performance.now())";
  const { stdout } = await new Deno.Command(Deno.execPath(), { args: ["eval", program] }).output();
  return Number(new TextDecoder().decode(stdout));
};
const least: Record<string, number> = {};
for (let round = 0; round < 12; round++) {
  for (const [name, names] of Object.entries(CASES)) {
    least[name] = Math.min(least[name] ?? Infinity, await start(names));
  }
}
for (const [name, ms] of Object.entries(least)) {
  console.log(`${name.padEnd(12)} ${ms.toFixed(1)} ms until the program runs`);
}
