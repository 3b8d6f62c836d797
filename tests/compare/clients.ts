/** How clients of each wire ask. */
import type { JsonObject } from "../../src/canonical/json.ts";
import { inChat, inMessages, inResponses, type Script } from "../support/script.ts";

export const CLIENT_WIRES = ["chat", "messages", "responses", "gemini", "ollama"] as const;
export type ClientWire = typeof CLIENT_WIRES[number];

/** A request that a client sends. */
export interface Asked {
  method: string;
  path: string;
  headers: Record<string, string>;
  body?: string | Uint8Array<ArrayBuffer>;
  /** It is repeated while this fits its answer. Only the last answer counts. */
  again?: RegExp;
}

const TAILS = { chat: "v1/chat/completions", messages: "v1/messages", responses: "v1/responses", ollama: "api/chat" };

export function pathOf(wire: ClientWire, lane: string, model: string, stream: boolean): string {
  if (wire !== "gemini") return `/${lane}/${TAILS[wire]}`;
  return `/${lane}/v1beta/models/${model}:${stream ? "streamGenerateContent?alt=sse" : "generateContent"}`;
}

export function post(path: string, body: unknown, headers: Record<string, string> = {}): Asked {
  const text = body instanceof Uint8Array || typeof body === "string" ? body : JSON.stringify(body);
  return {
    method: "POST",
    path,
    headers: { "content-type": "application/json", ...headers },
    body: text as string | Uint8Array<ArrayBuffer>,
  };
}

export function get(path: string, headers: Record<string, string> = {}, method = "GET"): Asked {
  return { method, path, headers };
}

/** Asks for what the script says. */
export function askFor(wire: ClientWire, lane: string, model: string, script: Script, stream: boolean): Asked {
  const body = BODIES[wire]({ ...script, stream }, model) as JsonObject;
  // Not all servers take a list of no tools.
  if (script.tools.length === 0) delete body.tools;
  if (wire === "chat" && stream) body.stream_options = { include_usage: true };
  const headers: Record<string, string> = wire === "messages" ? { "anthropic-version": "2023-06-01" } : {};
  return post(pathOf(wire, lane, model, stream), body, headers);
}

export const SHORT: Script = {
  system: "Be brief",
  turns: [{ asked: "Hello", pictures: [], thought: undefined, answered: "Hi", calls: [] }],
  tools: ["look", "get_weather"].map((name) => ({
    name,
    description: `To ${name}`,
    schema: { type: "object", properties: { city: { type: "string" } } },
  })),
  choice: undefined,
  oneByOne: false,
  maxTokens: 1_000,
  temperature: undefined,
  stop: undefined,
  effort: undefined,
  stream: false,
};

const BODIES: Record<ClientWire, (script: Script, model: string) => JsonObject> = {
  chat: inChat,
  messages: inMessages,
  responses: inResponses,
  gemini: (script) =>
    ({
      contents: script.turns.flatMap(({ asked, pictures, thought, answered, calls }) => [
        {
          role: "user",
          parts: [{ text: asked }, ...pictures.map((data) => ({ inlineData: { mimeType: "image/png", data } }))],
        },
        {
          role: "model",
          parts: [
            ...(thought === undefined ? [] : [{ text: thought, thought: true }]),
            ...(answered === undefined ? [] : [{ text: answered }]),
            ...calls.map(({ id, name, input }) => ({ functionCall: { id, name, args: input } })),
          ],
        },
        ...(calls.length === 0 ? [] : [{
          role: "user",
          parts: calls.map(({ id, name, result }) => ({
            functionResponse: { id, name, response: { output: result } },
          })),
        }]),
      ]),
      ...(script.system !== undefined && { systemInstruction: { parts: [{ text: script.system }] } }),
      tools: [{
        functionDeclarations: script.tools.map(({ name, description, schema }) => ({
          name,
          description,
          parametersJsonSchema: schema,
        })),
      }],
      generationConfig: {
        maxOutputTokens: script.maxTokens,
        temperature: script.temperature,
        stopSequences: script.stop,
        thinkingConfig: { includeThoughts: true },
      },
    }) as unknown as JsonObject,
  ollama: (script, model) => {
    const { messages, tools, stream } = inChat(script, model);
    const options = { num_predict: script.maxTokens, temperature: script.temperature, stop: script.stop };
    const flat = (messages as JsonObject[]).map(({ content, reasoning_content, tool_calls, ...message }) => ({
      ...message,
      content: Array.isArray(content) ? String((content[0] as JsonObject).text) : content ?? "",
      thinking: reasoning_content,
      ...(Array.isArray(tool_calls) && tool_calls.length > 0 && {
        tool_calls: (tool_calls as JsonObject[]).map((call) => {
          const { name, arguments: input } = call.function as JsonObject;
          return { function: { name, arguments: JSON.parse(String(input)) } };
        }),
      }),
    }));
    return { model, messages: flat, tools, stream, options } as unknown as JsonObject;
  },
};
