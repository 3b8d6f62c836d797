/** All functions of these wires, loaded together. */
export { parseRequest } from "./parse_request.ts";
export { parseResponse } from "./parse_response.ts";
export { parseStream } from "./parse_stream.ts";
export { serializeRequest } from "./serialize_request.ts";
export { serializeResponse, serializeStream } from "./serialize_response.ts";
export { framingOf } from "./ways.ts";
