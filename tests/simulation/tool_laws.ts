/** What has to hold of tools that the gateway runs for models. */
import { isJsonObject, type JsonObject, type JsonValue } from "../../src/canonical/json.ts";
import { type Facts, type Story, Violation } from "./invariants.ts";
import { markOf, REPORTED, resultsIn } from "./rounds.ts";
import { type Ask, isAsk } from "./schedule.ts";
import { type Ran, saidOf } from "./tool_servers.ts";

/** A call that a model made runs once at most, whatever breaks. */
export function checkRuns(ran: readonly Ran[]): void {
  const seen = new Set<string>();
  for (const { ask, mark, tool } of ran) {
    if (seen.has(mark)) throw new Violation("tools", `request ${ask}: ${tool} ran twice for ${mark}`);
    seen.add(mark);
  }
}

/** The model is told what the server said, and nothing that this did not say. So is the client. */
export function checkResults({ received: { ask, text }, calls }: Story, facts: Facts): void {
  const { rounds = [] } = ask;
  if (rounds.length === 0) return;
  const reported = new Map<string, boolean>();
  for (const { body } of calls) {
    for (const { mark, result } of resultsIn(body)) {
      checkResult(ask, mark, result, facts);
      const isReported = result.includes("Done ");
      if ((reported.get(mark) ?? isReported) !== isReported) throw new Violation("tools", `${mark} has two results`);
      reported.set(mark, isReported);
    }
  }
  for (const { arguments: input, output } of stepsIn(text, "mcp_call")) {
    const { use: mark } = JSON.parse(typeof input === "string" && input !== "" ? input : "{}");
    if (typeof output === "string" && output !== saidOf(mark)) {
      throw new Violation("tools", `the client reads ${output} for ${mark}`);
    }
  }
  const marks = rounds.flatMap(({ number, uses }) => uses.map((_, at) => markOf(ask.id, number, at)));
  const all = new Set(marks.map((mark) => JSON.stringify([{ type: "text", text: saidOf(mark) }])));
  for (const { content } of stepsIn(text, "mcp_tool_result")) {
    const shown = JSON.stringify(content);
    if (shown.includes("Done ") && !all.has(shown)) throw new Violation("tools", `the client reads ${shown}`);
  }
}

function checkResult(ask: Ask, mark: string, result: string, { schedule, isTroubled }: Facts): void {
  const { settings, steps } = schedule;
  const use =
    (ask.rounds ?? []).flatMap(({ number, uses }) =>
      uses.flatMap((use, at) => markOf(ask.id, number, at) === mark ? [use] : [])
    )[0];
  if (!use) throw new Violation("tools", `${mark} is no call of this request`);
  const said = result.split(saidOf(mark)).length - 1;
  const others = result.replace(saidOf(mark), "").includes("Done ");
  if (said > 1 || others) throw new Violation("tools", `the model is told for ${mark}: ${result}`);
  const isReported = REPORTED.includes(use.end);
  // A tool of the search has no answer of its own if it says that it failed.
  const hasFailed = use.tool === "search" && use.end === "failed" && settings.searchesByTool;
  const mayFail = settings.requestsPerMinute !== undefined || settings.budget !== undefined || isTroubled ||
    steps.some(({ type }) => type === "outage") || hasFailed || isForgottenTwice(schedule);
  if (isReported ? said === 0 && !mayFail : said > 0) {
    throw new Violation("tools", `the call ${mark} is ${use.end}, and the model is told: ${result}`);
  }
}

/** A session that is forgotten again while a call begins it anew fails that call. */
function isForgottenTwice({ steps }: Facts["schedule"]): boolean {
  const uses = steps.flatMap((step) => isAsk(step) ? (step.rounds ?? []).flatMap(({ uses }) => uses) : []);
  return uses.filter(({ end }) => end === "forgotten").length > 1;
}

/** The steps of this type in an answer. */
function stepsIn(text: string, type: string): JsonObject[] {
  if (!text.includes(type)) return [];
  return text.split("\n").map((line) => line.replace(/^data: /, "")).filter((line) => line.startsWith("{"))
    .flatMap((line) => stepsBelow(JSON.parse(line), type));
}

function stepsBelow(value: JsonValue | undefined, type: string): JsonObject[] {
  if (Array.isArray(value)) return value.flatMap((one) => stepsBelow(one, type));
  if (!isJsonObject(value)) return [];
  return value.type === type ? [value] : Object.values(value).flatMap((inner) => stepsBelow(inner, type));
}
