/** The command `init`: sets up where models come from, by questions, by options, or for the console's guide by JSON. */
import { z } from "zod";
import { TASKS } from "../../canonical/models.ts";
import { builtin } from "../../util/builtin.ts";
import { withProgress } from "../progress.ts";
import { type Program, UsageError } from "../program.ts";
import type { Answers, Source } from "./answers.ts";
import { asTested, checkSource } from "./check_source.ts";
import { find } from "./find.ts";
import { type Options, parseOptions, type Step } from "./options.ts";
import { afterwards, failure, nameOf, problemsIn, showFiles, unserved } from "./show.ts";
import { type Place, placeOf, plan, type World, write } from "./work.ts";

/** How long earlier output may take to be written, in milliseconds. */
const FLUSH_MS = 1_000;

/** Returns the exit code. Throws `UsageError`. */
export async function init(
  args: readonly string[],
  config: string | undefined,
  program: Program,
  world: World = terminal(program),
): Promise<number> {
  const { streams: { print } } = program;
  const options = parseOptions(args);
  const place = placeOf(options.config ?? config, program);
  if (options.step !== undefined) {
    const result = await perform(options.step, options, place, world);
    print(JSON.stringify(result));
    return "ok" in result && !result.ok ? 1 : 0;
  }
  if (options.sources.length + options.models.length > 0 || options.default !== undefined) {
    return await byOptions(options, place, program, world);
  }
  const { converse } = await import("./converse.ts");
  return await converse(place, program, world);
}

function terminal({ platform }: Program): World {
  return {
    readAll: () => builtin("node:fs").readFileSync(0, "utf8"),
    ask: (question) => platform.isTerminal("stdin") ? asked(question) : undefined,
  };
}

/** Asks in one line. Absent without an answer. */
function asked(question: string): string | undefined {
  // Node has no such function.
  if ("prompt" in globalThis) return prompt(question) ?? undefined;
  const { readSync, writeSync } = builtin("node:fs");
  writeSync(1, `${question} `);
  const buffer = new Uint8Array(4_096);
  return new TextDecoder().decode(buffer.subarray(0, readSync(0, buffer))).trim() || undefined;
}

async function perform(step: Step, { version = "", except }: Options, place: Place, { readAll, addresses }: World) {
  switch (step) {
    case "find":
      return await find(place.program.platform, addresses, except);
    case "check":
      return await checkSource(input(sourceSchema, readAll()), place);
    case "plan":
      return plan(input(answersSchema, readAll()), place);
    case "write":
      return write(input(answersSchema, readAll()), version, place);
  }
}

const text = z.string().max(4_000);
const edits = z.array(
  z.object({ at: z.array(z.union([text, z.int().min(0)])).min(1).max(50), value: z.json().optional() }),
).max(10_000);
const secrets = { secret: text.optional(), secretEnv: text.optional() };
const sourceSchema = z.discriminatedUnion("kind", [
  z.object({ kind: z.literal("hub"), ...secrets }),
  z.object({
    kind: z.literal("provider"),
    provider: text,
    name: text.optional(),
    baseUrl: text.optional(),
    ...secrets,
  }),
  z.object({ kind: z.literal("server"), baseUrl: text, title: text.optional(), name: text.optional(), ...secrets }),
  z.object({ kind: z.literal("sandbox") }),
  z.object({ kind: z.literal("upstream"), name: text, edits: edits.optional() }),
]);
const answersSchema = z.object({
  sources: z.array(sourceSchema).max(100),
  models: z.array(z.object({ name: text, upstream: text, model: text.min(1), task: z.enum(TASKS).optional() })).max(
    1_000,
  ),
  default: text.optional(),
  settings: z.record(text, z.json()).optional(),
  edits: edits.optional(),
  undo: text.optional(),
});

/** Throws `UsageError`, which does not repeat the input because it may hold a secret. */
function input<T>(schema: z.ZodType<T>, json: string): T {
  let value: unknown;
  try {
    value = JSON.parse(json);
  } catch {
    throw new UsageError("Standard input is no JSON");
  }
  const result = schema.safeParse(value, { jitless: true });
  if (result.success) return result.data;
  const [{ path }] = result.error.issues as [z.core.$ZodIssue];
  throw new UsageError(`Standard input has something else than expected at "${path.join(".")}"`);
}

async function byOptions(options: Options, place: Place, program: Program, world: World): Promise<number> {
  const { streams: { print, say } } = program;
  const sources = await checkedSources(options, place, program, world);
  if (!sources) return 1;
  const answers: Answers = { sources, models: options.models, default: options.default };
  const planned = plan(answers, place);
  if (!planned.ok) {
    if (options.json) print(JSON.stringify(planned));
    else say(problemsIn(planned));
    return 1;
  }
  const isDone = options.print || planned.files.length === 0;
  if (!options.json) print(showFiles(planned.files));
  else if (isDone) print(JSON.stringify(planned));
  for (const name of unserved(sources, planned.files)) {
    say(`Clients can use no model of ${name} until you add one, such as --model fast=${name}/<its name there>`);
  }
  return isDone ? 0 : await writeAgreed(answers, planned.version, { options, place, program, world });
}

interface Writing {
  options: Options;
  place: Place;
  program: Program;
  world: World;
}

/** Returns the exit code. */
async function writeAgreed(
  answers: Answers,
  version: string,
  { options, place, program, world }: Writing,
): Promise<number> {
  const { streams: { print, say, flush } } = program;
  // A question stops all else, and so the files have to be on the screen before.
  await flush(FLUSH_MS);
  if (!options.yes && !/^y(es)?$/i.test(world.ask("Write? [y/N]")?.trim() ?? "")) {
    say("Nothing was written. Add --yes to write without being asked");
    return 2;
  }
  const written = write(answers, version, place);
  if (options.json) print(JSON.stringify(written));
  else say(written.ok ? afterwards(written.files, place) : written.reason);
  return written.ok ? 0 : 1;
}

/** The sources as they were found to work. Absent if one of them does not. */
async function checkedSources(
  options: Options,
  place: Place,
  program: Program,
  { readAll }: World,
): Promise<Source[] | undefined> {
  const { streams: { print, say } } = program;
  const secret = options.readsSecret ? { secret: readAll().trim() } : {};
  const given = options.sources.map((source): Source => ({ ...source, ...secret }));
  if (!options.isChecked) return given;
  const sources: Source[] = [];
  for (const source of given) {
    const name = nameOf(source);
    const checked = await withProgress(program, `Testing ${name}`, () => checkSource(source, place));
    if (!checked.ok) {
      if (options.json) print(JSON.stringify(checked));
      else say(`${name}: ${failure(checked)}`);
      return undefined;
    }
    if (checked.remark !== undefined) say(`${name}: ${checked.remark}`);
    sources.push(asTested(source, checked));
  }
  return sources;
}
