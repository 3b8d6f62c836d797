// @ts-check
/** The wires that the playground speaks: what is asked, and what of an answer it shows. */

/**
 * @typedef {{ name: string, description?: string, parameters: Record<string, unknown> }} FunctionTool
 *
 * @typedef {{ model: string, system: string, prompt: string, images: readonly { mediaType: string, data: string }[],
 *   tools: readonly (FunctionTool | { hosted: Record<string, unknown> })[], maxTokens: number, effort: string }} Asked
 *
 * `images`: base64. `effort` is empty where the model decides.
 *
 * @typedef {{ text: string, reasoning: string, calls: { at: number, name: string, input: string }[], error?: string,
 *   usage?: { input: number, output: number } }} Answer
 *
 * What came of an answer until now.
 *
 * @typedef {{ title: string, path: string, body(asked: Asked): Record<string, unknown>, read(event: any, answer: Answer): void }} Wire
 */

/** @returns {Answer} */
export const noAnswer = () => ({ text: "", reasoning: "", calls: [] });

/** @type {Record<string, Wire>} */
export const WIRES = {
  messages: {
    title: "Messages",
    path: "v1/messages",
    body: ({ model, system, prompt, images, tools, maxTokens, effort }) => ({
      model,
      max_tokens: maxTokens,
      stream: true,
      ...system && { system },
      ...thinkingFor(effort),
      ...tools.length > 0 && {
        tools: tools.map((tool) => {
          if ("hosted" in tool) return tool.hosted;
          const { parameters, ...rest } = tool;
          return { ...rest, input_schema: parameters };
        }),
      },
      messages: [{
        role: "user",
        content: [
          ...images.map(({ mediaType, data }) => ({
            type: "image",
            source: { type: "base64", media_type: mediaType, data },
          })),
          { type: "text", text: prompt },
        ],
      }],
    }),
    read({ type, index, message, content_block: block, delta, usage, error }, answer) {
      if (type === "message_start") count(answer, withCached(message.usage));
      if (type === "content_block_start" && /tool_use$/.test(block.type)) call(answer, index).name = block.name;
      if (type === "content_block_delta") {
        answer.text += delta.text ?? "";
        answer.reasoning += delta.thinking ?? "";
        if (delta.partial_json) call(answer, index).input += delta.partial_json;
      }
      if (type === "message_delta") count(answer, withCached(usage));
      if (type === "error") answer.error = error.message;
    },
  },
  chat: {
    title: "Chat Completions",
    path: "v1/chat/completions",
    body: ({ model, system, prompt, images, tools, maxTokens, effort }) => ({
      model,
      max_completion_tokens: maxTokens,
      stream: true,
      stream_options: { include_usage: true },
      ...effort && { reasoning_effort: effort },
      ...tools.length > 0 && {
        tools: tools.map((tool) => "hosted" in tool ? tool.hosted : { type: "function", function: tool }),
      },
      messages: [
        ...system ? [{ role: "system", content: system }] : [],
        {
          role: "user",
          content: images.length === 0 ? prompt : [
            ...images.map((image) => ({ type: "image_url", image_url: { url: addressOf(image) } })),
            { type: "text", text: prompt },
          ],
        },
      ],
    }),
    read({ choices, usage, error }, answer) {
      const delta = choices?.[0]?.delta ?? {};
      answer.text += delta.content ?? delta.refusal ?? "";
      answer.reasoning += delta.reasoning_content ?? delta.reasoning ?? "";
      for (const { index, function: called, custom = {} } of delta.tool_calls ?? []) {
        const { name, arguments: input } = called ?? { ...custom, arguments: custom.input };
        const one = call(answer, index);
        one.name ||= name ?? "";
        one.input += input ?? "";
      }
      if (usage) count(answer, { input_tokens: usage.prompt_tokens, output_tokens: usage.completion_tokens });
      if (error) answer.error = error.message;
    },
  },
  responses: {
    title: "Responses",
    path: "v1/responses",
    body: ({ model, system, prompt, images, tools, maxTokens, effort }) => ({
      model,
      max_output_tokens: maxTokens,
      stream: true,
      store: false,
      ...system && { instructions: system },
      ...effort && { reasoning: { effort } },
      ...tools.length > 0 && {
        tools: tools.map((tool) => "hosted" in tool ? tool.hosted : { type: "function", ...tool, strict: false }),
      },
      input: [{
        role: "user",
        content: [
          ...images.map((image) => ({ type: "input_image", image_url: addressOf(image) })),
          { type: "input_text", text: prompt },
        ],
      }],
    }),
    read({ type, output_index: index, delta, item, response, error, message }, answer) {
      if (type === "response.output_text.delta" || type === "response.refusal.delta") answer.text += delta;
      if (/^response\.reasoning(_summary)?_text\.delta$/.test(type)) answer.reasoning += delta;
      if (type === "response.output_item.added" && /^(function|custom_tool)_call$/.test(item.type)) {
        call(answer, index).name = item.name;
      }
      if (/^response\.(function_call_arguments|custom_tool_call_input)\.delta$/.test(type)) {
        call(answer, index).input += delta;
      }
      if (response?.usage) count(answer, response.usage);
      if (type === "response.failed") answer.error = response.error?.message ?? "The answer failed";
      if (type === "error") answer.error = error?.message ?? message;
    },
  },
};

/**
 * Messages knows no "none" and no "minimal": a model that is not to think is told so, and the least effort is low.
 * @param {string} effort
 */
function thinkingFor(effort) {
  if (effort === "") return {};
  if (effort === "none") return { thinking: { type: "disabled" } };
  return { thinking: { type: "adaptive" }, output_config: { effort: effort === "minimal" ? "low" : effort } };
}

/** @param {{ mediaType: string, data: string }} image */
function addressOf({ mediaType, data }) {
  return `data:${mediaType};base64,${data}`;
}

/**
 * The call at that place of the answer.
 * @param {Answer} answer
 * @param {number} at
 */
function call({ calls }, at) {
  const known = calls.find((one) => one.at === at);
  if (known) return known;
  const one = { at, name: "", input: "" };
  calls.push(one);
  return one;
}

/**
 * The usage of a Messages answer as the other wires count it: with the tokens of the input that came from a cache or went there.
 * @param {Record<string, number>} [usage]
 */
function withCached(
  { input_tokens: input, cache_read_input_tokens: read, cache_creation_input_tokens: made, ...rest } = {},
) {
  return { ...rest, ...input !== undefined && { input_tokens: input + (read ?? 0) + (made ?? 0) } };
}

/**
 * @param {Answer} answer
 * @param {Record<string, number> | undefined} usage what it does not name is as it was
 */
function count(answer, { input_tokens: input, output_tokens: output } = {}) {
  answer.usage = { input: input ?? answer.usage?.input ?? 0, output: output ?? answer.usage?.output ?? 0 };
}

/**
 * The tools that somebody wrote down as any of the wires has them: a list of functions, each with a name and a schema of
 * its arguments. What names another type is for the gateway or the model, and goes out as it is. Throws an error for people.
 * @param {string} text
 * @returns {Asked["tools"]}
 */
export function readTools(text) {
  if (text.trim() === "") return [];
  const list = parse(text);
  if (!Array.isArray(list)) throw new TypeError("The tools must be a list: [ … ]");
  return list.map((one, index) => {
    const where = `Tool ${index + 1}`;
    if (!isObject(one)) throw new TypeError(`${where} must be an object: { … }`);
    if (typeof one.type === "string" && one.type !== "function" && !("input_schema" in one)) return { hosted: one };
    const tool = isObject(one.function) ? one.function : one;
    const { name, description, parameters = tool.input_schema } = tool;
    if (typeof name !== "string" || !/^[\w.-]{1,128}$/.test(name)) throw new TypeError(`${where} needs a "name"`);
    if (!isObject(parameters)) {
      throw new TypeError(`${where}, "${name}", needs "parameters": the JSON schema of its arguments`);
    }
    return { name, ...typeof description === "string" && { description }, parameters };
  });
}

/** @param {string} text */
function parse(text) {
  try {
    return JSON.parse(text);
  } catch (error) {
    throw new TypeError(`The tools are not valid JSON: ${/** @type {Error} */ (error).message}`);
  }
}

/**
 * @param {unknown} value
 * @returns {value is Record<string, any>}
 */
function isObject(value) {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/**
 * The text of a body, piece by piece. Leaving the loop early ends the request.
 * @param {ReadableStream<Uint8Array<ArrayBuffer>> | null} body
 */
export async function* textsIn(body) {
  // Not every browser can iterate a stream.
  const reader = body?.pipeThrough(new TextDecoderStream()).getReader();
  try {
    for (let read = await reader?.read(); read && !read.done; read = await reader?.read()) yield read.value;
  } finally {
    await reader?.cancel().catch(() => {});
  }
}

/**
 * The events of a stream, each as JSON.
 * @param {ReadableStream<Uint8Array<ArrayBuffer>> | null} body
 */
export async function* eventsIn(body) {
  let rest = "";
  for await (const piece of textsIn(body)) {
    const lines = (rest + piece).split("\n");
    rest = lines.pop() ?? "";
    for (const line of lines) {
      const data = line.startsWith("data:") ? line.slice("data:".length).trim() : "";
      if (data.startsWith("{")) yield JSON.parse(data);
    }
  }
}
