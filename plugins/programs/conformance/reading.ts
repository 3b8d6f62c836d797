/** What the wires share when an answer is read. */
import { asText, isJsonObject, type JsonObject, type JsonValue } from "../../../src/canonical/json.ts";
import type { CheckedAnswer, CheckReply } from "../../../src/contract/conformance.ts";

export function emptyAnswer(): CheckedAnswer {
  return { text: "", thoughts: "", calls: [], isFailed: false, complaints: [] };
}

/** The JSON object of a body; nothing where it is none. */
export function objectIn(text: string | undefined): JsonObject | undefined {
  try {
    const value: JsonValue = JSON.parse(text ?? "");
    return isJsonObject(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

export interface CheckedEvent {
  name?: string;
  data: string;
}

/** The events of a stream, as the specification of server-sent events reads them. */
export function eventsIn(text: string): CheckedEvent[] {
  return text.replaceAll("\r\n", "\n").split("\n\n").flatMap((block) => {
    const lines = block.split("\n");
    const of = (field: string) =>
      lines.filter((line) => line.startsWith(`${field}:`)).map((line) =>
        line.slice(field.length + 1).replace(/^ /, "")
      );
    const data = of("data");
    return data.length > 0 ? [{ name: of("event").at(-1), data: data.join("\n") }] : [];
  });
}

/** Counts of tokens, which are whole numbers. */
export function countsIn(usage: JsonValue | undefined, input: string, output: string): CheckedAnswer["usage"] {
  if (!isJsonObject(usage)) return undefined;
  const [inputs, outputs] = [usage[input], usage[output]];
  return Number.isInteger(inputs) && Number.isInteger(outputs)
    ? { input: inputs as number, output: outputs as number }
    : undefined;
}

/** How much of an error is shown. */
const MOST_ERROR = 160;

/** What came in place of an answer. */
export function refusalIn({ status, text }: CheckReply): string {
  if (status === 0) return "No answer came";
  const { error } = objectIn(text) ?? {};
  const message = isJsonObject(error) ? asText(error.message) : "";
  return `The status is ${status}, not 200: ${(message || text).slice(0, MOST_ERROR)}`;
}

/** What is wrong before the body is looked at. */
export function complaintsOfHead({ contentType, isCut }: CheckReply, type: string): string[] {
  return [
    ...contentType.startsWith(type) ? [] : [`The content type is "${contentType}", not ${type}`],
    ...isCut ? ["The connection ended before the body did"] : [],
  ];
}

/** The complaints about calls, which every wire has. */
export function complaintsOfCalls({ calls }: CheckedAnswer): string[] {
  const ids = calls.map(({ id }) => id);
  return [
    ...new Set(ids).size < ids.length ? ["Two calls have the same id"] : [],
    ...calls.flatMap(({ id, name, input }) => [
      ...id === "" ? ["A call has no id"] : [],
      ...name === "" ? ["A call has no name"] : [],
      ...objectIn(input) ? [] : [`The arguments of ${name || "a call"} are no JSON object: ${input.slice(0, 80)}`],
    ]),
  ];
}
