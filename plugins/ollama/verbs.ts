/** The code of this wire's endpoints, loaded on the first request to one of them. */
export { parseEmbed, parsePrompt, serializeEmbed, serializeEmbedding } from "./embeddings.ts";
export {
  isCompletion,
  parseCompletion,
  parseGenerate,
  serializeCompletion,
  serializeCompletionStream,
  serializeGenerated,
} from "./generate.ts";
export { serializeModel, serializeRunning, serializeTags } from "./models.ts";
export { parseRequest, parseShow } from "./parse_request.ts";
export { serializeResponse } from "./serialize_response.ts";
export { keepAlive, keepAliveGenerated, serializeGeneratedStream, serializeStream } from "./serialize_stream.ts";
