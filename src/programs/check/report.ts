/** Reports the kit's results, for people and for machines. */
import { printable, visible } from "../../util/printable.ts";
import { table } from "../table.ts";

export interface CheckResult {
  wire: string;
  id: string;
  requirement: string;
  state: "passed" | "failed" | "skipped";
  /** The complaints, or why it was skipped. */
  reasons: readonly string[];
  /** How long it took, in seconds. */
  seconds: number;
}

const MARK = { passed: "✅", failed: "❌", skipped: "➖" } as const;

export function countOf(results: readonly CheckResult[], state: CheckResult["state"]): number {
  return results.filter((result) => result.state === state).length;
}

export function summary(results: readonly CheckResult[]): string {
  const [passed, failed, skipped] = (["passed", "failed", "skipped"] as const).map((state) => countOf(results, state));
  return `${passed} passed, ${failed} failed, ${skipped} skipped`;
}

/** The counts of each wire, those with the most failures last, and of all. */
export function summaryByWire(results: readonly CheckResult[]): string {
  const wires = [...new Set(results.map(({ wire }) => wire))].map((wire) => {
    const own = results.filter((result) => result.wire === wire);
    return { failed: countOf(own, "failed"), row: [wire, summary(own)] };
  });
  const rows = wires.toSorted((a, b) => a.failed - b.failed).map(({ row }) => row);
  const sum = wires.length > 1 ? [summary(results)] : [];
  return [...table(rows), ...sum].join("\n");
}

/** A table for each wire, with the complaints below it. */
export function markdown(url: string, model: string, results: readonly CheckResult[]): string {
  const wires = [...new Set(results.map(({ wire }) => wire))];
  const tables = wires.flatMap((wire) => {
    const own = results.filter((result) => result.wire === wire);
    const bad = own.filter(({ state }) => state !== "passed");
    return [
      `## ${wire}`,
      "",
      "|   | requirement | id |",
      "| - | ----------- | -- |",
      ...own.map(({ id, requirement, state }) => `| ${MARK[state]} | ${cell(requirement)} | \`${id}\` |`),
      "",
      ...bad.map(({ id, state, reasons }) => `- \`${id}\` ${state}: ${inline(reasons.join("; "))}`),
      ...bad.length > 0 ? [""] : [],
    ];
  });
  return [`# Conformance of ${url}`, "", `Model: \`${model}\`. ${summary(results)}.`, "", ...tables].join("\n");
}

/** Escapes text of foreign servers, which must not break the report. */
function inline(text: string): string {
  return printable(text.replace(/\s+/g, " ")).replaceAll("<", "&lt;");
}

function cell(text: string): string {
  return inline(text).replaceAll("|", "\\|");
}

/** The report in the JUnit format, for CI. */
export function junit(url: string, results: readonly CheckResult[]): string {
  const cases = results.map(({ wire, id, requirement, state, reasons, seconds }) => {
    const open = `    <testcase classname="${xml(wire)}" name="${xml(`${id}: ${requirement}`)}" time="${
      seconds.toFixed(3)
    }"`;
    if (state === "passed") return `${open}/>`;
    const tag = state === "failed" ? "failure" : "skipped";
    return `${open}><${tag} message="${xml(reasons.join("; "))}"/></testcase>`;
  });
  const counts = `tests="${results.length}" failures="${countOf(results, "failed")}" skipped="${
    countOf(results, "skipped")
  }"`;
  return [
    '<?xml version="1.0" encoding="UTF-8"?>',
    `<testsuites ${counts}>`,
    `  <testsuite name="${xml(url)}" ${counts}>`,
    ...cases,
    "  </testsuite>",
    "</testsuites>",
    "",
  ].join("\n");
}

/** Removes characters that XML cannot contain, and escapes invisible ones. */
function xml(text: string): string {
  // deno-lint-ignore no-control-regex
  return visible(text.replace(/[\x00-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]/g, "").replace(/\s/g, " ")).toWellFormed()
    .replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll('"', "&quot;");
}
