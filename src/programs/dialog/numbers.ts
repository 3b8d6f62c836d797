/** Questions whose answers are lines: numbers of choices, names or texts. */
import type { Choice, Dialog } from "./dialog.ts";

export interface Lines {
  /** The next line of input. Absent at its end. */
  read(): Promise<string | undefined>;
  /** Shows a text and reads the next line, which is not shown while it is typed. */
  readHidden(text: string): Promise<string | undefined>;
  print(text: string): void;
  /** Shows a text without going to the next line. */
  prompt(text: string): void;
}

export function numberDialog({ read, readHidden, print, prompt }: Lines): Dialog {
  const ask = async (text: string) => {
    prompt(`${text} `);
    return (await read())?.trim();
  };
  return {
    async choose(question, choices, first) {
      for (const line of linesFor(question, choices)) print(line);
      const usual = choices.findIndex(({ value }) => value === first) + 1;
      for (;;) {
        const answer = await ask(usual > 0 ? `Number [${usual}]:` : "Number:");
        if (answer === undefined) return undefined;
        if (answer === "" && first !== undefined) return first;
        const choice = found(answer, choices);
        if (choice) return choice.value;
        print(`Expected a number from 1 to ${choices.length}`);
      }
    },
    async chooseSeveral(question, choices, first = []) {
      for (const line of linesFor(question, choices)) print(line);
      const usual = choices.flatMap(({ value }, at) => first.includes(value) ? [at + 1] : []);
      for (;;) {
        const answer = await ask(`Numbers, or all${usual.length > 0 ? ` [${usual.join(" ")}]` : ""}:`);
        if (answer === undefined) return undefined;
        if (answer === "") return [...first];
        if (answer === "all") return choices.map(({ value }) => value);
        const words = answer.split(/[\s,]+/).filter((word) => word !== "");
        const chosen = words.map((word) => found(word, choices));
        const at = chosen.indexOf(undefined);
        if (at < 0) return [...new Set(chosen.map((choice) => choice!.value))];
        print(`There is no "${words[at]}": expected numbers from 1 to ${choices.length}`);
      }
    },
    async enter(question, { first, example, check } = {}) {
      const hint = first !== undefined ? ` [${first}]` : example !== undefined ? ` (such as ${example})` : "";
      for (;;) {
        const line = await ask(`${question}${hint}:`);
        if (line === undefined) return undefined;
        const answer = line || first || "";
        const wrong = check?.(answer);
        if (wrong === undefined) return answer;
        print(wrong);
      }
    },
    async enterSecret(question) {
      return (await readHidden(`${question}: `))?.trim();
    },
    async confirm(question, first) {
      for (;;) {
        const answer = await ask(`${question} [${first ? "Y/n" : "y/N"}]`);
        if (answer === undefined) return undefined;
        if (answer === "") return first;
        if (/^(y(es)?|no?)$/i.test(answer)) return /^y/i.test(answer);
        print("Answer y or n");
      }
    },
    say: print,
  };
}

function linesFor(question: string, choices: readonly Choice[]): string[] {
  const width = String(choices.length).length;
  return [
    question,
    ...choices.map(({ label, hint }, at) =>
      `  ${String(at + 1).padStart(width)}  ${label}${hint === undefined ? "" : ` (${hint})`}`
    ),
  ];
}

/** The choice that a number or a value means. */
function found(answer: string, choices: readonly Choice[]): Choice | undefined {
  return /^\d+$/.test(answer) ? choices[Number(answer) - 1] : choices.find(({ value }) => value === answer);
}
