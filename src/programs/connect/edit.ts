/** What a client's file is to say, put into its text, and taken out of it again. */
import { isJsonObject, type JsonObject, type JsonValue } from "../../canonical/json.ts";
import type { Setting, SettingsFile } from "../../contract/client.ts";
import { builtin } from "../../util/builtin.ts";
import { formatOf } from "./formats/mod.ts";
import { type Change, type Format, FormatError } from "./formats/format.ts";

/** The text with all settings. Throws `FormatError` where it is none of the file's format, or holds something else at their place. */
export function withSettings(text: string, file: SettingsFile): string {
  const format = formatOf(file);
  const isNew = format.read(text) === undefined;
  return file.settings.reduce((before, setting) => {
    const change = changeFor(format.read(before), setting, isNew);
    return change ? format.change(before, change) : before;
  }, text);
}

type Path = readonly (string | number)[];

function changeFor(values: JsonValue | undefined, setting: Setting, isNew: boolean): Change | undefined {
  checkWay(values, setting.at);
  if (!("entry" in setting)) {
    const { at, value, isDefault = false } = setting;
    const found = valueAt(values, at);
    if (isDefault && (!isNew || found !== undefined)) return undefined;
    return same(found, value) ? undefined : { kind: "set", path: at, value };
  }
  const { at, entry } = setting;
  const path = placeOf(values, setting);
  if (path) return same(valueAt(values, path), entry) ? undefined : { kind: "set", path, value: entry };
  return { kind: "append", path: at, value: entry };
}

/** Where the entry's predecessor stands in the list. */
function placeOf(values: JsonValue | undefined, { at, entry, by }: Extract<Setting, { by: string }>): Path | undefined {
  const list = valueAt(values, at);
  if (list === undefined) return undefined;
  if (!Array.isArray(list)) throw new FormatError(`${nameOf(at)} is no list`);
  const index = list.findIndex((one) => isJsonObject(one) && one[by] === entry[by]);
  return index < 0 ? undefined : [...at, index];
}

/** What leads to a setting has to be an object, or absent. */
function checkWay(values: JsonValue | undefined, at: Path): void {
  for (const length of at.keys()) {
    const found = valueAt(values, at.slice(0, length));
    if (found !== undefined && !isJsonObject(found)) {
      throw new FormatError(`${nameOf(at.slice(0, length))} is no object`);
    }
  }
}

function nameOf(path: Path): string {
  return path.length === 0 ? "The file" : `"${path.join(".")}"`;
}

function valueAt(values: JsonValue | undefined, path: Path): JsonValue | undefined {
  let at: JsonValue | undefined = values;
  for (const step of path) {
    if (at === undefined || at === null || typeof at !== "object") return undefined;
    at = Object.hasOwn(at, step) ? (at as JsonObject)[step] : undefined;
  }
  return at;
}

export interface Reverted {
  text: string;
  /** The settings that somebody has changed since, and that stay as they are. */
  left: string[];
}

/** The text without the settings that `before` had not, and with its own values of the others. */
export function withoutSettings(text: string, before: string, file: SettingsFile): Reverted {
  const format = formatOf(file);
  const [old, left]: [JsonValue | undefined, string[]] = [format.read(before), []];
  const after = format.read(withSettings(before, file));
  let now = text;
  for (const setting of [...file.settings].reverse()) {
    const values = format.read(now);
    const path = "entry" in setting ? placeIn(values, setting) : setting.at;
    const was = "entry" in setting ? placeIn(old, setting) : setting.at;
    const written = "entry" in setting ? setting.entry : valueAt(after, setting.at);
    const found = path && valueAt(values, path);
    const value = was && valueAt(old, was);
    if (!path || found === undefined || same(found, value)) continue;
    if (!same(found, written)) {
      left.push(nameOf("entry" in setting ? [...setting.at, String(setting.entry[setting.by])] : path));
    } else if (value !== undefined) now = format.change(now, { kind: "set", path, value });
    else now = removed(format, now, path, old);
  }
  return { text: now, left };
}

function placeIn(values: JsonValue | undefined, setting: Extract<Setting, { by: string }>): Path | undefined {
  return Array.isArray(valueAt(values, setting.at)) ? placeOf(values, setting) : undefined;
}

/** With what was made around it, where nothing else is in there. */
function removed(format: Format, text: string, path: Path, old: JsonValue | undefined): string {
  let now = format.change(text, { kind: "remove", path });
  for (let length = path.length - 1; length > 0; length--) {
    const around = path.slice(0, length);
    const found = valueAt(format.read(now), around);
    const isEmpty = typeof found === "object" && found !== null && Object.keys(found).length === 0;
    if (!isEmpty || valueAt(old, around) !== undefined) break;
    now = format.change(now, { kind: "remove", path: around });
  }
  return now;
}

/** Whether nothing is left in the text that anybody reads. */
export function isBlank(text: string, file: SettingsFile): boolean {
  const values = formatOf(file).read(text);
  if (file.format === "dotenv" || file.format === "shell") return text.trim() === "";
  return values === undefined || (typeof values === "object" && values !== null && Object.keys(values).length === 0);
}

function same(one: unknown, other: unknown): boolean {
  return builtin("node:util").isDeepStrictEqual(one, other);
}
