/** Plans the files for the user's answers, from the text that is there. It is pure: it reads and writes nothing. */
import { asObject, isJsonObject, type JsonObject, type JsonValue } from "../../canonical/json.ts";
import { isPattern } from "../../canonical/models.ts";
import { hint } from "../../config/hint.ts";
import { mergeJson, withoutComments, withPresets } from "../../util/config_text.ts";
import { FormatError } from "../connect/formats/format.ts";
import type { Edit } from "../../context/console.ts";
import type { Answers, ChosenModel, Source } from "./answers.ts";
import { type Setting, withSetting } from "./document.ts";
import { withEdits } from "./edits.ts";
import { planSource } from "./entries.ts";
import { AnswerError, at, type Facts, type SourcePlan, type Standing } from "./standing.ts";

/** The lane that gets the models. */
const LANE = "oss";

export const START =
  `// The configuration of this gateway. "init" adds to it, and so may you: it takes comments and trailing commas.
// All settings: docs/configuration.md. To check it: validate. Secrets are in files beside this one.
{
  // The built-in models and upstreams. The rest of this file is added to them; null removes something.
  "extends": "default"
}
`;

/** Introduces a section of a new file. */
const SECTIONS: Readonly<Record<string, string>> = {
  upstreams: "Where models run",
  lanes: "What clients call: the lane oss is at /oss",
};

export interface PlannedText {
  path: string;
  text: string;
  isSecret: boolean;
}

export interface Problem {
  path: string;
  message: string;
}

export type Planned = { files: PlannedText[] } | { problems: Problem[] };

/** `text` is the text of a valid configuration. Absent if there is none. */
export function planFiles(answers: Answers, { path, text }: { path: string; text?: string }, facts: Facts): Planned {
  const problems: Problem[] = [];
  const plans: SourcePlan[] = [];
  let draft = bodyOf(text ?? START);
  const add = (settings: readonly Setting[]) => {
    for (const setting of settings) {
      if (text === undefined) draft = introduced(draft, setting);
      draft = withSetting(draft, setting);
    }
  };
  const attempt = (place: string, run: () => void) => {
    try {
      run();
    } catch (error) {
      if (error instanceof FormatError) problems.push({ path: "", message: `${path}: ${error.message}` });
      else if (error instanceof AnswerError) problems.push({ path: place + error.path, message: error.message });
      else throw error;
    }
  };
  answers.sources.forEach((source, index) =>
    attempt(`sources.${index}.`, () => {
      const plan = planSource(source, standing(draft, path, facts), facts);
      const earlier = plans.find(({ upstream }) => upstream === plan.upstream);
      if (earlier && source.kind !== "sandbox") {
        throw new AnswerError("name", `Two sources have the name "${plan.upstream}"`);
      }
      add(plan.settings);
      plans.push(plan);
    })
  );
  answers.models.forEach((model, index) =>
    attempt(`models.${index}.`, () => add(modelSettings(model, standing(draft, path, facts), facts)))
  );
  attempt("", () => add(furtherSettings(answers.settings, standing(draft, path, facts).own)));
  attempt("", () => draft = withEdits(draft, checkedEdits(answers.edits)));
  attempt("", () => add(defaultSettings(answers.default, standing(draft, path, facts), facts)));
  if (problems.length > 0) return { problems };
  const secrets = plans.flatMap(({ secret }) =>
    secret ? [{ path: secret.path, text: `${secret.value}\n`, isSecret: true }] : []
  );
  const whole = (text?.startsWith(MARK) ? MARK : "") + draft;
  return { files: [...secrets, { path, text: whole, isSecret: false }] };
}

/** The console shows it in place of a secret. It must not take the secret's place. */
const HIDDEN = /"\*\*\*\d+\*\*\*"/;

function checkedEdits(edits: readonly Edit[] = []): readonly Edit[] {
  const lost = edits.map(({ value }) => HIDDEN.exec(JSON.stringify(value) ?? "")?.[0]).find((one) => one !== undefined);
  if (lost === undefined) return edits;
  throw new AnswerError("", `${lost} stands for a hidden value: edit the file itself to move it`);
}

/** A byte order mark. */
const MARK = "\ufeff";

function bodyOf(text: string): string {
  return text.startsWith(MARK) ? text.slice(1) : text;
}

/** The name of the upstream that a source would have, and the address of its entry. Throws `AnswerError`. */
export function upstreamOf(source: Source, { path, text }: { path: string; text?: string }, facts: Facts): string {
  return planSource(source, standing(bodyOf(text ?? START), path, facts), facts).upstream;
}

function standing(text: string, path: string, { builtIn, providers }: Facts): Standing {
  const own = asObject(JSON.parse(withoutComments(text)));
  const written = withPresets(own, () => providers);
  const whole = own.extends === "default" ? mergeJson(builtIn, written) : written;
  return { folder: path.replace(/[^/\\]*$/, ""), own, whole: whole as JsonObject };
}

/** The text with the section of a setting, and a comment that introduces it. */
function introduced(text: string, { at: [section, ...rest] }: Setting): string {
  const comment = SECTIONS[String(section)];
  const isThere = at(JSON.parse(withoutComments(text)), String(section)) !== undefined;
  return isThere || comment === undefined || rest.length === 0
    ? text
    : withSetting(text, { at: [String(section)], value: {}, comment });
}

/** The places of values that the file does not have yet. An object that is there keeps what else it has. */
function furtherSettings(wanted: JsonValue = {}, own: JsonValue | undefined, path: readonly string[] = []): Setting[] {
  if (JSON.stringify(wanted) === JSON.stringify(own)) return [];
  if (!isJsonObject(wanted) || !isJsonObject(own)) return [{ at: path, value: wanted }];
  return Object.entries(wanted).flatMap(([name, value]) => furtherSettings(value, own[name], [...path, name]));
}

function modelSettings(chosen: ChosenModel, { own, whole }: Standing, facts: Facts): Setting[] {
  const { name, upstream, model } = chosen;
  if (name.trim() === "") throw new AnswerError("name", "Expected the name of a model");
  if (at(whole, "upstreams", upstream) === undefined) {
    const known = Object.keys(asObject(whole.upstreams));
    throw new AnswerError("upstream", `Cannot find upstream "${upstream}"${hint(upstream, known)}`);
  }
  const target = { upstream, model };
  const path = ["lanes", LANE, "models", name];
  const alias = at(whole, ...path);
  const targets = targetsOf(alias);
  if (isSame(targets[0], target)) return [];
  if (at(own, ...path) === undefined && targets.length > 0) {
    // A server of one's own may have been started with less context.
    const isShorter = isServer(at(whole, "upstreams", upstream), facts) && at(alias, "contextLength") !== undefined;
    const value = { targets: [target], ...isShorter && { contextLength: null } };
    return [{ at: path, value, comment: "In place of the built-in model of this name, whose other settings stay" }];
  }
  if (targets.length > 0) return firstTargets(path, targets, [target]);
  return [{ at: path, value: { task: taskFor(chosen, whole, facts), targets: [target] } }];
}

/** Whether the upstream is no paid service. */
function isServer(upstream: JsonValue | undefined, { providers }: Facts): boolean {
  const provider = at(upstream, "provider");
  return typeof provider !== "string" ||
    providers[provider]?.keysAt === undefined && providers[provider]?.secret === undefined;
}

/** Puts targets before those of a model that is there. */
function firstTargets(path: string[], old: readonly JsonObject[], targets: readonly JsonObject[]): Setting[] {
  const place = [...path, "targets"];
  const isAmong = (list: readonly JsonObject[], target: JsonObject) => list.some((one) => isSame(one, target));
  if (isAmong(old, targets[0]!)) {
    return [{ at: place, value: [...targets, ...old.filter((one) => !isAmong(targets, one))] }];
  }
  return targets.filter((target) => !isAmong(old, target)).reverse().map((value) => ({
    at: place,
    value,
    isFirst: true,
  }));
}

function targetsOf(alias: JsonValue | undefined): JsonObject[] {
  const targets = at(alias, "targets");
  return Array.isArray(targets) ? targets.filter(isJsonObject) : [];
}

function isSame(one: JsonObject | undefined, { upstream, model }: JsonObject): boolean {
  return one?.upstream === upstream && one?.model === model;
}

/** The task that fits the name, if the upstream serves it. */
function taskFor({ task, upstream, model }: ChosenModel, whole: JsonObject, { drivers, likelyTask }: Facts): string {
  if (task !== undefined) return task;
  const served = drivers[String(at(whole, "upstreams", upstream, "driver"))]?.tasks ?? [];
  const likely = likelyTask(model);
  return served.includes(likely) ? likely : served[0] ?? "chat";
}

const ANY = "*";

function defaultSettings(name: string | undefined, { own, whole }: Standing, { isSet }: Facts): Setting[] {
  if (name === undefined || name === "") return [];
  const models = asObject(at(whole, "lanes", LANE, "models"));
  const alias = at(models, name);
  if (alias === undefined || isPattern(name)) {
    const message = `Cannot find model "${name}" in the lane "${LANE}"${hint(name, Object.keys(models))}`;
    throw new AnswerError("default", message);
  }
  const path = ["lanes", LANE, "models"];
  const targets = targetsOf(alias);
  const old = targetsOf(at(models, ANY));
  if (old.length > 0) return isSame(old[0], targets[0]!) ? [] : firstTargets([...path, ANY], old, targets);
  // A pattern of the built-in lane would come before it, even if its upstreams have no secret.
  const hasSecret = ({ upstream }: JsonObject) => {
    const secret = at(whole, "upstreams", String(upstream), "secret");
    return !isJsonObject(secret) || secret.env === undefined || isSet(String(secret.env));
  };
  const patterns = Object.keys(models).filter((one) =>
    isPattern(one) && at(own, ...path, one) === undefined && !targetsOf(models[one]).some(hasSecret)
  );
  const task = at(alias, "task")!;
  return [
    { at: [...path, ANY], value: { task, targets }, comment: "Every name that is not listed" },
    ...patterns.map((pattern, at) => ({
      at: [...path, pattern],
      value: null,
      ...at === 0 && { comment: "Built-in patterns, which come before it and whose upstreams have no secret" },
    })),
  ];
}
