/** What differs by model family, as data. */

/** Families whose hosts answer 400 when earlier reasoning comes back; all others are the better for it. */
const REFUSE_REASONING = /gemma/i;

/** Whether the model takes back what it thought in earlier turns. `model` is the upstream's name for it. */
export function takesReasoning(model: string): boolean {
  return !REFUSE_REASONING.test(model);
}
