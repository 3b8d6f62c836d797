/** The words of hosts that refuse a part of a request: phrases of several languages in envelopes of many shapes. */
import fc from "fast-check";
import type { JsonValue } from "../../src/canonical/json.ts";

/** The part that a host complains of, by its path as the host would number it: `messages.1.name`. */
export interface Complaint {
  path: readonly (string | number)[];
  /** The most that the host accepts of a number. */
  most?: number;
  value?: JsonValue;
  /** The words for this reason, in place of the phrases for all. */
  reasons?: readonly string[];
}

/** How one host speaks. */
export interface Style {
  /** Which phrase it uses of those that fit, and which of the others. */
  phrase: number;
  spelling: number;
  quotes: number;
  envelope: number;
  /** It names nothing. */
  isSilent: boolean;
}

type Name = (path: readonly (string | number)[]) => string;
const last: Name = (path) => String(path.findLast((step) => typeof step === "string"));

const bracketed: Name = (path) =>
  path.map((step, at) => typeof step === "number" ? `[${step}]` : at === 0 ? step : `.${step}`).join("");

/** How paths are written. */
const SPELLINGS: readonly Name[] = [
  bracketed,
  last,
  (path) => path.join("."),
  (path) => `/${path.join("/")}`,
  (path) => `#/${path.join("/")}`,
  (path) => ["body", ...path].join(" -> "),
  (path) => path.filter((step) => typeof step === "string").join("."),
  (path) => `body.${bracketed(path)}`,
  (path) => `$.${bracketed(path)}`,
  (path) => ["request", ...path].join("."),
];

const QUOTES: readonly (readonly [string, string])[] = [
  ["'", "'"],
  ["`", "`"],
  ['"', '"'],
  ["", ""],
  ["“", "”"],
  ["«", "»"],
  ["**", "**"],
];

/** For a part that the host does not know or take; `{}` is the part. */
const UNKNOWN: readonly string[] = [
  "Unsupported parameter: {}",
  "Unknown field {} in request.",
  "{} is not supported",
  "{}: Extra inputs are not permitted",
  "json: unknown field {}",
  "Additional properties are not allowed ({} was unexpected)",
  "Unrecognized request argument supplied: {}",
  "Invalid request: {} must not be set for this model",
  "Request contains an unexpected property {}",
  "The parameter {} is not available for this model",
  "got an unexpected keyword argument {}",
  "Unrecognized key(s) in object: {}",
  "This endpoint doesn't accept {}",
  "{} isn't implemented yet",
  "Please remove {} and try again",
  "Validation failed: {} is prohibited here",
  "No such option: {}",
  "{} has been deprecated for this model",
  "参数 {} 不支持",
  "不支持的参数：{}",
  "{} 字段非法",
  "未知字段 {}",
  "{} はサポートされていません",
  "不明なパラメータ: {}",
  "{} 파라미터는 지원되지 않습니다",
  "Unbekannter Parameter: {}",
  "Das Feld {} wird nicht unterstützt",
  "Le paramètre {} n'est pas pris en charge",
  "El campo {} no está permitido",
  "Parâmetro não suportado: {}",
  "Неизвестное поле: {}",
  "Il campo {} non è supportato",
];

/** For a number that is too great; `{n}` is the bound. */
const BEYOND: readonly string[] = [
  "{} must be at most {n}",
  "{}: Input should be less than or equal to {n}",
  "Invalid {} value, the valid range of {} is [0, {n}]",
  "{} cannot exceed {n}",
  "the maximum value for {} is {n}",
  "{} must be <= {n}",
  "{} must be between 0 and {n}",
  "{} is too large: {v}. This model supports at most {n}",
  "expected {} in range 0..{n}, got {v}",
  "{} ({v}) is greater than the maximum of {n}",
  "{} 不能超过 {n}",
  "参数 {} 的取值范围是 [0, {n}]",
  "{} は {n} 以下でなければなりません",
  "{} darf höchstens {n} sein",
  "{} doit être inférieur ou égal à {n}",
  "{} debe ser menor o igual que {n}",
  "{} не должно превышать {n}",
];

/** Phrases that name nothing. */
const SILENT: readonly string[] = [
  "",
  "Bad Request",
  "Invalid request",
  "The request could not be processed",
  "Request validation failed",
  "invalid_request_error",
  "Something in this request is wrong",
  "Provider returned error",
  "请求参数错误",
  "リクエストが無効です",
  "Ungültige Anfrage",
  "Requête invalide",
  "Некорректный запрос",
];

const TITLES = ["Bad Request", "Validation Error", "Unprocessable Entity"];

interface Said {
  text: string;
  /** As one name and as a list, where the host names what it means. */
  name: string | undefined;
  path: readonly (string | number)[] | undefined;
}

type Envelope = (said: Said) => [status: number, type: string, body: JsonValue];
const json = (status: number, body: (said: Said) => JsonValue): Envelope => (said) => [
  status,
  "application/json",
  body(said),
];

const ENVELOPES: readonly Envelope[] = [
  json(
    400,
    ({ text, name }) => ({
      error: { message: text, type: "invalid_request_error", param: name ?? null, code: "invalid_value" },
    }),
  ),
  json(400, ({ text }) => ({ error: { message: text } })),
  json(400, ({ text }) => ({ error: text })),
  json(400, ({ text }) => ({ message: text })),
  json(422, ({ text }) => ({ detail: text })),
  json(422, ({ text, path }) => ({
    detail: [{ type: "value_error", ...(path && { loc: ["body", ...path] }), msg: text, input: "…" }],
  })),
  json(422, ({ text, path }) => ({ detail: [{ loc: ["body", ...path ?? []], msg: text, type: "value_error.extra" }] })),
  ({ text, name }) => [400, "application/problem+json", {
    type: "about:blank",
    title: TITLES[0]!,
    status: 400,
    detail: text,
    ...(name !== undefined && { "invalid-params": [{ name, reason: text }] }),
  }],
  ({ text }) => [400, "text/plain", text],
  ({ text }) => [400, "text/event-stream", `event: error\ndata: ${JSON.stringify({ error: { message: text } })}\n\n`],
  ({ text }) => [422, "text/event-stream", `data: ${JSON.stringify({ type: "error", error: { message: text } })}\n\n`],
  json(400, ({ text }) => ({ success: false, errors: [{ code: 8001, message: text }], result: null })),
  json(400, ({ text }) => ({ error: { code: "1210", message: text } })),
  json(400, ({ text }) => ({ code: 20015, message: text, data: null })),
  json(400, ({ text }) => ({
    error: {
      message: "Provider returned error",
      code: 400,
      metadata: { raw: JSON.stringify({ error: { message: text } }), provider_name: "Somebody" },
    },
  })),
  json(400, ({ text }) => ({
    error: { message: `BadRequestError: ${JSON.stringify({ error: { message: text } })}`, type: null, code: "400" },
  })),
  json(400, ({ text }) => [{ error: { code: 400, message: text, status: "INVALID_ARGUMENT" } }]),
  json(400, ({ text, name }) => ({
    error: {
      code: 400,
      status: "INVALID_ARGUMENT",
      message: text,
      ...(name !== undefined && { details: [{ fieldViolations: [{ field: name, description: text }] }] }),
    },
  })),
  json(400, ({ text, path }) => ({
    object: "error",
    message: `[{'type': 'value_error', 'loc': ('body', ${
      (path ?? []).map((step) => typeof step === "number" ? step : `'${step}'`).join(", ")
    }), 'msg': '${text.replaceAll("'", "\\'")}'}]`,
    type: "BadRequestError",
    code: 400,
  })),
  ({ text }) => [
    400,
    "text/html",
    `<html><head><title>400</title></head><body><h1>${TITLES[0]}</h1><p>${text}</p></body></html>`,
  ],
  json(400, ({ text }) => ({ fault: { faultstring: text, detail: { errorcode: "steps.jsonthreatprotection" } } })),
  json(400, ({ text }) => ({ errorCode: "InvalidParameter", errorMessage: text })),
  json(400, ({ text }) => ({ base_resp: { status_code: 2013, status_msg: text } })),
  json(400, ({ text }) => ({ statusCode: 400, code: "FST_ERR_VALIDATION", error: TITLES[0]!, message: text })),
];

export const STYLES: fc.Arbitrary<Style> = fc.record({
  phrase: fc.nat(1_000),
  spelling: fc.nat(SPELLINGS.length - 1),
  quotes: fc.nat(QUOTES.length - 1),
  envelope: fc.nat(ENVELOPES.length - 1),
  isSilent: fc.integer({ min: 0, max: 5 }).map((one) => one === 0),
});

/** How many phrases and envelopes there are. */
export const STYLE_COUNT = UNKNOWN.length + BEYOND.length + SILENT.length + ENVELOPES.length;

/** The refusal in this style. */
export function refusal(style: Style, complaint: Complaint): Response {
  const { path, reasons } = complaint;
  const isNamed = !style.isSilent && !reasons;
  const text = sentence(style, complaint);
  const said = { text, name: isNamed ? bracketed(path) : undefined, path: isNamed ? path : undefined };
  const [status, type, body] = at(ENVELOPES, style.envelope)(said);
  const isText = typeof body === "string" && type !== "application/json";
  return new Response(isText ? body : JSON.stringify(body), { status, headers: { "content-type": type } });
}

/** Whether it answers with a page, of which clients see nothing. */
export function isPage(style: Style): boolean {
  return refusal(style, { path: ["x"] }).headers.get("content-type") === "text/html";
}

/** The words in the envelope. */
export function sentence(style: Style, complaint: Complaint): string {
  const { most, value, reasons = most === undefined ? UNKNOWN : BEYOND } = complaint;
  const words = at(style.isSilent ? SILENT : reasons, style.phrase);
  return words.replaceAll("{}", spelled(style, complaint)).replaceAll("{n}", String(most))
    .replaceAll("{v}", String(value));
}

function at<T>(list: readonly T[], index: number): T {
  return list[index % list.length]!;
}

function spelled({ spelling, quotes }: Style, { path }: Complaint): string {
  const [open, close] = QUOTES[quotes]!;
  return `${open}${SPELLINGS[spelling]!(path)}${close}`;
}

/** Complaints of something else than the form of a request. */
const OTHER_REASONS: readonly string[] = [
  // What was said.
  "Content Exists Risk",
  "The response was filtered due to the prompt triggering our content management policy",
  "Input data may contain inappropriate content.",
  "Your request was rejected as a result of our safety system",
  "This request has been flagged as potentially violating our usage policies",
  "Request blocked: the prompt violates our guidelines",
  "input new_sensitive (1026)",
  "Moderation: the message was judged to be harmful",
  "Output blocked by content filtering policy",
  "The prompt contains prohibited content",
  "系统检测到输入或生成内容可能包含不安全或敏感内容",
  "您的输入包含违规信息，请修改后重试",
  "Die Anfrage verstößt gegen unsere content policy",
  "不適切な内容が含まれています",
  // The account.
  "Your credit balance is too low to access the API",
  "Insufficient Balance",
  "You exceeded your current quota, please check your plan and billing details",
  "Arrearage: access denied, please make sure your account is in good standing",
  "Billing hard limit has been reached",
  "payment required to continue",
  "账户余额不足，请充值后重试",
  "账号已欠费",
  // The model.
  "The model `org/model` does not exist",
  "Model Not Exist",
  "org/model is not a valid model ID",
  "invalid model name passed in model=org/model",
  "Unknown model: org/model",
  "Model org/model not found",
  "The model 'org/model' has been decommissioned and is no longer supported",
  "You do not have access to the model org/model",
  "No deployments available for selected model",
  "No endpoints found for org/model",
  "模型不存在，请检查模型代码",
  "unknown model `org/model`: must be one of [a, b]",
  // Its context.
  "This model's maximum context length is 8192 tokens. However, your messages resulted in 9031 tokens",
  "prompt is too long: 212000 tokens > 200000 maximum",
  "Range of input length should be [1, 129024]",
  "the request exceeds the available context size (4096)",
  "Input is too long for requested model",
  "Please reduce the length of the messages or completion",
  "input length and `max_tokens` exceed context limit: 190000 + 20000 > 200000",
  "Token limit exceeded: 140000 of 131072",
  "输入内容过长，超过模型上下文长度限制",
  // Its time.
  "Request timed out while the model was loading",
  "upstream request timeout",
  "context deadline exceeded",
  "请求超时，请稍后重试",
];

export interface OtherReason {
  status: number;
  style: Style;
  words: string;
}

/** Refusals of something else than the form: by their words, or by their status, whatever field they name. */
export const OTHER_REFUSALS: fc.Arbitrary<OtherReason> = fc.oneof(
  fc.record({ status: fc.constantFrom(400, 422), style: STYLES, words: fc.constantFrom(...OTHER_REASONS) }),
  fc.record({
    status: fc.constantFrom(401, 402, 403, 404, 408, 409, 429, 502, 503, 504, 529),
    style: STYLES,
    words: fc.constantFrom(...UNKNOWN, ...OTHER_REASONS),
  }),
);

/** Such a refusal; `field` is what its words name where they name something. */
export function otherRefusal({ status, style, words }: OtherReason, field: Complaint["path"]): Response {
  const said = refusal({ ...style, isSilent: false }, { path: field, reasons: [words] });
  return new Response(said.body, { status, headers: said.headers });
}
