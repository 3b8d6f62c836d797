/** An MCP server on standard input and output with thirty tools, whose schemas use much of the language. */
import { createInterface } from "node:readline";

const SCHEMAS = [
  { properties: { path: { type: "string", pattern: "^(?!\\.\\.)[\\w/.-]+$", minLength: 1 } }, required: ["path"] },
  { properties: { at: { type: "string", format: "date-time" }, link: { type: "string", format: "iri-reference" } } },
  { properties: { size: { $ref: "#/$defs/size" } }, $defs: { size: { type: "integer", minimum: 0, format: "int64" } } },
  { properties: { rows: { type: "array", items: { $ref: "https://schemas.test/rows.json#/row" } } } },
  { properties: { key: { anyOf: [{ type: "string" }, { type: "integer" }, { type: "null" }] } } },
  { properties: { anything: true, nothing: false, more: {} } },
];

const WEATHER = {
  name: "get_weather",
  description: "Get the weather",
  inputSchema: { type: "object", properties: { location: { type: "string" }, exact: true }, required: ["location"] },
};
const OTHERS = Array.from({ length: 29 }, (_, at) => ({
  name: `tool_${at}`,
  description: `Does the thing number ${at}`,
  inputSchema: { type: "object", ...SCHEMAS[at % SCHEMAS.length] },
}));

const RESULTS = {
  initialize: ({ protocolVersion }) => ({
    protocolVersion,
    capabilities: { tools: {} },
    serverInfo: { name: "many", version: "1.0.0" },
  }),
  "tools/list": () => ({ tools: [WEATHER, ...OTHERS] }),
  "tools/call": ({ name, arguments: input }) => ({
    content: [{ type: "text", text: `${name} says that it is sunny in ${input.location}` }],
  }),
  ping: () => ({}),
};

for await (const line of createInterface({ input: process.stdin })) {
  const { id, method, params } = JSON.parse(line);
  if (id === undefined) continue;
  const result = RESULTS[method]?.(params);
  const answer = result ? { result } : { error: { code: -32601, message: `Unknown method: ${method}` } };
  process.stdout.write(`${JSON.stringify({ jsonrpc: "2.0", id, ...answer })}\n`);
}
