/** The names of fields: clients write them in camel case, or as the vendor's files of protocol buffers do, in snake case. */
import { isJsonObject, type JsonObject, type JsonValue, setField } from "../../src/canonical/json.ts";

const NAMES = [
  ...["systemInstruction", "toolConfig", "generationConfig", "safetySettings", "cachedContent", "serviceTier"],
  ...["inlineData", "fileData", "mimeType", "displayName", "fileUri", "functionCall", "functionResponse"],
  ...["thoughtSignature", "executableCode", "codeExecutionResult", "videoMetadata", "mediaResolution"],
  ...["functionDeclarations", "parametersJsonSchema", "responseJsonSchema", "googleSearch", "googleSearchRetrieval"],
  ...["urlContext", "codeExecution", "computerUse", "fileSearch", "googleMaps", "mcpServers"],
  ...["functionCallingConfig", "allowedFunctionNames", "retrievalConfig", "excludeDomains", "timeRangeFilter"],
  ...["topP", "topK", "candidateCount", "maxOutputTokens", "stopSequences", "presencePenalty", "frequencyPenalty"],
  ...["responseMimeType", "responseSchema", "responseModalities", "responseLogprobs", "speechConfig", "imageConfig"],
  ...["thinkingConfig", "includeThoughts", "thinkingBudget", "thinkingLevel"],
  ...["generateContentRequest", "outputDimensionality", "taskType"],
];
const CAMEL_OF: ReadonlyMap<string, string> = new Map(
  NAMES.map((name) => [name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`), name]),
);

/** What these hold are the client's own names. */
const FREE: ReadonlySet<string> = new Set([
  ...["args", "response", "parameters", "parametersJsonSchema", "responseSchema", "responseJsonSchema", "labels"],
]);

/** The request with the names that are known in camel case; the same one where they are. */
export function inCamelCase(value: unknown): unknown {
  if (Array.isArray(value)) {
    const items = value.map(inCamelCase);
    return items.some((item, index) => item !== value[index]) ? items : value;
  }
  if (!isJsonObject(value)) return value;
  const copy: JsonObject = {};
  let isChanged = false;
  for (const key in value) {
    const name = nameIn(value, key);
    const inner = FREE.has(name) ? value[key] : inCamelCase(value[key]) as JsonValue | undefined;
    isChanged ||= name !== key || inner !== value[key];
    setField(copy, name, inner);
  }
  return isChanged ? copy : value;
}

/** Where both spellings are there, the one in snake case is a field that nobody knows. */
function nameIn(value: JsonObject, key: string): string {
  const name = CAMEL_OF.get(key) ?? key;
  return name !== key && Object.hasOwn(value, name) ? key : name;
}
