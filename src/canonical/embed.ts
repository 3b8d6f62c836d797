/** A request for vectors. Every input is one text or one list of token ids. */
export interface EmbedRequest {
  model: string;
  input: (string | number[])[];
  dimensions?: number;
}

export interface EmbedResponse {
  model: string;
  /** One vector for each input, in the order of the request. */
  vectors: number[][];
  usage: { inputTokens: number; estimated?: true };
}
