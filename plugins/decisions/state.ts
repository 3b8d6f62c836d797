/** The subject of questions, and their words, for servers and models that take one text. */
import type { DecidePart, DecideRequest, DecideTurn, Question } from "../../src/canonical/decide.ts";
import type { FilePart } from "../../src/canonical/generate.ts";
import { type JsonValue, toJsonText } from "../../src/canonical/json.ts";

export interface State {
  text: string;
  images: FilePart[];
  /** Set if all of it is one piece of data. */
  data?: JsonValue;
  /** Whether turns of a conversation became one text. */
  isJoined: boolean;
}

/** All turns as one text. One user message stands alone; several turns each say who spoke. */
export function stateOf({ turns }: Pick<DecideRequest, "turns">): State {
  const images = turns.flatMap((turn) => turn.type === "call" ? [] : imagesIn(turn.content));
  const [only] = turns;
  if (turns.length === 1 && only?.type === "message" && only.role === "user") {
    const parts = only.content.filter(({ type }) => type !== "file");
    const [part] = parts;
    return {
      text: textOf(only.content),
      images,
      isJoined: false,
      ...(parts.length === 1 && part?.type === "json" && { data: part.value }),
    };
  }
  return { text: turns.map(turnText).join("\n\n"), images, isJoined: true };
}

function turnText(turn: DecideTurn): string {
  switch (turn.type) {
    case "message":
      return `${turn.role}: ${textOf(turn.content)}`;
    case "call":
      return `call ${turn.id} of ${turn.name}: ${turn.input}`;
    case "result":
      return `result of call ${turn.id}: ${textOf(turn.content)}`;
    default:
      return turn satisfies never;
  }
}

/** The texts of all parts, with data as JSON. */
export function textOf(parts: readonly DecidePart[]): string {
  return parts.flatMap((part) => part.type === "text" ? part.text : part.type === "json" ? toJsonText(part.value) : [])
    .join("\n");
}

export function imagesIn(parts: readonly DecidePart[]): FilePart[] {
  return parts.filter((part) => part.type === "file");
}

/** The images of the words of questions. */
export function imagesOf({ instructions }: Question): FilePart[] {
  return imagesIn(instructions);
}

export function urlOf({ mediaType, source }: FilePart): string {
  if (source.type === "url") return source.url;
  return source.type === "base64" ? `data:${mediaType};base64,${source.data}` : source.id;
}

/** The words of a question, with what its wire has no field for. */
export function wordsOf(question: Question, hasCriteria: boolean): string {
  const text = textOf(question.instructions);
  if (question.type !== "predicate" || hasCriteria) return text;
  const { yes, no } = question.criteria ?? {};
  return [
    text,
    ...(yes === undefined ? [] : [`Answer true when: ${yes}`]),
    ...(no === undefined ? [] : [`Answer false when: ${no}`]),
  ].filter((line) => line !== "").join("\n");
}
