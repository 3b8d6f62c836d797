/** The texts of an increment. Hosts spell them in several ways. */
import type { Annotation } from "../../src/canonical/generate.ts";
import { asObject, asText, isJsonObject, isText } from "../../src/canonical/json.ts";
import type { ChatDelta } from "./wire.ts";

/** Some hosts spell reasoning in two ways at once, with the same text: its details count until it comes under a name. */
export class DeltaTexts {
  #isNamed = false;

  in(delta: ChatDelta): { text: string; reasoning: string; refusal: string } {
    const { thinking, text } = splitContent(delta.content);
    const named = delta.reasoning_content || delta.reasoning || delta.reasoning_text || "";
    if (named) this.#isNamed = true;
    const reasoning = thinking + (this.#isNamed ? named : detailsText(delta));
    return { text, reasoning, refusal: delta.refusal ?? "" };
  }
}

function detailsText(delta: ChatDelta): string {
  const details = delta.reasoning_details;
  if (!Array.isArray(details)) return "";
  return details.map((detail) => isJsonObject(detail) ? detail.text ?? detail.summary : "")
    .filter((text) => typeof text === "string").join("");
}

function splitContent(content: ChatDelta["content"]): { thinking: string; text: string } {
  if (typeof content === "string" || !content) return { thinking: "", text: content ?? "" };
  const textsIn = (parts: unknown): string =>
    Array.isArray(parts) ? parts.map((part) => asText(asObject(part).text)).join("") : "";
  return {
    thinking: content.map((part) => part.type === "thinking" ? textsIn(part.thinking) : "").join(""),
    text: textsIn(content.filter((part) => part.type === "text")),
  };
}

export function parseAnnotation(annotation: object): Annotation {
  const cited = asObject("url_citation" in annotation && annotation.url_citation);
  const { url, title, start_index, end_index } = cited;
  return {
    type: "url-citation",
    url: asText(url),
    ...(isText(title) && { title }),
    // An empty place is none.
    ...(typeof end_index === "number" && end_index > 0 && {
      ...(typeof start_index === "number" && { start: start_index }),
      end: end_index,
    }),
  };
}
