/** The findings of the command `doctor`, and their text. */
import type { JsonObject } from "../../canonical/json.ts";
import { printable } from "../../util/printable.ts";

/**
 * An error prevents answers. A warning makes answers worse, or may. A note names something that is not set up and need not be. A
 * skipped subject was not checked.
 */
export type Level = "error" | "warning" | "note" | "skipped" | "ok";

export interface Finding {
  level: Level;
  /** A stable name of the finding: `secret-refused`. */
  check: string;
  /** The subject: `upstream "router"`. */
  subject: string;
  /** One sentence without a full stop at its end. */
  message: string;
  /** How to fix it. Absent if there is no problem. */
  cure?: string;
  /** Settings for the configuration that fix it. Absent if none do. */
  settings?: JsonObject;
}

/** A problem and its cure. Subjects are like `upstream "router"` or `model "glm" of lane "oss"`. */
export function problem(
  level: "error" | "warning" | "note",
  check: string,
  subject: string,
  message: string,
  cure: string,
): Finding {
  return { level, check, subject, message, cure };
}

export function well(check: string, subject: string, message: string): Finding {
  return { level: "ok", check, subject, message };
}

export function countOf(findings: readonly Finding[], level: Level): number {
  return findings.filter((finding) => finding.level === level).length;
}

const WIDTH = "warning".length;

/** From the least important to the most important, which is then the nearest to the user's prompt. */
const ORDER: readonly Level[] = ["ok", "skipped", "note", "warning", "error"];

/** The report: a line for each finding, and the cure below each problem. Control characters in messages are made visible. */
export function report(findings: readonly Finding[]): string {
  const sorted = findings.toSorted((a, b) => ORDER.indexOf(a.level) - ORDER.indexOf(b.level));
  const lines = sorted.flatMap(({ level, subject, message, cure }) => [
    `${level.padEnd(WIDTH)}  ${subject}: ${printable(message)}`,
    ...(cure === undefined ? [] : [`         → ${cure}`]),
  ]);
  return [...lines, "", summary(findings)].join("\n");
}

function summary(findings: readonly Finding[]): string {
  const [errors, warnings] = [countOf(findings, "error"), countOf(findings, "warning")];
  if (errors + warnings === 0) return "No problems found";
  return `${plural(errors, "error")}, ${plural(warnings, "warning")}`;
}

function plural(count: number, word: string): string {
  return `${count} ${word}${count === 1 ? "" : "s"}`;
}
