/** All functions of this wire, loaded together. */
export { parseEdit, parseEditForm, parseRequest } from "./parse_request.ts";
export { fetchOnly, parseResponse } from "./parse_response.ts";
export { parseStream } from "./parse_stream.ts";
export { serializeRequest } from "./serialize_request.ts";
export { serializeResponse } from "./serialize_response.ts";
export { serializeStream } from "./serialize_stream.ts";
