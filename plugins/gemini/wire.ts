/**
 * The shapes of the Gemini wire as its clients send them: protocol buffers written as JSON, whose names may be in snake case, too
 * (`spelling.ts`). It is spoken to clients only: the vendor's models have the chat wire as well.
 */
import { z } from "zod";
import { GEMINI_SAMPLING } from "../shared/sampling.ts";
import { double, json, name } from "../shared/shapes.ts";

export const WIRE = "gemini";

const text = z.string().nullish();
const flag = z.boolean().nullish();
const whole = double(z.int()).nullish();
/** A word of a vocabulary, whatever its case. */
const word = z.string().nullish();

function keysOf(fields: object): ReadonlySet<string> {
  return new Set(Object.keys(fields));
}

const blobFields = { mimeType: name, data: z.string(), displayName: text };
const fileFields = { fileUri: name, mimeType: text, displayName: text };
const callFields = { id: text, name, args: json.nullish() };
const mediaFields = {
  inlineData: z.looseObject(blobFields).nullish(),
  fileData: z.looseObject(fileFields).nullish(),
};
const media = z.looseObject(mediaFields);
const resultFields = { id: text, name: text, response: json.nullish(), parts: z.array(media).nullish() };
export const BLOB_KEYS = keysOf(blobFields);
export const FILE_KEYS = keysOf(fileFields);
export const CALL_KEYS = keysOf(callFields);
export const RESULT_KEYS = keysOf(resultFields);

const partFields = {
  text,
  ...mediaFields,
  functionCall: z.looseObject(callFields).nullish(),
  functionResponse: z.looseObject(resultFields).nullish(),
  thought: flag,
  /** Bytes in base64, which the model wrote for itself. */
  thoughtSignature: text,
};
const part = z.looseObject(partFields);
export const PART_KEYS = keysOf(partFields);
export type GeminiPart = z.output<typeof part>;
export type GeminiResult = NonNullable<GeminiPart["functionResponse"]>;
export type GeminiMedia = z.output<typeof media>;

const contentFields = {
  /** Whoever has no role is the user; results stood in turns of their own. */
  role: z.enum(["user", "model", "function"]).nullish(),
  parts: z.array(part).nullish(),
};
const content = z.looseObject(contentFields);
export const CONTENT_KEYS = keysOf(contentFields);
export type GeminiContent = z.output<typeof content>;

const instructions = z.union([z.string(), z.looseObject({ role: text, parts: z.array(part).nullish() })]);

const declarationFields = {
  name,
  description: text,
  /** A schema of OpenAPI, whose types are in capitals. */
  parameters: json.nullish(),
  parametersJsonSchema: json.nullish(),
};
const declaration = z.looseObject(declarationFields);
export const DECLARATION_KEYS = keysOf(declarationFields);
export type Declaration = z.output<typeof declaration>;

const tool = z.looseObject({ functionDeclarations: z.array(declaration).nullish() });
export type GeminiTool = z.output<typeof tool>;

const callingFields = {
  mode: z.enum(["MODE_UNSPECIFIED", "AUTO", "ANY", "NONE", "VALIDATED"]).nullish(),
  allowedFunctionNames: z.array(z.string()).nullish(),
};
const toolConfig = z.looseObject({ functionCallingConfig: z.looseObject(callingFields).nullish() });
export const CALLING_KEYS = keysOf(callingFields);
export type ToolConfig = z.output<typeof toolConfig>;

const thinkingFields = {
  includeThoughts: flag,
  /** 0: none. -1: as much as the model thinks fit. */
  thinkingBudget: whole,
  thinkingLevel: word,
};
export const THINKING_KEYS = keysOf(thinkingFields);

/** In the order in which the first mistake is reported. */
const { seed, presencePenalty, frequencyPenalty, ...first } = GEMINI_SAMPLING.shape;
const configFields = {
  ...first,
  candidateCount: whole,
  maxOutputTokens: double(z.int().min(1)).nullish(),
  stopSequences: z.array(z.string()).nullish(),
  seed,
  presencePenalty,
  frequencyPenalty,
  responseMimeType: text,
  responseSchema: json.nullish(),
  responseJsonSchema: json.nullish(),
  responseModalities: z.array(z.string()).nullish(),
  responseLogprobs: flag,
  thinkingConfig: z.looseObject(thinkingFields).nullish(),
};
const generationConfig = z.looseObject(configFields);
export const CONFIG_KEYS = keysOf(configFields);
export type GenerationConfig = z.output<typeof generationConfig>;

const requestFields = {
  contents: z.array(content).min(1),
  systemInstruction: instructions.nullish(),
  tools: z.array(tool).nullish(),
  toolConfig: toolConfig.nullish(),
  generationConfig: generationConfig.nullish(),
  cachedContent: text,
  /** The model in the path takes precedence. */
  model: text,
};
export const requestSchema = z.looseObject(requestFields);
export const REQUEST_KEYS = keysOf(requestFields);
export type GeminiRequest = z.output<typeof requestSchema>;

/** What is counted is a conversation alone, or a whole request. */
export const countSchema = z.union([
  z.looseObject({ generateContentRequest: requestSchema }),
  requestSchema,
]);

const embedFields = {
  model: text,
  content: z.looseObject({ role: text, parts: z.array(part).min(1) }),
  outputDimensionality: double(z.int().min(1)).nullish(),
};
export const embedSchema = z.looseObject(embedFields);
export const EMBED_KEYS = keysOf(embedFields);
export type EmbedBody = z.output<typeof embedSchema>;

/** As many as the wire's vendor takes in one request. */
export const batchSchema = z.looseObject({ requests: z.array(embedSchema).min(1).max(100) });
