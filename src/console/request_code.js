// @ts-check
/**
 * A request as a program in Python or TypeScript that sends the same JSON. Whatever is in the request stays within the literals of the
 * program. Secrets, which were never recorded, come from a variable of the environment.
 */

/**
 * @typedef {{ text?: string, bytes: number, kept: number, isDescription?: boolean, isShortened?: boolean }} RecordedBody
 * @typedef {{ method: string, url: string, headers: readonly (readonly [string, string])[], body: RecordedBody, isStream?: boolean }} Request
 * @typedef {{ install: string, import: string, client: string, call: string, whole: string, stream: string,
 *   body?: { whole: string, stream: string } }} LibraryCode
 * @typedef {{ path: string, keyHeader: string, headers?: readonly string[], fields: readonly string[], python: LibraryCode,
 *   typescript: LibraryCode }} Library
 * @typedef {{ variable: string, isOwnKey: boolean, libraries: readonly Library[] }} Options
 * @typedef {"python" | "typescript"} Language
 * @typedef {{ comment: string, indent: string, string(text: string): string, number(text: string): string, key(name: string): string,
 *   words: Readonly<Record<string, string>>, secret(variable: string): string, parse(json: string): string }} Syntax
 */

/** Headers that a client writes itself, that belong to a browser, or that name the client. */
const OWN =
  /^(host|connection|content-length|content-type|transfer-encoding|accept|accept-encoding|accept-language|expect|user-agent|cookie|origin|referer|sec-.*|x-stainless-.*|traceparent|tracestate|x-forwarded-.*|forwarded|via)$/i;

/** Characters that nobody sees, or that turn the direction of what stands around them. */
const HIDDEN =
  /[\u007f-\u00a0\u00ad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb]|[\u{e0000}-\u{e007f}]/gu;
const SECRET = "***";
/** Values that are nested deeper are written as texts, because languages have limits for their literals. */
const DEEPEST = 60;
/** A short list or object stands in one line. */
const LONGEST_LINE = 72;

/** A number that a browser would round. */
class Exact {
  /** @param {string} text */
  constructor(text) {
    this.text = text;
  }
  toJSON() {
    return Number(this.text);
  }
}

/** @param {number} code @param {number} length */
const hex = (code, length) => code.toString(16).padStart(length, "0");

/** @type {Record<Language, Syntax>} */
const SYNTAX = {
  python: {
    comment: "#",
    indent: "    ",
    string: (text) =>
      JSON.stringify(text).replace(HIDDEN, (hidden) => {
        const code = hidden.codePointAt(0) ?? 0;
        return code > 0xffff ? `\\U${hex(code, 8)}` : `\\u${hex(code, 4)}`;
      }),
    number: (text) => text,
    key: (name) => SYNTAX.python.string(name),
    words: { true: "True", false: "False", null: "None" },
    secret: (variable) => `os.environ["${variable}"]`,
    parse: (json) => `__import__("json").loads(${SYNTAX.python.string(json)})`,
  },
  typescript: {
    comment: "//",
    indent: "  ",
    string: (text) =>
      JSON.stringify(text).replace(
        HIDDEN,
        (hidden) => Array.from({ length: hidden.length }, (_, at) => `\\u${hex(hidden.charCodeAt(at), 4)}`).join(""),
      ),
    number: (text) => `JSON.rawJSON("${text}")`,
    key(name) {
      // As a plain key it would be the object's prototype.
      if (name === "__proto__") return '["__proto__"]';
      return /^[A-Za-z_$][\w$]*$/.test(name) ? name : SYNTAX.typescript.string(name);
    },
    words: { true: "true", false: "false", null: "null" },
    secret: (variable) => `process.env.${variable}`,
    parse: (json) => `JSON.parse(${SYNTAX.typescript.string(json)})`,
  },
};

/**
 * @param {Language} language
 * @param {Request} request
 * @param {Options} options `variable`: what holds the key. `isOwnKey`: whether the URL is the gateway's, which takes the key in any header.
 */
export function programOf(language, request, options) {
  const library = libraryFor(request, options);
  return library ? withLibrary(language, request, options, library) : plain(language, request, options);
}

/** @param {Request} request @param {Options} options @returns {Library | undefined} */
function libraryFor({ method, url, headers, body }, { isOwnKey, libraries }) {
  const json = jsonOf(body);
  if (method !== "POST" || !json || Array.isArray(json) || url.includes(SECRET)) return undefined;
  const { pathname } = new URL(url);
  const library = libraries.find(({ path }) => pathname.endsWith(path));
  const isSent = (/** @type {readonly [string, string]} */ [name, value]) =>
    !value.includes(SECRET) || name.toLowerCase() === library?.keyHeader;
  return library && (isOwnKey || headers.every(isSent)) ? library : undefined;
}

/**
 * @param {Language} language
 * @param {Request} request
 * @param {Options} options
 * @param {Library} library
 */
function withLibrary(language, { url, headers, body }, { variable }, library) {
  const syntax = SYNTAX[language];
  const code = library[language];
  const { origin, pathname, searchParams } = new URL(url);
  const json = /** @type {Record<string, unknown>} */ (jsonOf(body));
  const isStream = json.stream === true;
  const base = `${origin}${pathname.slice(0, -library.path.length)}`;
  const values = { base: syntax.string(base), key: syntax.secret(variable) };
  // A key's text may hold any of the characters that a replacement gives a meaning to.
  const client = code.client.replace(/\$(base|key)/g, (_, name) => values[/** @type {"base" | "key"} */ (name)]);
  const others = headers.filter(([name, value]) =>
    !OWN.test(name) && !value.includes(SECRET) && !library.headers?.includes(name.toLowerCase())
  );
  const more = { headers: Object.fromEntries(others), query: Object.fromEntries(searchParams) };
  const call = language === "python"
    ? pythonCall(code.call, json, library, more)
    : typescriptCall(code, json, library, { more, isStream });
  const begin = language === "python" ? `import os\n\n${code.import}` : code.import;
  return [
    `${syntax.comment} ${code.install}. Put the key into the environment: ${variable}.`,
    begin,
    "",
    language === "python" ? `client = ${client}` : `const client = ${client};`,
    call,
    isStream ? code.stream : code.whole,
    "",
  ].join("\n");
}

/** @typedef {{ headers: Record<string, string>, query: Record<string, string> }} More */

/**
 * @param {string} call
 * @param {Record<string, unknown>} json
 * @param {Library} library
 * @param {More} more
 */
function pythonCall(call, json, { fields }, { headers, query }) {
  const entries = Object.entries(json);
  const known = Object.fromEntries(entries.filter(([name]) => fields.includes(name)));
  const others = Object.fromEntries(entries.filter(([name]) => !fields.includes(name)));
  /** @type {[string, unknown][]} */
  const named = Object.entries(known);
  for (const [name, value] of Object.entries({ extra_body: others, extra_headers: headers, extra_query: query })) {
    if (Object.keys(value).length > 0) named.push([name, value]);
  }
  const lines = named.map(([name, value]) => `    ${name}=${literal(value, SYNTAX.python, 1)},\n`);
  return `answer = ${call}(\n${lines.join("")})`;
}

/**
 * @param {LibraryCode} code
 * @param {Record<string, unknown>} json
 * @param {Library} library
 * @param {{ more: More, isStream: boolean }} rest
 */
function typescriptCall({ call, body }, json, { fields }, { more: { headers, query }, isStream }) {
  const syntax = SYNTAX.typescript;
  const isKnown = Object.keys(json).every((name) => fields.includes(name));
  const cast = isKnown || !body ? "" : ` as ${isStream ? body.stream : body.whole}`;
  const options = {
    ...Object.keys(headers).length > 0 && { headers },
    ...Object.keys(query).length > 0 && { query },
  };
  const second = Object.keys(options).length > 0 ? `, ${literal(options, syntax, 0)}` : "";
  return `const answer = await ${call}(${literal(json, syntax, 0)}${cast}${second});`;
}

/**
 * @param {Language} language
 * @param {Request} request
 * @param {Options} options
 */
function plain(language, request, { variable }) {
  const { method, url, headers, body, isStream = false } = request;
  const syntax = SYNTAX[language];
  const own = headers.filter(([name]) => !OWN.test(name));
  const isWhole = body.kept === body.bytes && !body.isDescription && !body.isShortened;
  const json = isWhole ? jsonOf(body) : undefined;
  const sent = json ? literal(json, syntax, 1) : syntax.string(body.text ?? "");
  const type = headers.find(([name]) => name.toLowerCase() === "content-type");
  if (type && body.bytes > 0) own.unshift(type);
  const needsKey = [url, ...headers.map(([, value]) => value)].some((text) => text.includes(SECRET));
  const comments = [
    ...language === "python" ? ["pip install httpx."] : [],
    ...needsKey ? [`Put the key into the environment: ${variable}.`] : [],
    ...body.bytes > 0 && !isWhole
      ? ["The body is left out: it is a form, or only a part of it was kept or shown."]
      : [],
  ];
  const head = comments.length > 0 ? `${syntax.comment} ${comments.join(" ")}\n` : "";
  const list = own.map(([name, value]) =>
    `${syntax.indent.repeat(2)}${syntax.string(name)}: ${withSecret(value, syntax, variable)},\n`
  ).join("");
  const parts = {
    method: syntax.string(method),
    url: withSecret(url, syntax, variable),
    headers: `{\n${list}${syntax.indent}}`,
    body: isWhole && body.bytes > 0 ? { text: sent, isJson: json !== undefined } : undefined,
  };
  return head + (language === "python" ? pythonPlain(parts, isStream) : typescriptPlain(parts, isStream));
}

/** @typedef {{ method: string, url: string, headers: string, body?: { text: string, isJson: boolean } }} Parts */

/** @param {Parts} parts @param {boolean} isStream */
function pythonPlain({ method, url, headers, body }, isStream) {
  const needsOs = `${url}${headers}`.includes("os.environ");
  const sent = body ? `    ${body.isJson ? "json" : "content"}=${body.text},\n` : "";
  const call = `(\n    ${method},\n    ${url},\n    headers=${headers},\n${sent}    timeout=600,\n)`;
  return [
    ...needsOs ? ["import os", ""] : [],
    "import httpx",
    "",
    isStream
      ? `with httpx.stream${call} as answer:\n    for line in answer.iter_lines():\n        print(line)`
      : `answer = httpx.request${call}\nprint(answer.status_code, answer.text)`,
    "",
  ].join("\n");
}

/** @param {Parts} parts @param {boolean} isStream */
function typescriptPlain({ method, url, headers, body }, isStream) {
  const sent = body ? `  body: ${body.isJson ? `JSON.stringify(${body.text})` : body.text},\n` : "";
  const end = isStream
    ? "for await (const text of answer.body!.pipeThrough(new TextDecoderStream())) {\n  process.stdout.write(text);\n}"
    : "console.log(answer.status, await answer.text());";
  return `const answer = await fetch(${url}, {\n  method: ${method},\n  headers: ${headers},\n${sent}});\n${end}\n`;
}

/**
 * A text in which `***` stands for the key.
 * @param {string} text
 * @param {Syntax} syntax
 * @param {string} variable
 */
function withSecret(text, syntax, variable) {
  return text.split(SECRET).map((part) => part === "" ? [] : [syntax.string(part)])
    .flatMap((part, index) => index === 0 ? part : [syntax.secret(variable), ...part]).join(" + ") || '""';
}

/** @param {RecordedBody} body @returns {any} an object or a list */
function jsonOf({ text, bytes, kept, isDescription, isShortened }) {
  if (text === undefined || kept !== bytes || isDescription || isShortened) return undefined;
  /** @type {(key: string, value: unknown, context?: { source?: string }) => unknown} */
  const exact = (_, value, context) => {
    if (typeof value !== "number" || Number.isSafeInteger(value) || context?.source === undefined) return value;
    return /^-?\d+$/.test(context.source) || !Number.isFinite(value) ? new Exact(context.source) : value;
  };
  try {
    const value = JSON.parse(text, exact);
    return typeof value === "object" && value !== null ? value : undefined;
  } catch {
    return undefined;
  }
}

/**
 * A value as the language writes it.
 * @param {unknown} value
 * @param {Syntax} syntax
 * @param {number} depth
 * @returns {string}
 */
function literal(value, syntax, depth) {
  if (typeof value === "string") return syntax.string(value);
  if (value instanceof Exact) return syntax.number(value.text);
  if (typeof value !== "object" || value === null) return syntax.words[String(value)] ?? String(value);
  if (depth > DEEPEST) return syntax.parse(JSON.stringify(value));
  const [open, close] = Array.isArray(value) ? ["[", "]"] : ["{", "}"];
  const inner = syntax.indent.repeat(depth + 1);
  const items = Array.isArray(value)
    ? value.map((item) => literal(item, syntax, depth + 1))
    : Object.entries(value).map(([name, item]) => `${syntax.key(name)}: ${literal(item, syntax, depth + 1)}`);
  const line = items.join(", ");
  if (line.length <= LONGEST_LINE && !line.includes("\n")) {
    return open === "{" && items.length > 0 ? `{ ${line} }` : open + line + close;
  }
  return `${open}\n${items.map((item) => `${inner}${item},\n`).join("")}${syntax.indent.repeat(depth)}${close}`;
}
