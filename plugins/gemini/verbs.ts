/** The code of this wire's endpoints, loaded on the first request to one of them. */
export { parseBatch, parseEmbed, serializeBatch, serializeEmbed } from "./embeddings.ts";
export * as files from "./files.ts";
export { serializeModel, serializeModelList } from "./models.ts";
export { parseCount, parseRequest, reasoningPlace } from "./parse_request.ts";
export { serializeResponse } from "./serialize_response.ts";
export { serializeList, serializeStream } from "./serialize_stream.ts";
export { failTools } from "./tools.ts";
