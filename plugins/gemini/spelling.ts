/**
 * Normalizes spellings. Field names may be in camel case, or in snake case as in the vendor's protocol buffers. A list of one item
 * may lack its brackets, as in the vendor's own examples.
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

/** Fields whose values have the client's own names. */
const FREE: ReadonlySet<string> = new Set([
  ...["args", "response", "parameters", "parametersJsonSchema", "responseSchema", "responseJsonSchema", "labels"],
]);

/** Lists of objects that may be given as one object. */
const LISTS: ReadonlySet<string> = new Set(["contents", "parts", "tools", "functionDeclarations", "requests"]);

/** The request with known names in camel case and with proper lists. Returns the same object if there is nothing to change. */
export function inOneSpelling(value: unknown): unknown {
  return hasOther(value) ? spelled(value) : value;
}

/** Whether there is anything to change. It is a plain loop, because most requests need no change and may be long. */
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

/** If both spellings occur, the one in snake case stays as an unknown field. */
function nameIn(value: JsonObject, key: string): string {
  const name = CAMEL_OF.get(key) ?? key;
  return name !== key && Object.hasOwn(value, name) ? key : name;
}
