/**
 * Runs simulated worlds: `--seed=7` one of them with all that happens in it, `--keep=` with some of its parts; else
 * `--schedules=` from the seed `--from=` on, or for `--minutes=`, on as many cores as `--jobs=` says. Exits with 1 if a law broke.
 */
import { commandFor, type Finding, search, type Tally } from "./search.ts";
import { only, partsOf, scheduleFor } from "./schedule.ts";
import { simulate } from "./world.ts";

const options = new Map(Deno.args.map((arg) => /^--([a-z]+)=(.*)$/.exec(arg)?.slice(1) as [string, string]));
const numberOf = (name: string, otherwise: number) => Number(options.get(name) ?? otherwise);

function print(text: string): void {
  // deno-lint-ignore no-console -- this is a command line
  console.log(text);
}

const FINDING = "finding ";
const TALLY = "tally ";

if (options.has("seed")) Deno.exit(await replay());
else if (options.has("part")) await runPart();
else Deno.exit(await runAll());

/** Tells all of one world. */
async function replay(): Promise<number> {
  const whole = scheduleFor(numberOf("seed", 0));
  const keep = options.get("keep")?.split(",") ?? partsOf(whole);
  const { trace, violation } = await simulate(only(whole, new Set(keep)));
  for (const line of trace) print(line);
  print(
    violation
      ? `\n${violation.message}\n${violation.cause instanceof Error ? violation.cause.stack : ""}`
      : "\nAll laws hold",
  );
  return violation ? 1 : 0;
}

/** One process of several: its findings and its sum are lines for the first. */
async function runPart(): Promise<void> {
  const tally = await search({
    from: numberOf("from", 1),
    count: numberOf("schedules", Infinity),
    most: numberOf("most", Infinity),
    limitMs: numberOf("minutes", Infinity) * 60_000,
    onFinding: (finding) => print(FINDING + JSON.stringify(finding)),
  });
  print(TALLY + JSON.stringify(tally));
}

async function runAll(): Promise<number> {
  const jobs = numberOf("jobs", navigator.hardwareConcurrency);
  // A search for so many minutes begins where no other has.
  const isOpen = options.has("minutes") && !options.has("schedules");
  const from = numberOf("from", isOpen ? Math.floor(Date.now() / 1000) * 1_000 : 1);
  const each = options.has("schedules") ? Math.ceil(numberOf("schedules", 1) / jobs) : 1e7;
  print(`Seeds from ${from}`);
  const parts = await Promise.all(Array.from({ length: jobs }, (_, job) => runJob(from + job * each, each)));
  const sum = { schedules: 0, simulatedMs: 0, tookMs: 0, findings: 0 };
  for (const { schedules, simulatedMs, tookMs, findings } of parts) {
    sum.schedules += schedules;
    sum.simulatedMs += simulatedMs;
    sum.tookMs = Math.max(sum.tookMs, tookMs);
    sum.findings += findings.length;
  }
  const [perMinute, perSecond] = [sum.schedules / sum.tookMs * 60_000, sum.simulatedMs / sum.tookMs];
  print(
    `${sum.schedules} schedules in ${(sum.tookMs / 1000).toFixed(0)} s: ${perMinute.toFixed(0)} a minute, ` +
      `${perSecond.toFixed(0)} simulated seconds a second; ${sum.findings} broke a law`,
  );
  const isRight = sum.findings === 0 && sum.schedules > 0;
  print(`simulation | ${isRight ? 1 : 0} passed | ${isRight ? 0 : 1} failed`);
  return isRight ? 0 : 1;
}

async function runJob(from: number, schedules: number): Promise<Tally> {
  const limits = ["minutes", "most"].flatMap((name) => options.has(name) ? [`--${name}=${options.get(name)}`] : []);
  const child = new Deno.Command(Deno.execPath(), {
    args: [
      ...["run", "--quiet", "--no-check", "--config", "tests/deno.json", "--allow-all", import.meta.filename!],
      ...["--part=1", `--from=${from}`, `--schedules=${schedules}`, ...limits],
    ],
    stdout: "piped",
  }).spawn();
  let tally: Tally = { schedules: 0, findings: [], simulatedMs: 0, tookMs: 0 };
  let rest = "";
  for await (const text of child.stdout.pipeThrough(new TextDecoderStream())) {
    const lines = (rest + text).split("\n");
    rest = lines.pop()!;
    for (const line of lines) {
      if (line.startsWith(TALLY)) tally = JSON.parse(line.slice(TALLY.length));
      else if (line.startsWith(FINDING)) tell(JSON.parse(line.slice(FINDING.length)));
      else print(line);
    }
  }
  await child.status;
  return tally;
}

function tell(finding: Finding): void {
  print(`\n${finding.message}\n  again: ${commandFor(finding)}`);
}
