/** Runs the kit's cases, one after the other. */
import { cases, checkedWires, scriptedCases } from "../../../plugins/programs/conformance/mod.ts";
import { hiderFor } from "../../context/secrets.ts";
import type { CheckCase, CheckDesk, CheckedWire, ScriptedUpstream } from "../../contract/conformance.ts";
import { openCheck } from "./check_call.ts";
import type { CheckResult } from "./report.ts";

export interface Checking {
  baseUrl: string;
  query?: string;
  model: string;
  key?: string;
  keyHeader?: string;
  /** Names of wires. */
  wires: readonly string[];
  patienceMs: number;
  /** Present if the kit is also the gateway's upstream. */
  upstream?: ScriptedUpstream;
  onResult?(result: CheckResult): void | Promise<void>;
}

/** After this many cases in a row without an answer in time, the others are skipped. */
const MOST_SILENT = 2;

function unasked({ id, requirement }: CheckCase, { name }: CheckedWire): CheckResult {
  return { wire: name, id, requirement, seconds: 0, state: "skipped", reasons: ["the server has stopped answering"] };
}

export function countOfCases({ wires, upstream }: Checking): number {
  return casesOf(upstream).length * checkedWires.filter(({ name }) => wires.includes(name)).length;
}

function casesOf(upstream: ScriptedUpstream | undefined): readonly CheckCase[] {
  return upstream ? scriptedCases : cases;
}

/** Runs all cases. Behind a gateway, the model is a script that gives only the answers that the case sets. */
export async function check(checking: Checking): Promise<CheckResult[]> {
  const { upstream, wires, onResult } = checking;
  const results: CheckResult[] = [];
  let silent = 0;
  for (const wire of checkedWires.filter(({ name }) => wires.includes(name))) {
    for (const one of casesOf(upstream)) {
      const result = silent < MOST_SILENT ? await judge(one, wire, checking) : unasked(one, wire);
      if (result.state === "failed" && result.seconds * 1000 >= checking.patienceMs) silent++;
      else if (result.state !== "skipped") silent = 0;
      results.push(result);
      await onResult?.(result);
    }
  }
  return results;
}

async function judge(one: CheckCase, wire: CheckedWire, checking: Checking): Promise<CheckResult> {
  const { id, requirement } = one;
  const { key, model, upstream } = checking;
  const desk: CheckDesk = { wire, model, upstream, ask: openCheck({ ...checking, headers: wire.headers }) };
  const began = performance.now();
  const found = await one.run(desk).catch((error) => [`The answer cannot be judged: ${(error as Error).message}`]);
  const seconds = (performance.now() - began) / 1000;
  const common = { wire: wire.name, id, requirement, seconds };
  // A server may repeat the key.
  const hide = hiderFor(key === undefined ? [] : [key]);
  if ("skipped" in found) return { ...common, state: "skipped", reasons: [hide(found.skipped)] };
  return { ...common, state: found.length === 0 ? "passed" : "failed", reasons: [...new Set(found.map(hide))] };
}
