/** What differs by model family, as data. */

/** The vendor's own closed models, which take reasoning back only as they encrypted it. */
const OWN = /^(openai\/)?(gpt-(?!oss)|o\d|chatgpt|codex)/i;

/** Whether the model takes the plain text of what was thought in earlier turns. `model` is the upstream's name for it. */
export function takesReasoning(model: string): boolean {
  return !OWN.test(model);
}
