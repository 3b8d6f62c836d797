/** What the endpoints of this wire are made of, loaded when one of them is first asked. */
export { serializeModel, serializeTags } from "./models.ts";
export { parseRequest, parseShow } from "./parse_request.ts";
export { serializeResponse } from "./serialize_response.ts";
export { keepAlive, serializeStream } from "./serialize_stream.ts";
