/** One question as a request to a chat model, whose answer is one of the labels in front of the possible answers. */
import type { DecideRequest, Question } from "../../src/canonical/decide.ts";
import type { GenerateRequest, InputPart } from "../../src/canonical/generate.ts";
import { optionsOf } from "./answers.ts";
import { imagesOf, type State, stateOf, textOf } from "./state.ts";

const LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ";

/**
 * The label of each possible answer. Each should be one token: letters, digits for scales, and pairs of letters where there are more
 * answers than letters, as SGLang has them.
 */
export function labelsOf(question: Question): string[] {
  if (question.type === "predicate") return ["yes", "no"];
  const count = question.type === "choice" ? question.options.length : question.levels.length;
  if (question.type === "score" && count <= 10) return Array.from({ length: count }, (_, level) => String(level));
  if (count <= LETTERS.length) return [...LETTERS.slice(0, count)];
  return Array.from(
    { length: count },
    (_, at) => LETTERS[Math.floor(at / LETTERS.length)]! + LETTERS[at % LETTERS.length]!,
  );
}

/** The words for a question without instructions. */
const USUAL: Record<Question["type"], string> = {
  predicate: "Which of these holds?",
  choice: "Which of these fits best?",
  score: "Which of these levels fits best?",
};

/** The question with its labels. The state comes before it, so that servers can cache what all questions begin with. */
function questionText(question: Question, labels: readonly string[]): string {
  const lines = optionsOf(question).map(({ text, description }, at) => {
    const answer = question.type === "predicate" ? description ?? (at === 0 ? "true" : "false") : text;
    const more = question.type === "predicate" || description === undefined ? "" : ` - ${description}`;
    return `${labels[at]}: ${answer}${more}`;
  });
  const words = textOf(question.instructions) || USUAL[question.type];
  const ends = question.type === "predicate"
    ? 'Reply with only "yes" or "no".'
    : "Reply with only the label of the right answer, which stands before the colon.";
  return [words, ...lines, "", ends].join("\n");
}

/** One request for each question. `more`: how its answer is asked for. */
export function chatRequestsOf(
  input: DecideRequest,
  more: (labels: readonly string[]) => Partial<GenerateRequest>,
): GenerateRequest[] {
  const state = stateOf(input);
  return input.questions.map((question) => {
    const labels = labelsOf(question);
    return {
      model: input.model,
      messages: [{ role: "user", content: partsOf(state, question, questionText(question, labels)) }],
      stream: false,
      ...more(labels),
    };
  });
}

function partsOf({ text, images }: State, question: Question, words: string): InputPart[] {
  const files = [...images, ...imagesOf(question)];
  // Many servers take only one text.
  if (files.length === 0) return [{ type: "text", text: text === "" ? words : `${text}\n\n${words}` }];
  return [...text === "" ? [] : [{ type: "text" as const, text }], ...files, { type: "text", text: words }];
}
