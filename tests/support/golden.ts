/**
 * Golden files: what the gateway makes of every exchange in `tests/fixtures`, one readable file for each in
 * `tests/golden/<wire>/<case>.txt`. Below a heading each, it has the request as an upstream of every wire gets it, the answer
 * as a client of every wire gets it (whole or streamed, as the upstream gave it), an error or a refusal in its place, and the
 * notes on them. A body stands on lines of its own, a frame of a stream on one line.
 *
 * What is the same in every case is left out of these files, so that a change of it changes one line elsewhere:
 *
 * | left out, or written as a word | still pinned, byte for byte, by |
 * | --- | --- |
 * | members of the gateway's own objects that are as in the envelope of their kind: ids, clocks, names of objects, defaults, empty fields, headers of errors, the model's name for upstreams | `golden/envelopes.txt`. A member that differs or is absent is written in the case, and so is one in another position |
 * | `(id of message 0)`: the id that the gateway gives to an item | the id's spelling in `golden/envelopes.txt`, the number in the case |
 * | `(default)`: the limit that a request gets whose client sets none | `golden/envelopes.txt` |
 * | `(estimate)`: the count of the input that starts a stream | `golden/estimates.txt`, a line for each case |
 * | `sequence_number` where it is the position of the frame | any other number is written in the case |
 * | `type` where it is the name of the frame | any other type is written as a whole frame |
 * | `event:`, `data:`, blank lines | `http/sse_test.ts` |
 *
 * The envelopes are learnt from a list of sample exchanges, as the gateway translates them now. Nothing is lost: when the
 * files are written, each whole is restored from what is written of it and the envelopes, and compared with the original.
 *
 * `deno task test:update` writes all of these files; the diff is the review.
 */
import type { Fixture } from "./fixtures.ts";
import type { Usual } from "./golden/pieces.ts";
import { translate } from "./golden/translate.ts";
import { write } from "./golden/write.ts";
import type { Wire } from "./wires.ts";

/** The golden file of a case. An exchange with an answer has the gateway's count of its input too. */
export interface Golden {
  text: string;
  inputTokens?: number;
}

/** `isSure`: fails where what is written does not tell the whole. */
export async function goldenOf(fixture: Fixture, from: Wire, usual: Usual, isSure: boolean): Promise<Golden> {
  const sections: string[] = [];
  let inputTokens: number | undefined;
  for (const translation of await translate(fixture, from)) {
    inputTokens = translation.inputTokens ?? inputTokens;
    sections.push(write(translation, usual, isSure));
  }
  return { text: sections.join("\n"), inputTokens };
}
