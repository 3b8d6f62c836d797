/** Questions on a terminal that knows arrow keys. */
import * as prompts from "@clack/prompts";
import { printable } from "../../util/printable.ts";
import type { Choice, Dialog } from "./dialog.ts";

/** How many choices are shown at once. */
const MOST_SHOWN = 12;
/** From this number on, a list is searched by typing. */
const LONG = 15;

/** `say` shows a text between questions. */
export function arrowDialog(say: (text: string) => void): Dialog {
  const answered = <T>(answer: T): Exclude<T, symbol> | undefined =>
    prompts.isCancel(answer) ? undefined : answer as Exclude<T, symbol>;
  // Servers give names, which must not control the terminal.
  const options = (choices: readonly Choice[]) =>
    choices.map(({ value, label, hint }) => ({ value, label: printable(label), hint: hint && printable(hint) }));
  return {
    async choose(message, choices, first) {
      const question = { message, options: options(choices), initialValue: first, maxItems: MOST_SHOWN };
      return answered(choices.length < LONG ? await prompts.select(question) : await prompts.autocomplete(question));
    },
    async chooseSeveral(message, choices, first = []) {
      const question = {
        message,
        options: options(choices),
        initialValues: [...first],
        required: false,
        maxItems: MOST_SHOWN,
      };
      return answered(
        choices.length < LONG ? await prompts.multiselect(question) : await prompts.autocompleteMultiselect(question),
      );
    },
    async enter(message, { first, example, check } = {}) {
      const validate = (text = "") => check?.(text.trim() || first || "");
      const answer = answered(
        await prompts.text({ message, placeholder: first ?? example, defaultValue: first, validate }),
      );
      return answer === undefined ? undefined : answer.trim() || first || "";
    },
    async enterSecret(message) {
      return answered(await prompts.password({ message }))?.trim();
    },
    async confirm(message, first) {
      return answered(await prompts.confirm({ message, initialValue: first }));
    },
    say,
  };
}
