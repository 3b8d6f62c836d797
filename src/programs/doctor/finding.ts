/** What the command `doctor` finds, and how a person reads it. */
import { printable } from "../../util/printable.ts";

/**
 * An error keeps somebody from an answer; a warning makes answers worse, or may. A note says what is not set up and need not be;
 * what is skipped was not looked at.
 */
export type Level = "error" | "warning" | "note" | "skipped" | "ok";

export interface Finding {
  level: Level;
  /** What was found, as a name that never changes: `secret-refused`. */
  check: string;
  /** What it is about: `upstream "router"`. */
  subject: string;
  /** One sentence without a full stop at its end. */
  message: string;
  /** What to do about it; none where all is well. */
  cure?: string;
}

/** What is wrong, and its cure. `upstream "router"`, `model "glm" of lane "oss"` are subjects. */
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

/** The report in lines: what is well in a line each, and below every problem its cure. A server's words steer no terminal. */
export function report(findings: readonly Finding[]): string {
  const lines = findings.flatMap(({ level, subject, message, cure }) => [
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
