import { parse, patch } from "@decimalturn/toml-patch";
import { isJsonObject, type JsonObject, type JsonValue } from "../../../canonical/json.ts";
import { type Change, type Format, FormatError } from "./format.ts";

export const tomlFormat: Format = {
  read(text) {
    if (text.trim() === "") return undefined;
    return parsed(text);
  },
  change(text, change) {
    const eol = text.includes("\r\n") ? "\r\n" : "\n";
    const plain = text.replaceAll("\r\n", "\n");
    const values = parsed(plain);
    changeIn(values, change);
    return patch(plain, values).replaceAll("\n", eol);
  },
};

function parsed(text: string): JsonObject {
  try {
    return parse(text) as JsonObject;
  } catch (error) {
    throw new FormatError((error as Error).message.split("\n")[0]!);
  }
}

function changeIn(values: JsonObject, change: Change): void {
  const names = change.path.map(String);
  const last = names.pop()!;
  let at: JsonObject = values;
  for (const name of names) {
    const next = at[name];
    at = isJsonObject(next) ? next : at[name] = {};
  }
  if (change.kind === "remove") delete at[last];
  else at[last] = change.value as JsonValue;
}
