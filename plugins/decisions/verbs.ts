/** All functions of the wires, for `mod.ts`, which loads them with the first request. */
export { isListed, parseListed, serializeListed } from "./listed.ts";
export { parseRequest } from "./parse_request.ts";
export { serializeResponse } from "./serialize_response.ts";
export { isSystemOne, parseSystemOne, serializeSystemOne } from "./systemone.ts";
export { readDecisions, requestDecisions, wordFor } from "./ways.ts";
