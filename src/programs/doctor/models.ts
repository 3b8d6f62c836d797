/** Checks whether each model of each lane answers, streams, calls tools, reasons and follows a schema. */
import { asList, asObject, isJsonObject, type JsonObject } from "../../canonical/json.ts";
import { type Answer, errorIn, startTargetClient, type Subject, type TargetClient } from "./target_client.ts";
import { type Examined, upstreamNamed } from "./examination.ts";
import { type Finding, problem, well } from "./finding.ts";
import { askAsAgent, inWords, partsIn, settingsOf } from "../agent_request.ts";
import { CHAT_QUESTIONS, OTHER_QUESTIONS, TOOL } from "./questions.ts";
import { limited } from "./upstreams.ts";
import { whyUnreached } from "./reach.ts";

/** How many models are checked at once. */
const AT_ONCE = 4;

/** `lost`: the upstreams whose models are not checked, and why. `tell` gets the findings as they are made. */
export async function checkModels(
  examined: Examined,
  lost: ReadonlyMap<string, string>,
  tell: (findings: readonly Finding[]) => void = () => {},
): Promise<Finding[]> {
  const asking = startTargetClient(examined);
  const agent = startTargetClient(examined, "trusted");
  const findings = new Map<Subject, Finding[]>();
  const skipped = asking.subjects.filter(({ upstream }) => lost.has(upstream));
  const waiting = asking.subjects.filter(({ upstream }) => !lost.has(upstream));
  const unasked = [...unlisted(examined), ...skippedModels(skipped, lost)];
  tell(unasked);
  const work = async () => {
    for (let subject = waiting.shift(); subject; subject = waiting.shift()) {
      examined.signal?.throwIfAborted();
      const found = await checkModel(subject, asking);
      const refused = found[0]?.level === "ok" && subject.task === "chat"
        ? await checkAgent(subject, { asking, agent }, examined)
        : [];
      findings.set(subject, [...found, ...refused]);
      tell(findings.get(subject)!);
    }
  };
  try {
    await Promise.all(Array.from({ length: AT_ONCE }, work));
  } finally {
    await Promise.all([asking.close(), agent.close()]);
  }
  return [...unasked, ...asking.subjects.flatMap((subject) => findings.get(subject) ?? [])];
}

/** Lanes that list no model, so that there is no model to test. */
function unlisted({ config: { lanes } }: Examined): Finding[] {
  const names = Object.keys(lanes).filter((name) => Object.keys(lanes[name]!.models).length === 0);
  return names.map((name) => ({
    level: "skipped",
    check: "models-not-asked",
    subject: `lane "${name}"`,
    message: `It lists no models, so none was tested. Test one with --lane ${name} --model <name>`,
  }));
}

/** One finding for all models of an unreachable upstream. */
function skippedModels(skipped: readonly Subject[], lost: ReadonlyMap<string, string>): Finding[] {
  return [...Map.groupBy(skipped, ({ upstream }) => upstream)].map(([upstream, { length }]) => ({
    level: "skipped",
    check: "models-not-asked",
    subject: upstreamNamed(upstream),
    message: `${length === 1 ? "Its model was" : `Its ${length} models were`} not called. ${lost.get(upstream)}`,
  }));
}

async function checkModel(subject: Subject, asking: TargetClient): Promise<Finding[]> {
  const { task, id } = subject;
  if (task === "chat") return await checkChat(subject, asking);
  const { path, body } = OTHER_QUESTIONS[task];
  const answer = await asking.ask(path, body(id));
  return [answer.status === 200 ? well("model", subject.name, "It answers") : failure(subject, answer)];
}

/** Finds out what the model refuses of requests, in words and as the configuration that would say the same. */
async function checkAgent(
  { id, name, upstream, model }: Subject,
  { asking, agent }: { asking: TargetClient; agent: TargetClient },
  { config }: Examined,
): Promise<Finding[]> {
  const isAnswered = await askAsAgent(id, async (body) => {
    const answer = await agent.ask("chat/completions", body);
    return answer.status === 200 ? answer.notes : undefined;
  });
  const pages = [await asking.status(), ...isAnswered ? [await agent.status()] : []];
  const refused = pages.flatMap((page) => partsIn(page, upstream, model));
  const parts = [...new Map(refused.map((part) => [part.part, part])).values()];
  if (parts.length === 0) return [];
  const { settings, others } = settingsOf(parts);
  const message = `It refuses parts of requests: ${parts.map(inWords).join(", ")}`;
  const { relax, refuses = [] } = config.upstreams[upstream]!;
  const isOff = relax === "off";
  const cure = [
    isOff ? 'Remove "relax": "off", and the gateway asks again without it' : "The gateway asks again without it",
    ...Object.keys(settings).length > 0
      ? [`To say so in advance of all models of the upstream: "upstreams": ${JSON.stringify({ [upstream]: settings })}`]
      : [],
    ...others.length > 0 ? [`There is no setting for: ${others.join(", ")}`] : [],
  ].join(". ");
  const found = problem(isOff ? "warning" : "note", "parts-refused", name, message, cure);
  if (Object.keys(settings).length === 0) return [found];
  // The setting has those that were named before, too.
  const all = settings.refuses ? { refuses: [...new Set([...refuses, ...asList(settings.refuses)])] } : {};
  return [withSettings(found, upstream, { ...settings, ...all })];
}

/** The finding with settings of the upstream that mend it. */
function withSettings(finding: Finding, upstream: string, settings: JsonObject): Finding {
  return { ...finding, settings: { upstreams: { [upstream]: settings } } };
}

type Question = keyof typeof CHAT_QUESTIONS;

async function checkChat(subject: Subject, asking: TargetClient): Promise<Finding[]> {
  const ask = (question: Question) =>
    asking.ask("chat/completions", JSON.stringify({ model: subject.id, ...CHAT_QUESTIONS[question] }));
  const whole = await ask("whole");
  if (whole.status !== 200) return [failure(subject, whole)];
  const findings: Finding[] = [];
  const can = ["answers"];
  const judge = async (question: Exclude<Question, "whole">) => {
    const finding = JUDGES[question](await ask(question), subject);
    if (typeof finding === "string") can.push(finding);
    else findings.push(finding);
  };
  for (const question of ["stream", "instructions", "tools", "reasoning", "structure"] as const) await judge(question);
  return [well("model", subject.name, `It ${can.join(", ")}`), ...findings];
}

/** Judges an answer: the ability that it shows, or a problem. */
type Judge = (answer: Answer, subject: Subject) => string | Finding;

const JUDGES: Record<Exclude<Question, "whole">, Judge> = {
  stream(answer, { name }) {
    const text = String(answer.body);
    const ends = answer.status === 200 && /^data: \[DONE\]/m.test(text) && !/^data: \{"error"/m.test(text);
    if (ends) return "streams";
    const reason = errorIn(answer)?.message ?? /"message":"([^"]*)/.exec(text)?.[1] ?? "it does not end";
    const cure = "Turn on streaming at the server, and turn off buffering in any proxy in front of it";
    return problem("error", "stream-broken", name, `Its stream is broken: ${reason}`, cure);
  },
  instructions(answer, subject) {
    if (messageOf(answer)) return "accepts system messages";
    return refusal("instructions-refused", "with a system message", answer, subject, TEMPLATE_CURE);
  },
  tools(answer, subject) {
    const { name, upstream } = subject;
    const message = messageOf(answer);
    if (!message) return refusal("tools-refused", "with tools", answer, subject, TOOLS_CURE);
    if (Array.isArray(message.tool_calls)) return "calls tools";
    if (isCut(answer)) return "was cut off before it called a tool";
    const text = String(message.content ?? "");
    return text.includes(TOOL) && /[<{[]/.test(text)
      ? withSettings(
        problem("warning", "tools-as-text", name, "It writes tool calls as plain text", PARSE_CURE),
        upstream,
        PARSE,
      )
      : problem("warning", "tools-unused", name, "It does not call a tool when asked to", TOOLS_CURE);
  },
  reasoning(answer, subject) {
    const { name, upstream } = subject;
    const message = messageOf(answer);
    if (!message) return refusal("reasoning-refused", "with a reasoning effort", answer, subject, EFFORT_CURE);
    if (/<\/?think(ing)?>/.test(String(message.content ?? ""))) {
      const found = problem(
        "warning",
        "reasoning-as-text",
        name,
        "It writes its reasoning into its answer",
        PARSE_CURE,
      );
      return withSettings(found, upstream, PARSE);
    }
    return typeof message.reasoning_content === "string" ? "shows its reasoning" : "shows no reasoning";
  },
  structure(answer, subject) {
    const { name, upstream } = subject;
    const message = messageOf(answer);
    // The gateway checks the answer itself, and asks the model once more.
    const isIgnored = /requested format/.test(String(errorIn(answer)?.message));
    if (!message && !isIgnored) {
      const found = refusal("structure-refused", "with a JSON schema", answer, subject, INSTRUCT_CURE);
      return found.check === "structure-refused" ? withSettings(found, upstream, INSTRUCT) : found;
    }
    if (isCut(answer)) return "was cut off before it completed the JSON";
    return keepsToSchema(String(message?.content ?? "")) ? "follows a JSON schema" : withSettings(
      problem("warning", "structure-ignored", name, "It does not follow a JSON schema", INSTRUCT_CURE),
      upstream,
      INSTRUCT,
    );
  },
};

const TOOLS_CURE =
  "Turn on tool calls at the server (most have an option for the model's tool format), or choose another model";
const TEMPLATE_CURE = "Give the server a chat template that accepts system messages, or choose another model";
const PARSE_CURE = 'Set "textForms": "parse" for this model or its upstream';
const PARSE = { textForms: "parse" };
const INSTRUCT = { structuredOutput: "instruct" };
const EFFORT_CURE = 'Set the upstream\'s "dialect", or "efforts": [] for this model';
const INSTRUCT_CURE = 'Set "structuredOutput": "instruct" for this model or its upstream';

function refusal(check: string, what: string, answer: Answer, subject: Subject, cure: string): Finding {
  const { error, cause, upstreamStatus } = answer.log ?? {};
  // An unreachable or silent upstream has refused nothing.
  const isUnreached = upstreamStatus === undefined && (error === "upstream_timeout" || cause !== undefined);
  if (isUnreached) return { ...failure(subject, answer), level: "warning" };
  const reason = errorIn(answer)?.message ?? `status ${answer.status}`;
  return problem("warning", check, subject.name, `It fails ${what}: ${reason}`, cure);
}

function choiceOf({ status, body }: Answer): JsonObject | undefined {
  const [choice] = asList(status === 200 && asObject(body).choices);
  return isJsonObject(choice) ? choice : undefined;
}

function messageOf(answer: Answer): JsonObject | undefined {
  const message = choiceOf(answer)?.message;
  return isJsonObject(message) ? message : undefined;
}

function isCut(answer: Answer): boolean {
  return choiceOf(answer)?.finish_reason === "length";
}

function keepsToSchema(text: string): boolean {
  try {
    const value = JSON.parse(text);
    return isJsonObject(value) && Number.isInteger(value.sum) && Object.keys(value).length === 1;
  } catch {
    return false;
  }
}

/** Why a model did not answer at all, by its upstream's reply to the gateway. */
function failure(subject: Subject, answer: Answer): Finding {
  const { name, upstream, model } = subject;
  const { log } = answer;
  const reason = String(errorIn(answer)?.message ?? `status ${answer.status}`);
  const status = log?.upstreamStatus;
  if (status === 402 || status === 429) return limited(name, status);
  if (status === 401 || status === 403) {
    const cure = `Create a new secret for upstream "${upstream}" that may run this model, and export it`;
    return problem(
      "error",
      "secret-refused",
      name,
      `Upstream "${upstream}" refuses the secret (status ${status})`,
      cure,
    );
  }
  if (status === 404 || log?.error === "model_not_found") {
    const cure = `Write a name that upstream "${upstream}" lists: its own list is at <baseUrl>/models`;
    return problem("error", "model-missing", name, `Upstream "${upstream}" has no model "${model}"`, cure);
  }
  if (log?.error === "upstream_timeout") {
    const cure = "Check whether the server is overloaded or still loading the model";
    return problem("error", "model-silent", name, "It does not answer in time", cure);
  }
  if (status === undefined && log?.cause !== undefined) {
    const { check, message, cure } = whyUnreached(log.cause, `upstream "${upstream}"`);
    return problem("error", check, name, message, cure);
  }
  return problem("error", "model-failing", name, `It fails: ${reason}`, "Check the server's own log");
}
