/** All functions of these wires, loaded together. */
export { parseFim, serializeFim, serializeFimStream } from "./fim.ts";
export { parseInfill, serializeInfill, serializeInfillStream } from "./infill.ts";
export { parseRequest } from "./parse_request.ts";
export { parseResponse } from "./parse_response.ts";
export { parseStream } from "./parse_stream.ts";
export { serializeRequest } from "./serialize_request.ts";
export { serializeResponse } from "./serialize_response.ts";
export { serializeStream } from "./serialize_stream.ts";
export { framingOf } from "./ways.ts";
