/** The questions of the command `probe`. */
export { chatQuestions } from "./chat.ts";
export { serverKinds } from "./kinds.ts";
export { rerankScores } from "./rerank.ts";
export { findWires, type FoundWire } from "./wires.ts";
export { listing, secretPlaces } from "./access.ts";
