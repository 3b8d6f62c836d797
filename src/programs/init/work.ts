/** Plans and writes a configuration for a folder: what the pure plan says, checked as the gateway itself checks it. */
import embedded from "../../../gateway.default.json" with { type: "json" };
import { likelyTask, serverKinds } from "../../../plugins/programs/probing/mod.ts";
import { builtIn, pluginFacts } from "../../app.ts";
import { ConfigError, loadConfig } from "../../config/load.ts";
import { PLACEHOLDER_SECRET } from "../../config/secrets.ts";
import { maskText } from "../../config/mask_text.ts";
import { digestOf } from "../../util/digest.ts";
import { runUnsliced } from "../../util/sliced_work.ts";
import type { Dialog } from "../dialog/dialog.ts";
import type { Program } from "../program.ts";
import type { Answers, Plan, Written } from "./answers.ts";
import type { Facts } from "./standing.ts";
import { FileError, formerPath, OutdatedError, readText, versionOf, whyFixed, writeFiles } from "./files.ts";
import { planFiles, type PlannedText, type Problem } from "./plan.ts";

export interface Place {
  /** The configuration's file, as the user names it. */
  path: string;
  program: Pick<Program, "platform" | "plugins">;
}

/** The user's terminal, and the places to search. */
export interface World {
  /** Reads all of standard input. */
  readAll(): string;
  /** Asks the user. Absent without a terminal. */
  ask(question: string): string | undefined;
  /** Asks the questions. By default chosen by the terminal. */
  dialog?: Dialog;
  /** The base URLs of servers to look for. By default the usual ones. */
  addresses?: readonly string[];
}

export function placeOf(config: string | undefined, program: Place["program"]): Place {
  return { path: config ?? (program.platform.env("LANEWAY_CONFIG") || "gateway.json"), program };
}

export function factsFor({ program: { platform, plugins } }: Place): Facts {
  const { providers } = { ...builtIn, ...plugins };
  const { drivers } = pluginFacts(plugins);
  const isSet = (name: string) => Boolean(platform.env(name));
  return { providers, kinds: serverKinds, builtIn: embedded, drivers, likelyTask, isSet };
}

type Outcome = { files: PlannedText[]; version: string } | { problems: Problem[] };

/** Throws `FileError`. */
function planned(answers: Answers, place: Place): Outcome {
  const { path } = place;
  const text = presentText(path);
  const wrong = standingProblems(place);
  if (wrong.length > 0) return { problems: wrong };
  if (answers.undo !== undefined) return undone(answers.undo, place);
  const plan = planFiles(answers, { path, text }, factsFor(place));
  if ("problems" in plan) return plan;
  const problems = problemsOf(plan.files.at(-1)!.text, place);
  return problems.length > 0 ? { problems } : { ...plan, version: versionOf(plan.files) };
}

/** The file as it was before the last change, if nobody else has changed it since. Throws `FileError`. */
function undone(stamp: string, place: Place): Outcome {
  const { path } = place;
  const text = readText(path);
  if (text === undefined || digestOf(text) !== stamp) return { problems: [{ path: "", message: CHANGED_SINCE }] };
  const former = readText(formerPath(path));
  if (former === undefined) return { problems: [{ path: "", message: "The former text is not kept any more" }] };
  const problems = problemsOf(former, place);
  const files = [{ path, text: former, isSecret: false }];
  return problems.length > 0 ? { problems } : { files, version: versionOf(files) };
}

const CHANGED_SINCE = "Somebody has changed the file since, so that the change cannot be taken back as a whole";

/** The mistakes in the file that is there. Throws `FileError`. */
export function standingProblems(place: Place): Problem[] {
  const text = presentText(place.path);
  const problems = text === undefined ? [] : problemsOf(text, place);
  return problems.map(({ path, message }) => ({ path, message: `The file that is there is not valid: ${message}` }));
}

/** A file without anything in it counts as absent. */
export function presentText(path: string): string | undefined {
  const text = readText(path);
  return text?.replace(/^\ufeff/, "").trim() === "" ? undefined : text;
}

/** The problems that the gateway would report. Variables may be set where it will run. */
function problemsOf(text: string, { path, program: { platform, plugins } }: Place): Problem[] {
  const env = (name: string) => name === "LANEWAY_CONFIG" ? undefined : platform.env(name) || PLACEHOLDER_SECRET;
  try {
    loadConfig({ path, readText: () => text, ...pluginFacts(plugins), env });
    return [];
  } catch (error) {
    if (error instanceof ConfigError) return [...error.problems];
    throw error;
  }
}

export function plan(answers: Answers, place: Place): Plan {
  try {
    const outcome = planned(answers, place);
    if ("problems" in outcome) return { ok: false, problems: outcome.problems };
    const changed = changedOf(outcome.files);
    const fixed = whyFixed(changed);
    if (fixed !== undefined) return { ok: false, problems: [{ path: "", message: fixed }] };
    const files = changed.map(({ path, text, isSecret }) => {
      const before = readText(path);
      const show = (text: string) => isSecret ? "…\n" : runUnsliced(maskText(text, () => false)).text;
      return { path, text: show(text), ...before !== undefined && { before: show(before) }, isSecret };
    });
    return { ok: true, files, version: outcome.version };
  } catch (error) {
    if (error instanceof FileError) return { ok: false, problems: [{ path: "", message: error.message }] };
    throw error;
  }
}

function changedOf(files: readonly PlannedText[]): PlannedText[] {
  return files.filter(({ path, text }) => readText(path) !== text);
}

/** `version`: that of the plan that the user has seen. */
export function write(answers: Answers, version: string, place: Place): Written {
  try {
    const outcome = planned(answers, place);
    if ("problems" in outcome) {
      const lines = outcome.problems.map(({ path, message }) => path === "" ? message : `${path}: ${message}`);
      return { ok: false, reason: lines.join("\n") };
    }
    const changed = changedOf(outcome.files);
    const isEdit = answers.edits !== undefined || answers.undo !== undefined;
    const keepsFormer = isEdit && readText(place.path) !== undefined;
    if (changed.length > 0) writeFiles(outcome.files, version, { keepsFormer });
    const stamp = keepsFormer ? { stamp: digestOf(outcome.files.at(-1)!.text) } : {};
    return { ok: true, files: changed.map(({ path }) => path), ...stamp };
  } catch (error) {
    if (error instanceof OutdatedError) return { ok: false, reason: error.message, isOutdated: true };
    if (error instanceof FileError) return { ok: false, reason: error.message };
    throw error;
  }
}
