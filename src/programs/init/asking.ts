/** The means of asking the user. */
import type { Dialog } from "../dialog/dialog.ts";
import type { Program } from "../program.ts";
import type { Place } from "./work.ts";

/** The user left. */
export class LeftError extends Error {}

/** The answer, unless the user has left. Throws `LeftError`. */
export function given<T>(answer: T | undefined): T {
  if (answer === undefined) throw new LeftError();
  return answer;
}

/** Everything that the questions need. */
export interface Asking {
  dialog: Dialog;
  place: Place;
  program: Program;
}
