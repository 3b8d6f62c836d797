/** Runs the test files that it is named, in one process of Node. The last line sums up. */
import { beginFile, runAll, running, uncaught } from "./tests.ts";

// A process that waits for nothing but a timer that keeps nothing alive would end.
const waiting = setInterval(() => {}, 1_000);

for (const event of ["uncaughtException", "unhandledRejection"]) {
  process.on(event, (thrown) => isOfGivenUpForm(thrown) || uncaught.push(thrown));
}

// deno-lint-ignore no-console -- this is a command line
const print = console.log;

process.on("exit", () => running && print(`${running} ... FAILED\nThe process ended in the middle of it`));
// Whoever ends it learns where it hangs.
process.on("SIGTERM", () => process.exit(1));

const { passed, failed, ignored } = await run(process.argv.slice(2));
clearInterval(waiting);
print(`${failed === 0 ? "ok" : "FAILED"} | ${passed} passed | ${failed} failed | ${ignored} ignored`);
process.exit(failed === 0 ? 0 : 1);

/**
 * Node's `Request` throws this, past everybody, at any time after a form that it sends was given up. A gateway logs it, and goes on.
 */
function isOfGivenUpForm(thrown: unknown): boolean {
  const { code, stack } = thrown as { code?: string; stack?: string };
  return code === "ERR_INVALID_STATE" && /ReadableStream is already closed[^]*deps\/undici/.test(stack ?? "");
}

async function run(files: string[]) {
  let unloaded = 0;
  for (const file of files) {
    beginFile(file);
    try {
      await import(new URL(`../../${file}`, import.meta.url).href);
    } catch (thrown) {
      unloaded++;
      print(`${file} ... FAILED\n${(thrown as Error).stack}`);
    }
  }
  const outcome = await runAll(print);
  return { ...outcome, failed: outcome.failed + unloaded };
}
