/** Whether a gateway answers rightly: one that answers something else fast is no gateway. */
import type { Wire } from "./bodies.ts";
import { Connection } from "./client.ts";
import type { Subject } from "./gateways.ts";
import { BURSTS, CHUNKS, requestOf } from "./traffic.ts";

/** The fake upstream's words, over and over. */
const WORDS = ["la", " li", " lu l", "e lo. "];

export async function checkAnswers(subject: Subject): Promise<void> {
  await checkWhole(subject);
  await checkStream(subject);
  await checkStream(subject, BURSTS);
}

/** Throws unless all of the text of a whole answer comes. */
export async function checkWhole(subject: Subject): Promise<void> {
  const whole = await textOf(subject, undefined);
  if (!whole.includes("la li lu le lo. la li lu le lo.")) throw new Error(`wrong answer: ${whole.slice(0, 200)}`);
}

/**
 * Throws unless all of the text of a stream comes. Returns in how many pieces it came: a client of a gateway that joins chunks
 * sees a model write in jerks.
 */
export async function checkStream(subject: Subject, orders = `chunks=${CHUNKS}`): Promise<number> {
  const streamed = await textOf(subject, orders);
  const pieces = [...streamed.matchAll(/^data: ?(\{.*)$/gm)].flatMap(([, data]) => {
    const piece = PIECE[subject.wire](JSON.parse(data!));
    return piece ? [piece] : [];
  });
  const text = pieces.join("");
  if (text !== WORDS.join("").repeat(CHUNKS / WORDS.length)) {
    throw new Error(`wrong text of ${text.length} characters in ${pieces.length} pieces`);
  }
  return pieces.length;
}

async function textOf(subject: Subject, stream: string | undefined): Promise<string> {
  const connection = await Connection.open(subject.server.origin);
  const decoder = new TextDecoder();
  let text = "";
  try {
    await connection.ask(requestOf(subject, { bytes: 1_000, stream }), (bytes) => {
      text += decoder.decode(bytes, { stream: true });
    });
  } finally {
    connection.close();
  }
  // The seams of the transfer are no text.
  return text.replaceAll(/\r\n[0-9a-f]+\r\n/gi, "").replaceAll("\r\n", "\n");
}

// deno-lint-ignore no-explicit-any -- what a gateway sends
const PIECE: Record<Wire, (event: any) => string | undefined> = {
  chat: (event) => event.choices?.[0]?.delta?.content,
  messages: (event) => event.type === "content_block_delta" ? event.delta.text : undefined,
  responses: (event) => event.type === "response.output_text.delta" ? event.delta : undefined,
};
