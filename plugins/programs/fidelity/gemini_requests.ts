/** The fields of a request of the Gemini wire. */
import type { JsonObject, JsonValue } from "../../../src/canonical/json.ts";
import { GEMINI_SAMPLING } from "../../shared/sampling.ts";
import { type Sample, samplingSamples } from "./sample.ts";

const ASKED: JsonObject = { role: "user", parts: [{ text: "Hello" }] };
const BASE: JsonObject = { contents: [ASKED] };
const SCHEMA: JsonObject = { type: "object", properties: { where: { type: "string" } } };
const LOOK: JsonObject = { name: "look", description: "To look", parametersJsonSchema: SCHEMA };
const PICTURE = "iVBORw0KGgo=";

const sample = (field: string, without: JsonObject, more: JsonObject): Sample => ({
  field,
  without,
  with: { ...without, ...more },
});
const top = (field: string, more: JsonObject) => sample(field, BASE, more);
const config = (name: string, value: JsonValue, more: JsonObject = {}) =>
  sample(`generationConfig.${name}`, { ...BASE, ...(Object.keys(more).length > 0 && { generationConfig: more }) }, {
    generationConfig: { ...more, [name.split(":")[0]!]: value },
  });
const thinking = (name: string, value: JsonValue) =>
  sample(`thinkingConfig.${name}`, BASE, { generationConfig: { thinkingConfig: { [name.split(":")[0]!]: value } } });
const said = (field: string, ...parts: JsonObject[]): Sample => ({
  field,
  without: BASE,
  with: { contents: [{ role: "user", parts: [{ text: "Hello" }, ...parts] }] },
});
/** Something of the model's, in an earlier turn. */
const answered = (field: string, part: JsonObject, before: JsonObject = { text: "Look" }): Sample => ({
  field,
  without: { contents: [ASKED, { role: "model", parts: [before] }, ASKED] },
  with: { contents: [ASKED, { role: "model", parts: [part] }, ASKED] },
});
const CALL: JsonObject = { name: "look", args: { where: "there" } };
const RESULT: JsonObject = { name: "look", response: { output: "Found" } };
const called = (field: string, call: JsonObject, result: JsonObject = RESULT): Sample => {
  const conversation = (one: JsonObject, answer: JsonObject): JsonObject => ({
    contents: [ASKED, { role: "model", parts: [{ functionCall: one }] }, {
      role: "user",
      parts: [{ functionResponse: answer }],
    }],
    tools: [{ functionDeclarations: [LOOK] }],
  });
  return { field, without: conversation(CALL, RESULT), with: conversation(call, result) };
};
/** A result that names no call answers the first one. */
const TWO_CALLS: JsonObject = {
  role: "model",
  parts: [{ functionCall: CALL }, { functionCall: { ...CALL, name: "find" } }],
};
const declared = (field: string, definition: JsonObject): Sample => ({
  field,
  without: { ...BASE, tools: [{ functionDeclarations: [LOOK] }] },
  with: { ...BASE, tools: [{ functionDeclarations: [{ ...LOOK, ...definition }] }] },
});
const chosen = (field: string, calling: JsonObject): Sample =>
  sample(field, {
    ...BASE,
    tools: [{ functionDeclarations: [LOOK, { name: "find" }] }],
  }, { toolConfig: { functionCallingConfig: calling } });
const hosted = (name: string, value: JsonObject = {}): Sample =>
  sample(`tools[].${name}`, { ...BASE, tools: [{ functionDeclarations: [LOOK] }] }, {
    tools: [{ functionDeclarations: [LOOK] }, { [name]: value }],
  });

const { seed, presencePenalty, frequencyPenalty, ...sampling } = samplingSamples(GEMINI_SAMPLING, config);

export const GEMINI_REQUESTS: readonly Sample[] = [
  top("contents", { contents: [{ role: "user", parts: [{ text: "keptText" }] }] }),
  top("contents[].role: none", { contents: [{ parts: [{ text: "keptText" }] }] }),
  answered("contents[].role: model", { text: "keptText" }),
  top("contents[]: any other field", { contents: [{ ...ASKED, another: "keptValue" }] }),
  said("text", { text: "keptText" }),
  said("inlineData", { inlineData: { mimeType: "image/png", data: PICTURE } }),
  said("inlineData: a document", {
    inlineData: { mimeType: "application/pdf", data: "a2VwdA==", displayName: "kept.pdf" },
  }),
  said("fileData: address", { fileData: { mimeType: "image/png", fileUri: "https://kept.test/keptPicture" } }),
  said("fileData: uploaded", { fileData: { mimeType: "image/png", fileUri: "files/keptFile" } }),
  said("videoMetadata", { text: "More", videoMetadata: { fps: 3 } }),
  said("mediaResolution (part)", { text: "More", mediaResolution: { level: "MEDIA_RESOLUTION_LOW" } }),
  said("a part of another kind", { another: { name: "keptValue" } }),
  answered("thought", { text: "keptThought", thought: true }, { text: "" }),
  answered("thoughtSignature", { text: "Look", thoughtSignature: "keptSignature" }),
  answered("executableCode", { executableCode: { language: "PYTHON", code: "keptCode" } }),
  answered("codeExecutionResult", { codeExecutionResult: { outcome: "OUTCOME_OK", output: "keptOutput" } }),
  called("functionCall.id", { ...CALL, id: "keptId" }),
  called("functionCall.name", { ...CALL, name: "keptName" }),
  called("functionCall.args", { ...CALL, args: { where: "keptWhere" } }),
  called("functionResponse.response: output", CALL, { ...RESULT, response: { output: "keptOutput" } }),
  called("functionResponse.response: error", CALL, { ...RESULT, response: { error: "keptError" } }),
  called("functionResponse.response: another", CALL, { ...RESULT, response: { found: "keptFound", more: 3 } }),
  called("functionResponse.parts", CALL, {
    ...RESULT,
    parts: [{ inlineData: { mimeType: "image/png", data: PICTURE } }],
  }),
  called("functionResponse: any other field", CALL, { ...RESULT, scheduling: "keptScheduling" }),
  called("functionResponse.id", { ...CALL, id: "keptId" }, { ...RESULT, id: "keptId" }),
  {
    field: "functionResponse.name",
    without: { contents: [ASKED, TWO_CALLS, { parts: [{ functionResponse: { response: { output: "Found" } } }] }] },
    with: {
      contents: [ASKED, TWO_CALLS, { parts: [{ functionResponse: { name: "find", response: { output: "Found" } } }] }],
    },
  },
  top("systemInstruction", { systemInstruction: { parts: [{ text: "keptInstruction" }] } }),
  top("systemInstruction: a text", { systemInstruction: "keptInstruction" }),
  top("system_instruction", { system_instruction: { parts: [{ text: "keptInstruction" }] } }),
  top("tools", { tools: [{ functionDeclarations: [{ name: "keptName" }] }] }),
  declared("functionDeclarations[].name", { name: "keptName" }),
  declared("functionDeclarations[].description", { description: "keptDescription" }),
  declared("functionDeclarations[].parametersJsonSchema", {
    parametersJsonSchema: { type: "object", properties: { keptWhere: { type: "string" } } },
  }),
  {
    ...declared("functionDeclarations[].parameters", {}),
    with: {
      ...BASE,
      tools: [{
        functionDeclarations: [{
          name: "look",
          description: "To look",
          parameters: { type: "OBJECT", properties: { keptWhere: { type: "STRING", nullable: true } } },
        }],
      }],
    },
  },
  declared("functionDeclarations[].response", { response: { type: "STRING", title: "keptTitle" } }),
  declared("functionDeclarations[].behavior", { behavior: "NON_BLOCKING" }),
  ...["googleSearch", "googleSearchRetrieval", "urlContext", "codeExecution", "googleMaps", "computerUse", "fileSearch"]
    .map((name) => hosted(name)),
  ...["AUTO", "ANY", "NONE", "VALIDATED"].map((mode) => chosen(`functionCallingConfig.mode: ${mode}`, { mode })),
  chosen("allowedFunctionNames: one", { mode: "ANY", allowedFunctionNames: ["look"] }),
  chosen("allowedFunctionNames: several", { mode: "ANY", allowedFunctionNames: ["look", "find"] }),
  top("toolConfig.retrievalConfig", { toolConfig: { retrievalConfig: { languageCode: "keptLanguage" } } }),
  top("safetySettings", { safetySettings: [{ category: "HARM_CATEGORY_HARASSMENT", threshold: "BLOCK_NONE" }] }),
  top("cachedContent", { cachedContent: "cachedContents/keptCache" }),
  top("serviceTier", { serviceTier: "keptTier" }),
  top("labels", { labels: { team: "keptTeam" } }),
  ...Object.values(sampling),
  config("candidateCount", 2),
  config("candidateCount: 1", 1),
  config("maxOutputTokens", 321),
  config("stopSequences", ["keptStop"]),
  seed,
  presencePenalty,
  frequencyPenalty,
  config("responseMimeType: json", "application/json"),
  config("responseMimeType: text", "text/plain"),
  config("responseMimeType: enum", "text/x.enum"),
  config("responseJsonSchema", { ...SCHEMA, title: "keptTitle" }, { responseMimeType: "application/json" }),
  config("responseSchema", { type: "OBJECT", properties: { keptWhere: { type: "STRING" } } }, {
    responseMimeType: "application/json",
  }),
  config("responseModalities: text", ["TEXT"]),
  config("responseModalities: another", ["IMAGE"]),
  config("responseLogprobs", true),
  config("logprobs", 3),
  config("speechConfig", { languageCode: "keptLanguage" }),
  config("mediaResolution", "MEDIA_RESOLUTION_LOW"),
  sample("generationConfig: any other field", BASE, { generationConfig: { another: "keptValue" } }),
  thinking("includeThoughts", true),
  thinking("thinkingBudget", 321),
  thinking("thinkingBudget: 0", 0),
  thinking("thinkingBudget: -1", -1),
  ...["MINIMAL", "LOW", "MEDIUM", "HIGH"].map((level) => thinking(`thinkingLevel: ${level}`, level)),
  top("any other field", { another: "keptValue" }),
];
