// @ts-check
/// <reference lib="dom" />
/** When what happened to a request, in words. */
import { duration } from "./dom.js";

/**
 * @typedef {{ at: number, headAt?: number, endAt?: number, target: string, reason: string, isFollowUp?: boolean, status?: number,
 *   error?: string }} Call
 * @typedef {{ at: number, from?: number, what: string, name: string, detail?: string }} Event
 * @typedef {{ from: number, mid?: number, to?: number, text: string, isBad?: boolean, isOpen?: boolean,
 *   kind?: "queue" | "call" | "tool" }} Step
 *
 * `isOpen`: it has not ended.
 */

/**
 * @param {{ calls: readonly Call[], events: readonly Event[],
 *   entry?: { durationMs: number, firstEventMs?: number, status: number }, elapsedMs?: number }} record `elapsedMs`: of a request
 *   that still runs
 * @returns {Step[]}
 */
export function stepsOf({ calls, events, entry, elapsedMs }) {
  /** @type {Step[]} */
  const steps = [
    { from: 0, text: "The client sent the request" },
    ...calls.map((call) => entry ? stepOfCall(call) : openOr(call, elapsedMs)),
    ...stepsOfEvents(events),
  ];
  if (entry?.firstEventMs !== undefined) {
    steps.push({ from: entry.firstEventMs, text: "First event of the answer" });
  }
  if (entry) steps.push({ from: entry.durationMs, text: `Finished: ${entry.status}`, isBad: entry.status >= 400 });
  return steps.sort((one, other) => one.from - other.from);
}

/** A call of a request that still runs. Until its answer comes, nothing is wrong with it. @param {Call} call @param {number} [to] @returns {Step} */
function openOr(call, to) {
  const { at, endAt, target, status, error } = call;
  if (endAt !== undefined || error !== undefined) return stepOfCall(call);
  if (status !== undefined) return { ...stepOfCall(call), to, isOpen: true };
  return {
    from: at,
    to,
    text: `${target}, ${attemptOf(call)}: waiting for an answer`,
    kind: "call",
    isOpen: true,
  };
}

/** @param {Call} call @returns {Step} */
function stepOfCall(call) {
  const { at, headAt, endAt, target, status, error } = call;
  const answer = status === undefined ? error ?? "no answer" : `${status} after ${duration((headAt ?? at) - at)}`;
  const isBad = status === undefined || status >= 300 || error !== undefined;
  const broke = status !== undefined && error !== undefined ? `; broke off: ${error}` : "";
  const text = `${target}, ${attemptOf(call)}: ${answer}${broke}`;
  return { from: at, mid: headAt, to: endAt, text, isBad, kind: "call" };
}

/** A tool and its end are one step. @param {readonly Event[]} events */
function stepsOfEvents(events) {
  /** @type {Step[]} */
  const steps = [];
  /** The tools that run. @type {Map<string, Step[]>} */
  const running = new Map();
  for (const { at, from, what, name, detail } of events) {
    const begun = what === "hosted tool ended" ? running.get(name)?.shift() : undefined;
    if (begun) {
      begun.to = at;
      if (detail) Object.assign(begun, { text: `${begun.text}, ${detail}`, isBad: true });
    } else if (what === "queued") {
      steps.push({ from: from ?? at, to: at, text: `${name}: waited for its turn`, kind: "queue" });
    } else {
      /** @type {Step} */
      const step = { from: at, text: `${name}: ${what}${detail ? `, ${detail}` : ""}`, isBad: what === "failed" };
      steps.push(step);
      if (what !== "hosted tool") continue;
      step.kind = "tool";
      running.set(name, [...running.get(name) ?? [], step]);
    }
  }
  return steps;
}

/**
 * Why the call was made.
 * @param {Pick<Call, "reason" | "isFollowUp">} call
 */
export function attemptOf({ reason, isFollowUp }) {
  if (reason !== "first") return reason;
  return isFollowUp ? "follow-up" : "first attempt";
}
