/** Functions of the client's own, and tools that the server is to run. */
import { extraOf } from "../../src/canonical/extra.ts";
import type { FunctionTool, HostedTool, Tool, ToolChoice } from "../../src/canonical/generate.ts";
import type { HostedWork } from "../../src/canonical/hosted.ts";
import { asObject, asTexts, type JsonObject, type JsonValue, present } from "../../src/canonical/json.ts";
import type { Exchange } from "../../src/contract/context.ts";
import { GatewayError } from "../../src/errors.ts";
import { toJsonSchema } from "./schema.ts";
import { type Declaration, DECLARATION_KEYS, type GeminiTool, type ToolConfig, WIRE } from "./wire.ts";

export function parseTools(tools: readonly GeminiTool[]): Tool[] {
  return tools.flatMap(({ functionDeclarations, ...hosted }) => [
    ...(functionDeclarations ?? []).map(parseFunction),
    ...Object.entries(hosted as JsonObject).flatMap(([name, value]) =>
      value === null || value === undefined ? [] : [parseHosted(name, value)]
    ),
  ]);
}

function parseFunction(declaration: Declaration): FunctionTool {
  const { name, description, parameters, parametersJsonSchema } = declaration;
  const schema = parametersJsonSchema ?? (parameters && toJsonSchema(parameters));
  const extra = extraOf(WIRE, declaration, DECLARATION_KEYS);
  return {
    type: "function",
    name,
    ...present("description", description),
    ...present("parameters", schema),
    ...(extra && { extra }),
  };
}

function parseHosted(name: string, value: JsonValue): HostedTool {
  const work = workOf(name, asObject(value));
  return { type: "hosted", name, ...(work && { work }), extra: { wire: WIRE, fields: { [name]: value } } };
}

/** Nothing for what nobody but the vendor can run. */
function workOf(name: string, { excludeDomains }: JsonObject): HostedWork | undefined {
  if (name === "urlContext") return { kind: "web-fetch" };
  if (name !== "googleSearch" && name !== "googleSearchRetrieval") return undefined;
  const blocked = asTexts(excludeDomains);
  return { kind: "web-search", opensPages: false, ...(blocked.length > 0 && { domains: { blocked } }) };
}

/** Nothing where the model is free to choose among all of them. */
export function parseToolChoice(config: ToolConfig["functionCallingConfig"]): ToolChoice | undefined {
  const { mode, allowedFunctionNames: names } = config ?? {};
  if (mode === "NONE") return { type: "none" };
  const isForced = mode === "ANY";
  if (names && names.length > 0) {
    const [name] = names;
    if (isForced && names.length === 1) return { type: "tool", kind: "function", name: name! };
    return { type: "allowed", mode: isForced ? "required" : "auto", names: [...names] };
  }
  if (isForced) return { type: "required" };
  return mode === "AUTO" ? { type: "auto" } : undefined;
}

/** This wire has no answer for a tool of the server's that did not run. */
export function failTools(tools: readonly HostedTool[], { input }: Exchange<"generate">): never {
  const names = tools.map(({ name }) => `"${name}"`).join(", ");
  const message =
    `Cannot run tool ${names}: no upstream of model "${input.model}" runs it, and neither does the gateway`;
  throw new GatewayError("invalid_request", message, { param: "tools" });
}
