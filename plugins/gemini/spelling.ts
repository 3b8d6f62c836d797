/**
 * What may be written in more than one way: names of fields in camel case, or as the vendor's files of protocol buffers have them, in
 * snake case; lists of one without their brackets, as the vendor's own examples do.
 */
import { isJsonObject, type JsonObject, type JsonValue, setField } from "../../src/canonical/json.ts";
import { GEMINI_SAMPLING } from "../shared/sampling.ts";

const NAMES = [
  ...["systemInstruction", "toolConfig", "generationConfig", "safetySettings", "cachedContent", "serviceTier"],
  ...["inlineData", "fileData", "mimeType", "displayName", "fileUri", "functionCall", "functionResponse"],
  ...["thoughtSignature", "executableCode", "codeExecutionResult", "videoMetadata", "mediaResolution"],
  ...["functionDeclarations", "parametersJsonSchema", "responseJsonSchema", "googleSearch", "googleSearchRetrieval"],
  ...["urlContext", "codeExecution", "computerUse", "fileSearch", "googleMaps", "mcpServers"],
  ...["functionCallingConfig", "allowedFunctionNames", "retrievalConfig", "excludeDomains", "timeRangeFilter"],
  ...Object.keys(GEMINI_SAMPLING.shape),
  ...["candidateCount", "maxOutputTokens", "stopSequences"],
  ...["responseMimeType", "responseSchema", "responseModalities", "responseLogprobs", "speechConfig", "imageConfig"],
  ...["thinkingConfig", "includeThoughts", "thinkingBudget", "thinkingLevel"],
  ...["generateContentRequest", "outputDimensionality", "taskType"],
];
const CAMEL_OF: ReadonlyMap<string, string> = new Map(
  NAMES.filter((name) => /[A-Z]/.test(name))
    .map((name) => [name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`), name]),
);

/** What these hold are the client's own names. */
const FREE: ReadonlySet<string> = new Set([
  ...["args", "response", "parameters", "parametersJsonSchema", "responseSchema", "responseJsonSchema", "labels"],
]);

/** Lists of objects, which may be one object. */
const LISTS: ReadonlySet<string> = new Set(["contents", "parts", "tools", "functionDeclarations", "requests"]);

/** The request with the names that are known in camel case, and lists that are lists; the same one where all is so. */
export function inOneSpelling(value: unknown): unknown {
  return hasOther(value) ? spelled(value) : value;
}

/** Whether there is anything to change. By a plain loop: most requests have none, and may be long. */
function hasOther(value: unknown): boolean {
  if (Array.isArray(value)) return value.some(hasOther);
  if (!isJsonObject(value)) return false;
  for (const key in value) {
    const inner = value[key];
    if (CAMEL_OF.has(key) || isOnlyOne(key, inner) || !FREE.has(key) && hasOther(inner)) return true;
  }
  return false;
}

function isOnlyOne(name: string, value: unknown): boolean {
  return LISTS.has(name) && isJsonObject(value);
}

function spelled(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(spelled);
  if (!isJsonObject(value)) return value;
  const copy: JsonObject = {};
  for (const key in value) {
    const name = nameIn(value, key);
    const inner = (FREE.has(name) ? value[key] : spelled(value[key])) as JsonValue | undefined;
    setField(copy, name, isOnlyOne(name, inner) ? [inner!] : inner);
  }
  return copy;
}

/** Where both spellings are there, the one in snake case is a field that nobody knows. */
function nameIn(value: JsonObject, key: string): string {
  const name = CAMEL_OF.get(key) ?? key;
  return name !== key && Object.hasOwn(value, name) ? key : name;
}
