/** Sampling and output controls, adapted to a wire. */
import type { GenerateRequest } from "../canonical/generate.ts";
import type { Control } from "../contract/intake.ts";

/** The request without controls that the wire has no field for; the same object if it has none of them. */
export function withinControls(
  request: GenerateRequest,
  lacks: Readonly<Partial<Record<Control, string>>>,
  note: (text: string) => void,
): GenerateRequest {
  const lost = (Object.keys(lacks) as Control[]).filter((control) => request[control] !== undefined);
  if (lost.length === 0) return request;
  const kept = { ...request };
  for (const control of lost) {
    const value = request[control];
    // An empty control asks for nothing.
    if (typeof value !== "object" || Object.keys(value).length > 0) note(`dropped ${lacks[control]}`);
    delete kept[control];
  }
  return kept;
}

/**
 * The request, which sets no output limit, with that of its budget. That changes nothing if it is the model's own limit:
 * `answerRoom`.
 */
export function withinBudget<T extends { maxOutputTokens?: number }>(
  request: T,
  limit: number,
  { answerRoom = Infinity }: { answerRoom?: number },
  note: (text: string) => void,
): T {
  if (limit < answerRoom) note(`set max_tokens ${limit} (budget)`);
  return { ...request, maxOutputTokens: limit };
}

/** The request with an output limit that the wire allows. */
export function withLeastOutput(
  request: GenerateRequest,
  least = 0,
  note: (text: string) => void,
): GenerateRequest {
  const { maxOutputTokens } = request;
  if (maxOutputTokens === undefined || maxOutputTokens >= least) return request;
  note(`clamped max_tokens ${maxOutputTokens}>${least}`);
  return { ...request, maxOutputTokens: least };
}
