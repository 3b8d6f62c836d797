/** Hides credentials in the explanation of a request. Only requests that bring some need it. */
import type { RequestContext } from "../context/request_context.ts";
import { finderFor, hideFound } from "../context/secrets_in_slices.ts";
import { Slots } from "../util/shares.ts";
import { runSliced, type SlicedWork } from "../util/sliced_work.ts";

/** Finding credentials of fewer characters than this takes little memory. */
const FEW_CHARACTERS = 10_000;
/** Finding many credentials takes much memory, so only one request does so at a time. */
const slots = new Slots(1);

/** The explanation without the credentials of the request. Throws `request_too_large` if they are too many. */
export async function withoutCredentials(
  text: string,
  credentials: readonly string[],
  { caller, signal }: Pick<RequestContext, "caller" | "signal">,
): Promise<string> {
  const written = credentials.map((one) => JSON.stringify(one).slice(1, -1));
  const characters = written.reduce((sum, { length }) => sum + length, 0);
  const run = () => runSliced(hideWritten(text, written), signal);
  return await (characters < FEW_CHARACTERS ? run() : slots.run(caller.owner, signal, run));
}

function* hideWritten(text: string, credentials: readonly string[]): SlicedWork<string> {
  return yield* hideFound(text, yield* finderFor(credentials));
}
