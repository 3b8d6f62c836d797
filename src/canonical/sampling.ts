/** The sampling parameters that wires pass on unchanged, with their names in notes. Each is a number. */
export const SAMPLING_PARAMETERS = {
  temperature: "temperature",
  topP: "top_p",
  presencePenalty: "presence_penalty",
  frequencyPenalty: "frequency_penalty",
  topK: "top_k",
} as const;
export type SamplingParameter = keyof typeof SAMPLING_PARAMETERS;
export type SamplingParameters = { [_ in SamplingParameter]?: number };
