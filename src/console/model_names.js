// @ts-check
/** The names that are proposed for models. */

/** Models that write no answers. A name is all that an upstream's list has. */
const OTHERS =
  /embed|rerank|whisper|transcri|moderation|(^|[-/:])(tts|bge|gte|e5|clip|dall|sora|image|asr|ocr|guard|flux)([-.:]|$)/i;

/** @param {string} model */
export function isForChat(model) {
  return !OTHERS.test(model);
}

/**
 * A short name that nobody has: "openai/gpt-oss-120b" is "gpt-oss-120b", and "qwen3:8b" is "qwen3-8b".
 * @param {string} model
 * @param {readonly string[]} taken
 * @param {boolean} isExact whether the name was typed, and stays as it is
 */
export function freeName(model, taken, isExact = false) {
  const last = model.replace(/\.gguf$/i, "").split(/[\\/]/).filter(Boolean).at(-1) ?? model;
  const name = isExact ? model : last.toLowerCase().replace(/:latest$/, "").replace(/[^a-z0-9._-]+/g, "-") || "model";
  let free = name;
  for (let number = 2; taken.includes(free); number++) free = `${name}-${number}`;
  return free;
}

/**
 * A name as it was typed, without what no name has: a star stands for many names, and few clients send a space.
 * @param {string} text
 */
export function typedName(text) {
  return text.replace(/[\s*]+/g, " ").trim().replaceAll(" ", "-");
}
