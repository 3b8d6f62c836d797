/** Requests of every client wire, what a host could refuse of the bodies that they become, and hosts that do. */
import fc from "fast-check";
import { isJsonObject, type JsonObject, type JsonValue } from "../../src/canonical/json.ts";
import { SHORTEST, type Wire } from "../regressions/support.ts";
import { type Complaint, refusal, type Style } from "./refusal_words.ts";

export const CLIENTS = ["chat", "messages", "responses", "ollama", "gemini"] as const;
export type Client = typeof CLIENTS[number];

// Requests

/** Each bit is a field or a form that a request has. */
export type Bits = readonly boolean[];

export const BITS: fc.Arbitrary<Bits> = fc.array(fc.boolean(), { minLength: 48, maxLength: 48 });

/** Texts that stay, whatever is given up. */
export const SAID = ["Look, please.", "Be brief.", "What was there?"];
export const TOOLS = ["look", "find", "list"];
/** The client's own limit. */
export const LIMIT = 907;

const SCHEMAS: readonly JsonObject[] = [
  {
    type: "object",
    properties: {
      path: { type: "string", description: "A place", pattern: "^/[a-z]+$", minLength: 1, maxLength: 200 },
      at: { type: "string", format: "date-time" },
      any: { anyOf: [{ type: "string" }, { $ref: "#/$defs/size" }] },
    },
    $defs: { size: { type: "integer", minimum: 1, maximum: 9_000 } },
    required: ["path"],
    additionalProperties: false,
  },
  {
    type: "object",
    properties: {
      // Names that the wires have for fields.
      temperature: { type: ["number", "null"], minimum: -90 },
      name: { type: "string", enum: ["a", "b"] },
      user: { oneOf: [{ type: "string" }, { type: "object", properties: { id: { const: 7 } } }] },
    },
    required: ["temperature"],
  },
  {
    type: "object",
    properties: {
      path: { type: "array", items: { type: "string" }, minItems: 1, uniqueItems: true },
      more: { $ref: "https://schemas.test/other.json" },
    },
  },
];

const ANSWER_SCHEMA: JsonObject = {
  type: "object",
  properties: { path: { type: "string" } },
  required: ["path"],
  additionalProperties: false,
};
/** The answer of every host. It fits the schema. */
const ANSWER = '{"path":"/answered"}';
export const ANSWERED = "/answered";

const PICTURE = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAQAAAC1HAwCAAAAC0lEQVR42mNkYAAAAAYAAjCB0C8AAAAASUVORK5CYII=";

type Optional = readonly [name: string, value: JsonValue];

/** The optional fields that a client of each wire may send; those of the body beside the conversation and the tools. */
const OPTIONAL: Record<Client, readonly Optional[]> = {
  chat: [
    ["temperature", 0.7],
    ["top_p", 0.9],
    ["seed", 7],
    ["user", "somebody"],
    ["parallel_tool_calls", true],
    ["store", false],
    ["metadata", { user_id: "u" }],
    ["logit_bias", { "50256": -100 }],
    ["frequency_penalty", 0.2],
    ["presence_penalty", 0.3],
    ["service_tier", "priority"],
    ["reasoning_effort", "high"],
    ["stop", ["END"]],
    ["top_k", 40],
    ["min_p", 0.05],
    ["verbosity", "low"],
    ["prompt_cache_key", "key-1"],
    ["safety_identifier", "someone-1"],
    ["novelty", { level: 2, mode: "wide" }],
  ],
  messages: [
    ["temperature", 0.7],
    ["top_p", 0.9],
    ["top_k", 40],
    ["stop_sequences", ["END"]],
    ["metadata", { user_id: "u" }],
    ["service_tier", "auto"],
    ["thinking", { type: "enabled", budget_tokens: 512 }],
    ["novelty", { level: 2 }],
    ["container", "c-1"],
  ],
  responses: [
    ["temperature", 0.7],
    ["top_p", 0.9],
    ["store", false],
    ["user", "somebody"],
    ["parallel_tool_calls", true],
    ["truncation", "disabled"],
    ["metadata", { user_id: "u" }],
    ["service_tier", "priority"],
    ["reasoning", { effort: "high", summary: "auto" }],
    ["include", ["reasoning.encrypted_content"]],
    ["prompt_cache_key", "key-1"],
    ["safety_identifier", "someone-1"],
    ["max_tool_calls", 9],
    ["novelty", { level: 2 }],
  ],
  ollama: [
    ["temperature", 0.7],
    ["top_p", 0.9],
    ["top_k", 40],
    ["seed", 7],
    ["stop", ["END"]],
    ["min_p", 0.05],
    ["repeat_penalty", 1.1],
    ["num_ctx", 8192],
  ],
  gemini: [
    ["temperature", 0.7],
    ["topP", 0.9],
    ["topK", 40],
    ["seed", 7],
    ["stopSequences", ["END"]],
    ["presencePenalty", 0.3],
    ["frequencyPenalty", 0.2],
    ["thinkingConfig", { thinkingBudget: 512 }],
  ],
};

/** Where the optional fields end, the other bits begin. */
const FORMS_FROM = 22;

export interface Request {
  path: string;
  body: JsonObject;
}

/** The request of a client. `model`: one of the gateway's. */
export function requestOf(client: Client, bits: Bits, model: string, stream: boolean): Request {
  const optional = OPTIONAL[client].filter((_, at) => bits[at]);
  const form = (at: number) => bits[FORMS_FROM + at] === true;
  const tools = TOOLS.slice(0, form(0) ? 3 : 1).map((name, at) => ({ name, schema: SCHEMAS[at]! }));
  const asked: Asked = { optional: Object.fromEntries(optional), form, tools, model, stream };
  return WRITTEN[client](asked);
}

interface Asked {
  optional: JsonObject;
  form(at: number): boolean;
  tools: { name: string; schema: JsonObject }[];
  model: string;
  stream: boolean;
}

const [ASK = "", BRIEF = "", FIRST = ""] = SAID;
const CALL_ID = "call_0123456789abcdef";
const CALLED = { path: "/there" };

const WRITTEN: Record<Client, (asked: Asked) => Request> = {
  chat({ optional, form, tools, model, stream }) {
    const system = { role: form(1) ? "developer" : "system", content: BRIEF };
    const user = (text: string, more: JsonObject[] = []) => ({
      role: "user",
      ...(form(2) && { name: "ann" }),
      content: form(3) || more.length > 0 ? [{ type: "text", text }, ...more] : text,
    });
    const picture = { type: "image_url", image_url: { url: `data:image/png;base64,${PICTURE}`, detail: "low" } };
    const history = [
      user(FIRST, form(4) ? [picture] : []),
      {
        role: "assistant",
        content: form(5) ? "I look." : null,
        ...(form(6) && { reasoning_content: "I should look." }),
        tool_calls: [{
          id: CALL_ID,
          type: "function",
          ...(form(7) && { index: 0 }),
          function: { name: "look", arguments: JSON.stringify(CALLED) },
        }],
      },
      { role: "tool", tool_call_id: CALL_ID, ...(form(8) && { name: "look" }), content: "a file" },
    ];
    return {
      path: "/oss/v1/chat/completions",
      body: {
        model,
        ...optional,
        ...(form(9) && { max_tokens: LIMIT }),
        ...(stream && { stream }),
        ...(form(10) && { tool_choice: form(11) ? "required" : "auto" }),
        ...(form(12) && {
          response_format: {
            type: "json_schema",
            json_schema: { name: "answer", strict: true, schema: ANSWER_SCHEMA },
          },
        }),
        messages: [
          ...(form(13) ? [] : [system]),
          ...(form(14) ? history : []),
          ...(form(13) ? [system] : []),
          user(ASK),
        ],
        tools: tools.map(({ name, schema }) => ({
          type: "function",
          function: { name, description: "Looks", ...(form(15) && { strict: false }), parameters: schema },
        })),
      },
    };
  },

  messages({ optional, form, tools, model, stream }) {
    const hint = form(1) && { cache_control: { type: "ephemeral" } };
    const text = (said: string) => form(3) ? said : [{ type: "text", text: said, ...hint }];
    const picture = { type: "image", source: { type: "base64", media_type: "image/png", data: PICTURE } };
    const history: JsonObject[] = [
      { role: "user", content: form(4) ? [{ type: "text", text: FIRST }, picture] : text(FIRST) },
      {
        role: "assistant",
        content: [
          ...(form(5) ? [{ type: "text", text: "I look." }] : []),
          { type: "tool_use", id: "toolu_0123456789abcdef", name: "look", input: CALLED },
        ],
      },
      {
        role: "user",
        content: [{
          type: "tool_result",
          tool_use_id: "toolu_0123456789abcdef",
          ...(form(6) && { is_error: false }),
          content: form(7) ? "a file" : [{ type: "text", text: "a file" }],
        }, { type: "text", text: ASK }],
      },
    ];
    return {
      path: "/oss/v1/messages",
      body: {
        model,
        ...optional,
        max_tokens: LIMIT,
        ...(stream && { stream }),
        ...(form(10) && { tool_choice: { type: form(11) ? "any" : "auto" } }),
        system: form(8) ? BRIEF : [{ type: "text", text: BRIEF, ...hint }],
        messages: form(14) ? history : [{ role: "user", content: text(ASK) }],
        tools: tools.map(({ name, schema }, at) => ({
          name,
          description: "Looks",
          input_schema: schema,
          ...(at === 0 && hint),
          ...(form(15) && { eager_input_streaming: true }),
        })),
      },
    };
  },

  responses({ optional, form, tools, model, stream }) {
    const user = (text: string, more: JsonObject[] = []) => ({
      type: "message",
      role: "user",
      content: form(3) && more.length === 0 ? text : [{ type: "input_text", text }, ...more],
    });
    const picture = { type: "input_image", image_url: `data:image/png;base64,${PICTURE}`, detail: "low" };
    const history: JsonObject[] = [
      user(FIRST, form(4) ? [picture] : []),
      {
        type: "function_call",
        call_id: CALL_ID,
        name: "look",
        arguments: JSON.stringify(CALLED),
        ...(form(5) && { status: "completed" }),
      },
      { type: "function_call_output", call_id: CALL_ID, output: "a file" },
    ];
    return {
      path: "/oss/v1/responses",
      body: {
        model,
        ...optional,
        ...(form(9) && { max_output_tokens: LIMIT }),
        ...(stream && { stream }),
        ...(form(10) && { tool_choice: form(11) ? "required" : "auto" }),
        ...(form(12) && {
          text: { format: { type: "json_schema", name: "answer", strict: true, schema: ANSWER_SCHEMA } },
        }),
        instructions: BRIEF,
        input: [
          ...(form(13) ? [{ type: "message", role: "developer", content: "Be kind." }] : []),
          ...(form(14) ? history : []),
          user(ASK),
        ],
        tools: tools.map(({ name, schema }) => ({
          type: "function",
          name,
          description: "Looks",
          strict: false,
          parameters: schema,
        })),
      },
    };
  },

  ollama({ optional, form, tools, model, stream }) {
    const history: JsonObject[] = [
      { role: "user", content: FIRST, ...(form(4) && { images: [PICTURE] }) },
      { role: "assistant", content: "", tool_calls: [{ function: { name: "look", arguments: CALLED } }] },
      { role: "tool", content: "a file", ...(form(5) && { tool_name: "look" }) },
    ];
    return {
      path: "/oss/api/chat",
      body: {
        model,
        stream,
        options: { ...optional, ...(form(9) && { num_predict: LIMIT }) },
        ...(form(10) && { think: form(11) }),
        ...(form(12) && { format: ANSWER_SCHEMA }),
        ...(form(7) && { keep_alive: "5m" }),
        messages: [
          { role: "system", content: BRIEF },
          ...(form(14) ? history : []),
          { role: "user", content: ASK },
        ],
        tools: tools.map(({ name, schema }) => ({
          type: "function",
          function: { name, description: "Looks", parameters: schema },
        })),
      },
    };
  },

  gemini({ optional, form, tools, model, stream }) {
    const history: JsonObject[] = [
      {
        role: "user",
        parts: [{ text: FIRST }, ...(form(4) ? [{ inlineData: { mimeType: "image/png", data: PICTURE } }] : [])],
      },
      { role: "model", parts: [{ functionCall: { name: "look", args: CALLED } }] },
      { role: "user", parts: [{ functionResponse: { name: "look", response: { output: "a file" } } }] },
      { role: "model", parts: [{ text: "There is a file." }] },
    ];
    return {
      path: `/oss/v1beta/models/${model}:${stream ? "streamGenerateContent?alt=sse" : "generateContent"}`,
      body: {
        systemInstruction: { parts: [{ text: BRIEF }] },
        contents: [...(form(14) ? history : []), { role: "user", parts: [{ text: ASK }] }],
        tools: [{
          functionDeclarations: tools.map(({ name, schema }) => ({
            name,
            description: "Looks",
            parametersJsonSchema: schema,
          })),
        }],
        ...(form(10) && { toolConfig: { functionCallingConfig: { mode: form(11) ? "ANY" : "AUTO" } } }),
        generationConfig: {
          ...optional,
          ...(form(9) && { maxOutputTokens: LIMIT }),
          ...(form(12) && { responseMimeType: "application/json", responseJsonSchema: ANSWER_SCHEMA }),
        },
      },
    };
  },
};

// What could be refused

type Steps = readonly (string | number)[];

/** Something that a host refuses. */
export interface Thing {
  kind: "field" | "value" | "keyword" | "bound" | "form";
  /** Its path without the numbers of items, or what it is. */
  name: string;
  /** The host's complaint of a body. Absent if it accepts the body. */
  complaint(body: JsonObject): Complaint | undefined;
  /** Whether a body without it may differ there. */
  mayChange(path: string): boolean;
  /** The number that is left where a bound was named. */
  bound?: { steps: Steps; most: number };
  /** Matches the note of it. */
  note: RegExp;
}

/** The parts without which a request is another one, or none at all. */
const NEEDED: Record<Wire, RegExp> = {
  chat:
    /^(model|stream|stream_options|max_(completion_)?tokens|messages|messages\[\]\.(role|content|tool_calls|tool_call_id)|messages\[\]\.content\[\]\.(type|text|image_url|image_url\.url)|messages\[\]\.tool_calls\[\]\.(id|type|function|function\.(name|arguments))|tools|tools\[\]\.(type|function|function\.(name|parameters))|tool_choice(\..*)?|response_format(\..*)?)$/,
  messages:
    /^(model|stream|max_tokens|messages|system|system\[\]\.(type|text)|messages\[\]\.(role|content)|messages\[\]\.content\[\]\.(type|text|id|name|input|tool_use_id|content|source|source\.\w+|thinking|signature|data|content\[\]\.(type|text))|tools|tools\[\]\.(name|input_schema)|tool_choice(\..*)?|output_config(\.(format(\..*)?))?|output_format(\..*)?)$/,
  responses:
    /^(model|stream|max_output_tokens|input|instructions|input\[\]\.(type|role|content|call_id|name|arguments|output|summary|encrypted_content|id)|input\[\]\.(content|output|summary)\[\]\.(type|text|image_url)|tools|tools\[\]\.(type|name|parameters)|tool_choice(\..*)?|text(\..*)?)$/,
};
/** Fields that protect the client or go to every host. They are left out only where they are named. */
const PROTECTING: Record<Wire, RegExp> = {
  chat: /^stream_options/,
  messages: /^\b$/,
  responses: /^(store|include)$/,
};
/** Fields whose content is the client's own. */
const OWN = /^(metadata|logit_bias|novelty|chat_template_kwargs|.*\.(parameters|input_schema|schema|input))$/;
const SCHEMA_PATHS: Record<Wire, RegExp> = {
  chat: /^(tools\[\]\.function\.parameters|response_format\.json_schema\.schema)$/,
  messages: /^(tools\[\]\.input_schema|output_(config\.)?format\.schema)$/,
  responses: /^(tools\[\]\.parameters|text\.format\.schema)$/,
};

/** All fields of a body, in their order, with their paths as steps. */
function fieldsOf(body: JsonObject, isOwn: (path: string) => boolean = (path) => OWN.test(path)): Map<string, Steps> {
  const found = new Map<string, Steps>();
  const visit = (value: JsonValue | undefined, steps: Steps) => {
    const path = abstract(steps);
    if (steps.length > 0 && typeof steps.at(-1) === "string" && !found.has(path)) found.set(path, steps);
    if (isOwn(path)) return;
    if (Array.isArray(value)) { for (const [at, item] of value.entries()) visit(item, [...steps, at]); }
    else if (isJsonObject(value)) {
      for (const [name, inner] of Object.entries(value)) if (inner !== undefined) visit(inner, [...steps, name]);
    }
  };
  visit(body, []);
  return found;
}

function abstract(steps: Steps): string {
  return steps.map((step, at) => typeof step === "number" ? "[]" : at === 0 ? step : `.${step}`).join("");
}

export function at(body: JsonValue | undefined, steps: Steps): JsonValue | undefined {
  return steps.reduce<JsonValue | undefined>(
    (value, step) => Array.isArray(value) ? value[Number(step)] : isJsonObject(value) ? value[step] : undefined,
    body,
  );
}

function isWithin(path: string, outer: string): boolean {
  return path === outer || path.startsWith(`${outer}.`) || path.startsWith(`${outer}[]`);
}

/** The schemas of a body, with the places of their keywords. */
function keywordsOf(body: JsonObject, wire: Wire): Map<string, Steps> {
  const found = new Map<string, Steps>();
  const visit = (schema: JsonValue | undefined, steps: Steps) => {
    if (!isJsonObject(schema)) return;
    for (const [keyword, value] of Object.entries(schema)) {
      if (!found.has(keyword)) found.set(keyword, [...steps, keyword]);
      if (["properties", "$defs"].includes(keyword) && isJsonObject(value)) {
        for (const [name, one] of Object.entries(value)) visit(one, [...steps, keyword, name]);
      } else if (["anyOf", "oneOf"].includes(keyword) && Array.isArray(value)) {
        for (const [index, one] of value.entries()) visit(one, [...steps, keyword, index]);
      } else if (keyword === "items") visit(value, [...steps, keyword]);
    }
  };
  for (const steps of everySchema(body, wire)) visit(at(body, steps), steps);
  return found;
}

function everySchema(body: JsonObject, wire: Wire): Steps[] {
  const found: Steps[] = [];
  const visit = (value: JsonValue | undefined, steps: Steps) => {
    if (SCHEMA_PATHS[wire].test(abstract(steps))) found.push(steps);
    else if (Array.isArray(value)) { for (const [index, item] of value.entries()) visit(item, [...steps, index]); }
    else if (isJsonObject(value)) { for (const [name, inner] of Object.entries(value)) visit(inner, [...steps, name]); }
  };
  visit(body, []);
  return found;
}

/** Without them a schema describes nothing. */
const CORE = new Set(["type", "properties", "items", "required", "description", "enum", "$defs", "title"]);

function escaped(text: string): RegExp {
  return new RegExp(text.replace(/[.*+?^${}()|[\]\\]/g, "\\$&"));
}

/** Everything that a host could refuse of this body. */
export function thingsIn(body: JsonObject, wire: Wire, isSilent: boolean): Thing[] {
  const fields = [...fieldsOf(body).keys()].filter((path) => {
    return !NEEDED[wire].test(path) && !(isSilent && PROTECTING[wire].test(path));
  });
  const keywords = [...keywordsOf(body, wire).keys()].filter((keyword) => !CORE.has(keyword));
  return [
    ...fields.map(fieldThing),
    ...keywords.map((keyword) => keywordThing(keyword, wire)),
    ...(isSilent ? [] : [...boundsIn(body, wire), ...valuesIn(body, wire)]),
    ...FORMS[wire].filter((form) => (!isSilent || form.isPlain) && form.thing.complaint(body)).map(({ thing }) =>
      thing
    ),
  ];
}

function fieldThing(path: string): Thing {
  return {
    kind: "field",
    name: path,
    complaint(body) {
      const steps = fieldsOf(body).get(path);
      return steps && { path: steps };
    },
    // Cache hints are one thing, wherever they are.
    mayChange: (changed) =>
      isWithin(changed, path) || isWithin(path, changed) || [changed, path].every((one) => /cache_control/.test(one)),
    // What was thought is noted as such, whatever its field is called.
    note: new RegExp([...path.split(/\W+/), ...path.match(/reasoning/) ?? []].filter((step) => step !== "").join("|")),
  };
}

function keywordThing(keyword: string, wire: Wire): Thing {
  return {
    kind: "keyword",
    name: keyword,
    complaint(body) {
      const steps = keywordsOf(body, wire).get(keyword);
      return steps && { path: steps };
    },
    mayChange: (path) => SCHEMA_PATHS[wire].test(path),
    note: new RegExp(`${escaped(keyword).source} in schemas|schemas`),
  };
}

/** Numbers that a host could find too great. */
function boundsIn(body: JsonObject, wire: Wire): Thing[] {
  return [...fieldsOf(body)].flatMap(([path, steps]): Thing[] => {
    const value = at(body, steps);
    const isLimit = /max_(completion_|output_)?tokens$/.test(path);
    if (typeof value !== "number" || value <= 0 || !isLimit && NEEDED[wire].test(path)) return [];
    const most = value >= 2 && Number.isInteger(value) ? Math.floor(value / 2) : value / 2;
    return [{
      kind: "bound",
      name: `${path} at most ${most}`,
      complaint(sent) {
        const found = at(sent, steps);
        return typeof found === "number" && found > most ? { path: steps, most, value: found } : undefined;
      },
      bound: { steps, most },
      mayChange: (changed) => changed === path,
      note: escaped(path.slice(path.lastIndexOf(".") + 1)),
    }];
  });
}

const BAD_VALUE = [
  "Invalid value: '{v}'. Supported values are: 'other', 'another'.",
  "'{v}' is not one of ['other', 'another']",
  "unknown variant `{v}`, expected `other` or `another`",
  "{}: unsupported value '{v}'",
  'Value "{v}" of {} is not supported',
  "不支持的值 '{v}'",
  "Input should be 'other' or 'another' for {}, '{v}' is invalid",
];

/** Words that a host could not know. */
function valuesIn(body: JsonObject, wire: Wire): Thing[] {
  return [...fieldsOf(body)].flatMap(([path, steps]): Thing[] => {
    const value = at(body, steps);
    if (NEEDED[wire].test(path) || typeof value !== "string" || !/^[a-z]{3,20}$/.test(value)) return [];
    // The host may name nothing but the value.
    const alike = [...fieldsOf(body)].filter(([, other]) => at(body, other) === value).map(([other]) => other);
    return [{
      kind: "value",
      name: path,
      complaint(sent) {
        const found = at(sent, fieldsOf(sent).get(path) ?? []);
        return found === value ? { path: steps, value, reasons: BAD_VALUE } : undefined;
      },
      mayChange: (changed) =>
        alike.some((one) => isWithin(one, changed)) || [changed, path].every((one) => /cache_control/.test(one)),
      note: new RegExp(path.split(/\W+/).filter((step) => step !== "").join("|")),
    }];
  });
}

interface Form {
  /** Whether the plainest form of a request is free of it, so that the host need not name it. */
  isPlain: boolean;
  thing: Thing;
}

function formThing(
  name: string,
  reasons: readonly string[],
  isIn: (body: JsonObject) => Steps | undefined,
  mayChange: RegExp,
): Thing {
  return {
    kind: "form",
    name,
    complaint(body) {
      const path = isIn(body);
      return path && { path, reasons, value: at(body, path) };
    },
    mayChange: (path) => mayChange.test(path),
    note: /relaxed/,
  };
}

const turnsOf = (body: JsonObject, field: string): JsonObject[] =>
  Array.isArray(body[field]) ? body[field].filter(isJsonObject) : [];
const isInstructing = ({ role }: JsonObject) => role === "system" || role === "developer";

/** System messages that are not one alone at the front. */
function strayInstruction(field: string, isAny = false) {
  return (body: JsonObject): Steps | undefined => {
    const found = turnsOf(body, field).findIndex((turn, index) => isInstructing(turn) && (isAny || index > 0));
    return found < 0 ? undefined : [field, found, "role"];
  };
}

/** Contents of texts alone that stand in a list. */
function listedText(field: string, type: string) {
  return (body: JsonObject): Steps | undefined => {
    const found = turnsOf(body, field).findIndex(({ content }) =>
      Array.isArray(content) && content.length > 0 &&
      content.every((part) => isJsonObject(part) && part.type === type && typeof part.text === "string")
    );
    return found < 0 ? undefined : [field, found, "content"];
  };
}

const forced = ({ tool_choice: choice }: JsonObject): Steps | undefined =>
  choice === undefined || choice === "auto" || isJsonObject(choice) && choice.type === "auto"
    ? undefined
    : ["tool_choice"];
const unstreamed = ({ stream }: JsonObject): Steps | undefined => stream === true ? undefined : ["stream"];

const STREAM_ONLY = [
  "This model only supports streaming, please set stream to true",
  "stream must be true for this model",
  "Non-streaming requests are not supported; streaming is required",
  "该模型只支持流式输出",
];
const SYSTEM_FIRST = [
  "System message must be at the beginning.",
  "Only one system message is allowed, and it must come first",
  "Conversation roles must alternate user/assistant/user/assistant/...",
  "Unexpected role 'system' after role 'tool'",
];
const TEXT_ONLY = [
  "Input should be a valid string",
  "invalid type: sequence, expected a string",
  "content must be a string",
  "json: cannot unmarshal array into Go struct field ChatMessage.content of type string",
];
const NO_FORCE = [
  "tool_choice 'required' is not supported for this model",
  "Invalid value for tool_choice: only auto is supported",
  "tool_choice must be auto",
  "`tool_choice` can only be `auto` or `none`",
];
const SHORT_IDS = [
  "Tool call id was {v} but must be a-z, A-Z, 0-9, with a length of 9.",
  "tool_call_id must be alphanumeric with at most 9 characters",
];
const BAD_SCHEMA = [
  "Unable to generate parser for this template: schema must be an object",
  "Failed to compile the grammar of the tools",
  "Invalid schema for function 'look': unsupported construct",
  "tools[0]: the schema is not valid",
];

const NO_PICTURES = [
  "This model does not support image input",
  "Image inputs are not supported by this model",
  "messages[0].content[1].type: unsupported content part 'image'",
  "该模型不支持图片输入",
  "The model is not multimodal: images are not accepted",
];
const THOUGHTS_BACK = [
  "The `reasoning_content` in the thinking mode must be passed back to the API.",
  "Missing required field reasoning_content in assistant message",
  "reasoning_content is missing in assistant tool call message at index 2",
];
const NO_DEVELOPER = [
  "Invalid role 'developer'",
  "messages.0.role: unknown variant `developer`, expected one of `system`, `user`, `assistant`, `tool`",
  "developer is not one of ['system', 'assistant', 'user', 'tool']",
  "角色 developer 不支持",
];

/** Pictures before the last turn, which the answer is not about. */
function pictured(field: string, type: string) {
  return (body: JsonObject): Steps | undefined => {
    const found = turnsOf(body, field).findIndex(({ content }) =>
      Array.isArray(content) && content.some((part) => isJsonObject(part) && part.type === type)
    );
    return found < 0 ? undefined : [field, found, "content"];
  };
}

function thoughtless(body: JsonObject): Steps | undefined {
  const found = turnsOf(body, "messages").findIndex((turn) =>
    turn.role === "assistant" && turn.reasoning_content === undefined
  );
  return found < 0 ? undefined : ["messages", found];
}

function developed(body: JsonObject): Steps | undefined {
  const found = turnsOf(body, "messages").findIndex(({ role }) => role === "developer");
  return found < 0 ? undefined : ["messages", found, "role"];
}

function foreignIds(field: string, names: readonly string[]) {
  return (body: JsonObject): Steps | undefined => {
    for (const [path, steps] of fieldsOf(body)) {
      const value = at(body, steps);
      if (path.startsWith(field) && names.includes(String(steps.at(-1))) && typeof value === "string") {
        if (!/^[a-zA-Z0-9]{1,9}$/.test(value)) return steps;
      }
    }
    return undefined;
  };
}

const oddSchema = (wire: Wire) => (body: JsonObject): Steps | undefined =>
  ["$ref", "oneOf", "pattern"].map((keyword) => keywordsOf(body, wire).get(keyword)).find(Boolean);

const FORMS: Record<Wire, readonly Form[]> = {
  chat: [
    { isPlain: false, thing: formThing("streamed only", STREAM_ONLY, unstreamed, /^stream(_options.*)?$/) },
    { isPlain: true, thing: formThing("system first", SYSTEM_FIRST, strayInstruction("messages"), /^messages/) },
    { isPlain: true, thing: formThing("text only", TEXT_ONLY, listedText("messages", "text"), /^messages/) },
    { isPlain: true, thing: formThing("no force", NO_FORCE, forced, /^tool_choice/) },
    {
      isPlain: false,
      thing: formThing("short ids", SHORT_IDS, foreignIds("messages", ["id", "tool_call_id"]), /^messages/),
    },
    { isPlain: true, thing: formThing("odd schema", BAD_SCHEMA, oddSchema("chat"), SCHEMA_PATHS.chat) },
    { isPlain: false, thing: formThing("no pictures", NO_PICTURES, pictured("messages", "image_url"), /^messages/) },
    { isPlain: false, thing: formThing("thoughts back", THOUGHTS_BACK, thoughtless, /^messages/) },
    { isPlain: false, thing: formThing("no developer", NO_DEVELOPER, developed, /^messages/) },
  ],
  messages: [
    { isPlain: false, thing: formThing("streamed only", STREAM_ONLY, unstreamed, /^stream$/) },
    { isPlain: true, thing: formThing("text only", TEXT_ONLY, listedText("messages", "text"), /^messages|^system/) },
    { isPlain: true, thing: formThing("no force", NO_FORCE, forced, /^tool_choice/) },
    { isPlain: true, thing: formThing("odd schema", BAD_SCHEMA, oddSchema("messages"), SCHEMA_PATHS.messages) },
    { isPlain: false, thing: formThing("no pictures", NO_PICTURES, pictured("messages", "image"), /^messages/) },
  ],
  responses: [
    { isPlain: false, thing: formThing("streamed only", STREAM_ONLY, unstreamed, /^stream$/) },
    { isPlain: true, thing: formThing("text only", TEXT_ONLY, listedText("input", "input_text"), /^input/) },
    {
      isPlain: true,
      thing: formThing("system first", SYSTEM_FIRST, strayInstruction("input", true), /^(input|instructions)/),
    },
    { isPlain: true, thing: formThing("no force", NO_FORCE, forced, /^tool_choice/) },
    { isPlain: true, thing: formThing("odd schema", BAD_SCHEMA, oddSchema("responses"), SCHEMA_PATHS.responses) },
    { isPlain: false, thing: formThing("no pictures", NO_PICTURES, pictured("input", "input_image"), /^input/) },
  ],
};

// Differences

/** The paths at which two bodies differ, where they begin to. */
export function differences(before: JsonObject, after: JsonObject, wire: Wire): string[] {
  const found = new Set<string>();
  const visit = (one: JsonValue | undefined, other: JsonValue | undefined, steps: Steps) => {
    if (JSON.stringify(one) === JSON.stringify(other)) return;
    const path = abstract(steps);
    const isLeaf = OWN.test(path) || SCHEMA_PATHS[wire].test(path);
    if (!isLeaf && Array.isArray(one) && Array.isArray(other) && one.length === other.length) {
      for (const [index, item] of one.entries()) visit(item, other[index], [...steps, index]);
    } else if (!isLeaf && isJsonObject(one) && isJsonObject(other)) {
      for (const name of new Set([...Object.keys(one), ...Object.keys(other)])) {
        visit(one[name], other[name], [...steps, name]);
      }
    } else found.add(path);
  };
  visit(joined(before), joined(after), []);
  return [...found];
}

/** With each content that is one text alone as that text, because a text without a hint is written so. */
function joined(value: JsonValue | undefined): JsonValue {
  if (Array.isArray(value)) return value.map(joined);
  if (!isJsonObject(value)) return value ?? null;
  const entries = Object.entries(value).map(([name, inner]): [string, JsonValue] => {
    const [part, ...more] = name === "content" && Array.isArray(inner) ? inner : [];
    const isText = isJsonObject(part) && more.length === 0 &&
      Object.keys(part).every((key) => ["type", "text", "cache_control"].includes(key));
    return [name, isText ? part.text! : joined(inner)];
  });
  return Object.fromEntries(entries);
}

// Hosts

/** The answer of a host that accepts a body. */
export function answerOf(wire: Wire, { stream }: JsonObject): Response {
  if (stream !== true) return new Response(WHOLE[wire], { headers: { "content-type": "application/json" } });
  return new Response(STREAMED[wire], { headers: { "content-type": "text/event-stream" } });
}

const WHOLE = Object.fromEntries(
  Object.entries(SHORTEST).map(([wire, body]) => [
    wire,
    JSON.stringify(body).replaceAll('"Hi"', JSON.stringify(ANSWER)),
  ]),
) as Record<Wire, string>;

const frames = (...events: JsonObject[]) =>
  events.map((event) => `${event.type ? `event: ${event.type}\n` : ""}data: ${JSON.stringify(event)}\n\n`).join("");

const STREAMED: Record<Wire, string> = {
  chat: frames(
    { id: "c", model: "m", choices: [{ index: 0, delta: { role: "assistant", content: ANSWER } }] },
    { id: "c", model: "m", choices: [{ index: 0, delta: {}, finish_reason: "stop" }] },
    { id: "c", model: "m", choices: [], usage: { prompt_tokens: 5, completion_tokens: 2, total_tokens: 7 } },
  ) + "data: [DONE]\n\n",
  messages: frames(
    {
      type: "message_start",
      message: {
        id: "m",
        type: "message",
        role: "assistant",
        model: "m",
        content: [],
        usage: { input_tokens: 5, output_tokens: 1 },
      },
    },
    { type: "content_block_start", index: 0, content_block: { type: "text", text: "" } },
    { type: "content_block_delta", index: 0, delta: { type: "text_delta", text: ANSWER } },
    { type: "content_block_stop", index: 0 },
    { type: "message_delta", delta: { stop_reason: "end_turn" }, usage: { output_tokens: 2 } },
    { type: "message_stop" },
  ),
  responses: frames(
    { type: "response.created", response: { id: "r", object: "response", status: "in_progress", output: [] } },
    {
      type: "response.output_item.added",
      output_index: 0,
      item: { id: "m", type: "message", role: "assistant", status: "in_progress", content: [] },
    },
    {
      type: "response.content_part.added",
      item_id: "m",
      output_index: 0,
      content_index: 0,
      part: { type: "output_text", text: "", annotations: [] },
    },
    { type: "response.output_text.delta", item_id: "m", output_index: 0, content_index: 0, delta: ANSWER },
    { type: "response.output_text.done", item_id: "m", output_index: 0, content_index: 0, text: ANSWER },
    {
      type: "response.output_item.done",
      output_index: 0,
      item: {
        id: "m",
        type: "message",
        role: "assistant",
        status: "completed",
        content: [{ type: "output_text", text: ANSWER, annotations: [] }],
      },
    },
    { type: "response.completed", response: JSON.parse(WHOLE.responses) },
  ),
};

/** The answer of a host of this style. Absent if it accepts the body. */
export function refusalOf(body: JsonObject, things: readonly Thing[], style: Style): Response | undefined {
  for (const thing of things) {
    const complaint = thing.complaint(body);
    if (complaint) return refusal(style, complaint);
  }
  return undefined;
}
