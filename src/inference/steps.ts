/** The steps of an explanation: what each stage changed. */
import { type Difference, differences } from "./differences.ts";

/** The changes that one stage made to a request. */
export interface Step {
  /** The stage's name. */
  step: string;
  notes: string[];
  changes: Difference[];
}

/** Begins a step. Notes go to `note` as well. A stage that changes and notes nothing leaves no step. */
export function beginStep(step: string, note: (text: string) => void, steps: Step[]) {
  const notes = new Set<string>();
  return {
    note(text: string): void {
      notes.add(text);
      note(text);
    },
    end(before: unknown, after: unknown): void {
      const changes = differences(before, after);
      if (changes.length + notes.size > 0) steps.push({ step, notes: [...notes], changes });
    },
  };
}
