/** The fields of a request of the Ollama wire. */
import type { JsonObject, JsonValue } from "../../../src/canonical/json.ts";
import { OLLAMA_SAMPLING } from "../../shared/sampling.ts";
import { messageSamples, type Sample, sample, samplingSamples } from "./sample.ts";

const ASKED = { role: "user", content: "Hello" };
/** A whole answer, which is compared as JSON. */
const BASE: JsonObject = { stream: false, messages: [ASKED] };
const SCHEMA: JsonObject = { type: "object", properties: { where: { type: "string" } } };
const LOOK: JsonObject = { name: "look", description: "To look", parameters: SCHEMA };

const top = (field: string, value: JsonValue) => sample(field, BASE, { [field.split(/[.:[]/)[0]!]: value });
const option = (name: string, value: JsonValue) =>
  sample(`options.${name}`, BASE, { options: { [name.split(":")[0]!]: value } });
const turns = (...messages: JsonObject[]): JsonObject => ({ stream: false, messages });
const { role, message } = messageSamples(turns, ASKED);
const ANSWERED: JsonObject = { role: "assistant", content: "Look" };
const CALLED: JsonObject = { name: "look", arguments: { where: "there" } };
/** A result that names no call answers the first one. */
const TWO_CALLS: JsonObject = {
  role: "assistant",
  content: "",
  tool_calls: [{ function: CALLED }, { function: { ...CALLED, name: "find" } }],
};
const called = (
  field: string,
  call: JsonObject,
  result: JsonObject = {},
  before: JsonObject = { function: CALLED },
) => {
  const conversation = (one: JsonObject, answer: JsonObject = {}): JsonObject => ({
    ...turns(ASKED, { role: "assistant", content: "", tool_calls: [one] }, {
      role: "tool",
      content: "Found",
      ...answer,
    }),
    tools: [{ type: "function", function: LOOK }],
  });
  return { field, without: conversation(before), with: conversation(call, result) };
};
const tool = (field: string, definition: JsonObject, outer: JsonObject = {}): Sample => ({
  field,
  without: { ...BASE, tools: [{ type: "function", function: LOOK }] },
  with: { ...BASE, tools: [{ type: "function", function: { ...LOOK, ...definition }, ...outer }] },
});

const { temperature, top_k, ...sampling } = samplingSamples(OLLAMA_SAMPLING, option);
/** Options that only a server's engine knows. */
const ENGINE = [
  ...["num_ctx", "min_p", "typical_p", "repeat_last_n", "repeat_penalty", "num_keep", "num_batch", "num_gpu"],
].filter((name) => !(name in OLLAMA_SAMPLING.shape));

export const OLLAMA_REQUESTS: readonly Sample[] = [
  top("messages", [{ role: "user", content: "keptText" }]),
  ...["system", "user", "assistant"].map(role),
  message("messages[].thinking", ANSWERED, { thinking: "keptThought" }),
  message("messages[].images", ASKED, { images: ["keptPicture"] }),
  message("messages[]: any other field", ASKED, { another: "keptValue" }),
  called("messages[].tool_calls[].id", { id: "keptId", function: CALLED }),
  called("messages[].tool_calls[].function.name", { function: { ...CALLED, name: "keptName" } }),
  called("messages[].tool_calls[].function.arguments", { function: { ...CALLED, arguments: { where: "keptWhere" } } }),
  called("messages[].tool_calls[].function.index", { function: { index: 0, ...CALLED } }),
  {
    field: "messages[].tool_name",
    without: turns(ASKED, TWO_CALLS, { role: "tool", content: "Found" }),
    with: turns(ASKED, TWO_CALLS, { role: "tool", content: "Found", tool_name: "find" }),
  },
  called("messages[].tool_call_id", { id: "keptId", function: CALLED }, { tool_call_id: "keptId" }),
  called("messages[].role: tool", { function: CALLED }, { content: "keptResult" }),
  sample("tools", BASE, { tools: [{ type: "function", function: { name: "keptName" } }] }),
  tool("tools[].function.name", { name: "keptName" }),
  tool("tools[].function.description", { description: "keptDescription" }),
  tool("tools[].function.parameters", {
    parameters: { type: "object", properties: { keptWhere: { type: "string" } } },
  }),
  tool("tools[].function: any other field", { another: "keptValue" }),
  tool("tools[]: any other field", {}, { another: "keptValue" }),
  { field: "stream", without: BASE, with: { ...BASE, stream: true } },
  top("format: json", "json"),
  top("format: none", ""),
  top("format: a schema", { ...SCHEMA, title: "keptTitle" }),
  top("think: true", true),
  top("think: false", false),
  ...["low", "medium", "high", "max"].map((level) => top(`think: ${level}`, level)),
  top("keep_alive", "5m"),
  top("truncate", true),
  top("truncate: false", false),
  top("shift", true),
  top("shift: false", false),
  top("logprobs", true),
  top("logprobs: false", false),
  top("top_logprobs", 3),
  option("num_predict", 321),
  option("num_predict: -1", -1),
  temperature,
  top_k,
  ...Object.values(sampling),
  option("stop", ["keptStop"]),
  ...ENGINE.map((name) => option(name, 0.321)),
  sample("options: any other option", BASE, { options: { another: "keptValue" } }),
  top("any other field", "keptValue"),
].map((one) => one.field === "any other field" ? sample(one.field, BASE, { another: "keptValue" }) : one);
