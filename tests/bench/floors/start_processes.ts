// deno-lint-ignore-file no-console -- an experiment prints its numbers
/** Claim: `deno task` and a launcher that imports nothing cost what Deno's own start does, twice. `deno run -A` prints it. */
const folder = await Deno.makeTempDir();
await Deno.writeTextFile(`${folder}/empty.ts`, "");
const spawn = 'await new Deno.Command(Deno.execPath(), { args: ["run", "--no-config", "empty.ts"] }).spawn().status;';
await Deno.writeTextFile(`${folder}/launch.ts`, spawn);
await Deno.writeTextFile(`${folder}/deno.json`, '{ "tasks": { "start": "deno run --allow-run launch.ts" } }');
const CASES = {
  "deno --version": ["--version"],
  "deno run": ["run", "--no-config", "empty.ts"],
  "a launcher, deno run": ["run", "--no-config", "--allow-run", "launch.ts"],
  "deno task, a launcher, deno run": ["task", "start"],
};
const least: Record<string, number> = {};
for (let round = 0; round < 12; round++) {
  for (const [name, args] of Object.entries(CASES)) {
    const began = performance.now();
    await new Deno.Command(Deno.execPath(), { args, cwd: folder, stdout: "null", stderr: "null" }).spawn().status;
    least[name] = Math.min(least[name] ?? Infinity, performance.now() - began);
  }
}
for (const [name, ms] of Object.entries(least)) console.log(`${name.padEnd(32)} ${ms.toFixed(1)} ms`);
await Deno.remove(folder, { recursive: true });
