// @ts-check
/** Where one is in the text of a JSON file that may not be whole yet. */

const TOKEN = /"(?:[^"\\\n]|\\.)*"?|\/\/[^\r\n]*|\/\*[^]*?(?:\*\/|$)|[{}[\]:,]|[^\s{}[\]:,"/]+|\//g;

/**
 * @typedef {(string | number)[]} Path
 * @typedef {{ open: "{" | "[", name: string, index: number, isValue: boolean }} Frame
 * @typedef {{ path: Path, kind: "name" | "value", from: number, to: number }} Token
 */

/**
 * Every name and value of the text, with its path. A value that is an object or a list comes with its opening brace.
 * @param {string} text
 * @returns {Generator<Token & { frames: Frame[] }>}
 */
function* walk(text) {
  /** @type {Frame[]} */
  const frames = [];
  for (const { 0: token, index: from } of text.matchAll(TOKEN)) {
    if (/^\/[/*]/.test(token)) continue; // a comment
    const frame = frames.at(-1);
    const kind = frame?.open === "{" && !frame.isValue ? "name" : "value";
    if (token === ":" && frame) frame.isValue = true;
    else if (token === "," && frame) {
      frame.isValue = false;
      frame.index++;
    } else if (token === "}" || token === "]") frames.pop();
    else if (token !== "," && token !== ":") {
      if (kind === "name" && frame) frame.name = unquoted(token);
      yield { path: pathOf(frames), kind, from, to: from + token.length, frames };
      if (token === "{" || token === "[") frames.push({ open: token, name: "", index: 0, isValue: false });
    }
  }
}

/**
 * The token at an offset of the text: the word under the cursor, and the path of its value, or of the object that it
 * names a field of.
 * @param {string} text
 * @param {number} offset
 * @returns {Token & { taken: string[] }}
 */
export function placeAt(text, offset) {
  /** @type {Frame[]} */
  let frames = [];
  /** @type {Token | undefined} */
  let last;
  const before = text.slice(0, offset);
  for (const token of walk(before)) {
    frames = token.frames;
    last = token;
  }
  const written = last && before.slice(last.from);
  const isWithin = last?.to === offset && !/^[{[]|^"(?:[^"\\\n]|\\.)*"$/.test(written ?? "");
  const frame = frames.at(-1);
  const kind = frame?.open === "{" && !frame.isValue ? "name" : "value";
  const word = isWithin && last ? last : { from: offset, to: offset };
  // The rest of the word that it is in; else what is behind the cursor changes nothing.
  const rest = written?.startsWith('"') ? /^(?:[^"\\\n,:{}[\]]|\\.)*"|/ : /^[\w.-]*/;
  const to = isWithin ? offset + (rest.exec(text.slice(offset))?.[0].length ?? 0) : offset;
  const path = kind === "name" ? pathOf(frames).slice(0, -1) : pathOf(frames);
  return { path, kind, from: word.from, to, taken: namesAt(text, path) };
}

/**
 * The names that an object has.
 * @param {string} text
 * @param {Path} path
 */
function namesAt(text, path) {
  const key = JSON.stringify(path);
  const names = [];
  for (const token of walk(text)) {
    if (token.kind === "name" && JSON.stringify(token.path.slice(0, -1)) === key) names.push(String(token.path.at(-1)));
  }
  return names;
}

/**
 * Where what a problem is about stands: the offset of its name or value; of the innermost thing around it that there is.
 * @param {string} text
 * @param {string} path as the gateway writes it: `lanes.oss.models[0]`
 */
export function offsetOf(text, path) {
  let [best, length] = [0, -1];
  for (const token of walk(text)) {
    const own = written(token.path);
    const isAround = path === own || path.startsWith(`${own}.`) || path.startsWith(`${own}[`);
    if (isAround && own.length > length) [best, length] = [token.from, own.length];
  }
  return best;
}

/**
 * The first place of a setting, whose path may have `*` for any name and `#` for any place in a list; else the innermost thing around it.
 * @param {string} text
 * @param {readonly string[]} path
 * @returns {{ from: number, to: number, isThere: boolean }}
 */
export function findSetting(text, path) {
  let best = { from: 0, to: 0, depth: 0 };
  for (const { path: own, kind, from, to } of walk(text)) {
    const isAround = kind === "name" && own.length > best.depth && own.length <= path.length &&
      own.every((step, index) =>
        path[index] === (typeof step === "number" ? "#" : "*") || path[index] === String(step)
      );
    if (isAround) best = { from, to, depth: own.length };
  }
  const length = /^[*#]$/.test(path.at(-1) ?? "") ? path.length - 1 : path.length;
  return { from: best.from, to: best.to, isThere: path.length > 0 && best.depth >= length };
}

/** @param {Path} path */
function written(path) {
  return path.map((step, index) => typeof step === "number" ? `[${step}]` : index === 0 ? step : `.${step}`).join("");
}

/** @param {readonly Frame[]} frames */
function pathOf(frames) {
  return frames.map(({ open, name, index }) => open === "{" ? name : index);
}

/** @param {string} token */
function unquoted(token) {
  try {
    return String(JSON.parse(token));
  } catch {
    return token.replaceAll('"', "");
  }
}
