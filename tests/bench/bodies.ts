/** What the benches ask: the conversation of an agent, as long as is wanted, on each wire that clients speak. */

/** The wires of conversations that upstreams speak, too. */
export const WIRES = ["chat", "messages", "responses"] as const;
export type Wire = typeof WIRES[number];

export interface Load {
  /** About how long the body is. */
  bytes: number;
  /** What the fake upstream shall stream (see there); a whole answer where absent. */
  stream?: string;
  /** Orders for the fake upstream about a whole answer. */
  orders?: string;
}

/** `gpt-5.2` or whatever a gateway calls its one model is put in by `model`. */
export function bodyFor(wire: Wire, load: Load, model = "bench"): object {
  const calls = Array.from({ length: Math.max(1, Math.floor(load.bytes / CALL_BYTES)) }, (_, at) => at);
  const stream = load.stream === undefined ? {} : { stream: true };
  const question = `What do they do? ${load.stream ?? load.orders ?? ""}`;
  return { model, ...BODIES[wire](calls, question), temperature: 0.2, ...stream };
}

const SYSTEM = "You are a careful assistant.";
const SAID = "I will read the file.";
const PARAMETERS = { type: "object", properties: { path: { type: "string" } }, required: ["path"] };
export const FILE = 'function add(a, b) {\n\treturn `${a} + "${b}"`; // the sum — 和\n}\n\n'.repeat(8);
/** What one call and its answer take. */
const CALL_BYTES = 800;

/** Calls of a tool with what it answered, and a question at the end. */
const BODIES: Record<Wire, (calls: readonly number[], question: string) => object> = {
  chat: (calls, question) => ({
    messages: [
      { role: "system", content: SYSTEM },
      ...calls.flatMap((at) => {
        const called = { name: "read", arguments: `{"path":"/src/${at}.ts"}` };
        return [
          { role: "assistant", content: SAID, tool_calls: [{ id: `call_${at}`, type: "function", function: called }] },
          { role: "tool", tool_call_id: `call_${at}`, content: FILE },
        ];
      }),
      { role: "user", content: question },
    ],
    tools: [{ type: "function", function: { name: "read", description: "Reads a file", parameters: PARAMETERS } }],
    max_tokens: 1_024,
  }),
  messages: (calls, question) => ({
    system: [{ type: "text", text: SYSTEM }],
    messages: [
      ...calls.flatMap((at) => [
        {
          role: "assistant",
          content: [
            { type: "text", text: SAID },
            { type: "tool_use", id: `call_${at}`, name: "read", input: { path: `/src/${at}.ts` } },
          ],
        },
        { role: "user", content: [{ type: "tool_result", tool_use_id: `call_${at}`, content: FILE }] },
      ]),
      { role: "user", content: question },
    ],
    tools: [{ name: "read", description: "Reads a file", input_schema: PARAMETERS }],
    max_tokens: 1_024,
  }),
  responses: (calls, question) => ({
    instructions: SYSTEM,
    input: [
      ...calls.flatMap((at) => [
        { role: "assistant", content: [{ type: "output_text", text: SAID }] },
        { type: "function_call", call_id: `call_${at}`, name: "read", arguments: `{"path":"/src/${at}.ts"}` },
        { type: "function_call_output", call_id: `call_${at}`, output: FILE },
      ]),
      { role: "user", content: question },
    ],
    tools: [{ type: "function", name: "read", description: "Reads a file", parameters: PARAMETERS, strict: false }],
    max_output_tokens: 1_024,
    store: false,
  }),
};
