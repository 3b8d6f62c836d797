// @ts-check
/** All settings of the playground as a part of its address, for others to open. */
import {
  change,
  EFFORTS,
  FIRST,
  isObject,
  MOST_SIDES,
  readTools,
  replaceSides,
  settings,
  sides,
  toolsText,
} from "./settings.js";

/** The longest address that all browsers and chat programs pass on, in characters. */
const LONGEST = 8_000;
/** The names of fields that hold secrets, such as those of tools on other servers. */
const SECRET = /authori[sz]ation|token|secret|password|credential|api_?key|^headers$/i;

/**
 * The address of the page with its settings. `isWithout`: whether secrets of tools were left out. Throws an error for people.
 * @param {string} prompt
 */
export function addressWith(prompt) {
  const { tools, ...rest } = settings.value;
  const changed = Object.entries(rest).filter(([name, value]) => value !== /** @type {any} */ (FIRST)[name]);
  const written = JSON.parse(toolsText(tools) || "[]");
  const open = written.map(withoutSecrets);
  const preset = {
    sides: sides.value.map(({ model, wire }) => ({ model, wire })),
    ...Object.fromEntries(changed),
    ...open.length > 0 && { tools: open },
    ...prompt.trim() !== "" && { prompt },
  };
  const address = `#playground?${encodeURIComponent(JSON.stringify(preset))}`;
  if (address.length > LONGEST) {
    throw new TypeError(
      `The settings are too long for an address: ${address.length.toLocaleString("en")} characters, and ` +
        `${LONGEST.toLocaleString("en")} fit. Shorten the system prompt, the tools or the message`,
    );
  }
  return { address, isWithout: JSON.stringify(open) !== JSON.stringify(written) };
}

/** The fields of a schema are names, not secrets. @param {any} value @returns {any} */
function withoutSecrets(value) {
  if (Array.isArray(value)) return value.map(withoutSecrets);
  if (!isObject(value)) return value;
  const kept = Object.entries(value).filter(([name]) => !SECRET.test(name));
  return Object.fromEntries(kept.map(([name, inner]) => [name, name === "parameters" ? inner : withoutSecrets(inner)]));
}

/**
 * Takes the settings over from the address. Returns the message that it begins with. Throws an error for people.
 * @param {string} query
 * @returns {string}
 */
export function openPreset(query) {
  const preset = read(query);
  const text = (/** @type {unknown} */ value) => typeof value === "string" ? value : "";
  const listed = (Array.isArray(preset.sides) ? preset.sides : []).filter(isObject).slice(0, MOST_SIDES);
  if (listed.length > 0) {
    replaceSides(listed.map(({ model, wire }) => ({ model: text(model), wire: text(wire) })));
  }
  const { form } = preset;
  change({
    ...FIRST,
    system: text(preset.system),
    schema: text(preset.schema),
    effort: EFFORTS.includes(preset.effort) ? preset.effort : "",
    choice: ["required", "none"].includes(preset.choice) ? preset.choice : "",
    maxTokens: typeof preset.maxTokens === "string" ? preset.maxTokens : FIRST.maxTokens,
    temperature: text(preset.temperature),
    form: form === "json" || form === "schema" ? form : "text",
    tools: preset.tools === undefined ? [] : readTools(JSON.stringify(preset.tools)),
  });
  return text(preset.prompt);
}

/** @param {string} query @returns {Record<string, any>} */
function read(query) {
  try {
    const preset = JSON.parse(decodeURIComponent(query));
    if (isObject(preset)) return preset;
  } catch {
    // It was cut, or somebody wrote it by hand.
  }
  throw new TypeError("The settings in this address cannot be read. The link may have been cut");
}
