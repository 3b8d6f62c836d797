// @ts-check
/// <reference lib="dom" />
/** When what happened to a request, in words. */
import { duration } from "./dom.js";

/**
 * @typedef {{ at: number, headAt?: number, endAt?: number, target: string, reason: string, isFollowUp?: boolean, status?: number,
 *   error?: string }} Call
 * @typedef {{ at: number, what: string, name: string, detail?: string }} Event
 * @typedef {{ from: number, to?: number, text: string, isBad?: boolean }} Step
 */

/**
 * @param {{ calls: readonly Call[], events: readonly Event[],
 *   entry?: { durationMs: number, firstEventMs?: number, status: number } }} record
 * @returns {Step[]}
 */
export function stepsOf({ calls, events, entry }) {
  /** @type {Step[]} */
  const steps = [{ from: 0, text: "The client sent the request" }];
  for (const call of calls) {
    const { at, headAt, endAt, target, status, error } = call;
    const answer = status === undefined ? error ?? "no answer" : `${status} after ${duration((headAt ?? at) - at)}`;
    const isBad = status === undefined || status >= 300 || error !== undefined;
    const broke = status !== undefined && error !== undefined ? `; broke off: ${error}` : "";
    steps.push({ from: at, to: endAt, text: `${target}, ${attemptOf(call)}: ${answer}${broke}`, isBad });
  }
  for (const { at, what, name, detail } of events) {
    steps.push({ from: at, text: `${name}: ${what}${detail ? `, ${detail}` : ""}`, isBad: what === "failed" });
  }
  if (entry?.firstEventMs !== undefined) {
    steps.push({ from: entry.firstEventMs, text: "First event of the answer" });
  }
  if (entry) steps.push({ from: entry.durationMs, text: `Finished: ${entry.status}`, isBad: entry.status >= 400 });
  return steps.sort((one, other) => one.from - other.from);
}

/**
 * Why the call was made.
 * @param {Pick<Call, "reason" | "isFollowUp">} call
 */
export function attemptOf({ reason, isFollowUp }) {
  if (reason !== "first") return reason;
  return isFollowUp ? "follow-up" : "first attempt";
}
