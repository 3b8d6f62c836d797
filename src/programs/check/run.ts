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
  /** Present where the kit stands behind the gateway, too. */
  upstream?: ScriptedUpstream;
  onResult?(result: CheckResult): void;
}

/** After so many cases in a row that were not answered in time, the others are not asked. */
const MOST_SILENT = 2;

function unasked({ id, requirement }: CheckCase, { name }: CheckedWire): CheckResult {
  return { wire: name, id, requirement, seconds: 0, state: "skipped", reasons: ["the server has stopped answering"] };
}

/** Behind the gateway the model is a script, which answers what its case has it answer, and nothing else. */
export async function check(checking: Checking): Promise<CheckResult[]> {
  const { upstream, wires, onResult } = checking;
  const results: CheckResult[] = [];
  let silent = 0;
  for (const wire of checkedWires.filter(({ name }) => wires.includes(name))) {
    for (const one of upstream ? scriptedCases : cases) {
      const result = silent < MOST_SILENT ? await judge(one, wire, checking) : unasked(one, wire);
      if (result.state === "failed" && result.seconds * 1000 >= checking.patienceMs) silent++;
      else if (result.state !== "skipped") silent = 0;
      results.push(result);
      onResult?.(result);
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
  // A server may repeat the key that it was sent.
  const hide = hiderFor(key === undefined ? [] : [key]);
  if ("skipped" in found) return { ...common, state: "skipped", reasons: [hide(found.skipped)] };
  return { ...common, state: found.length === 0 ? "passed" : "failed", reasons: [...new Set(found.map(hide))] };
}
