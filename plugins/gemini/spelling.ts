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
  return hasOther(value) ? renamed(value) : value;
}

/** Whether there is a name to change. By a plain loop: most requests have none, and may be long. */
function hasOther(value: unknown): boolean {
  if (Array.isArray(value)) return value.some(hasOther);
  if (!isJsonObject(value)) return false;
  for (const key in value) {
    if (CAMEL_OF.has(key) || !FREE.has(key) && hasOther(value[key])) return true;
  }
  return false;
}

function renamed(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(renamed);
  if (!isJsonObject(value)) return value;
  const copy: JsonObject = {};
  for (const key in value) {
    const name = nameIn(value, key);
    setField(copy, name, (FREE.has(name) ? value[key] : renamed(value[key])) as JsonValue | undefined);
  }
  return copy;
}

/** Where both spellings are there, the one in snake case is a field that nobody knows. */
function nameIn(value: JsonObject, key: string): string {
  const name = CAMEL_OF.get(key) ?? key;
  return name !== key && Object.hasOwn(value, name) ? key : name;
}
