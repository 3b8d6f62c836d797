/** What steers an answer, as a wire has it. */
import type { GenerateRequest } from "../canonical/generate.ts";
import type { Control } from "../contract/intake.ts";

/** The request without the controls that a wire has no field for; the same one where it has none of them. */
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
    // What is empty asks for nothing.
    if (typeof value !== "object" || Object.keys(value).length > 0) note(`dropped ${lacks[control]}`);
    delete kept[control];
  }
  return kept;
}

/** The request with a limit of its answer that a wire can have. */
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
