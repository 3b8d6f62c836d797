import type { FileFormat } from "../../../contract/client.ts";
import type { Format } from "./format.ts";
import { jsonFormat } from "./json.ts";
import { dotenvFormat, fishFormat, shellFormat } from "./lines.ts";
import { tomlFormat } from "./toml.ts";
import { yamlFormat } from "./yaml.ts";

export const FORMATS: Readonly<Record<FileFormat, Format>> = {
  json: jsonFormat(false),
  jsonc: jsonFormat(true),
  toml: tomlFormat,
  yaml: yamlFormat,
  dotenv: dotenvFormat,
  shell: shellFormat,
};

/** How the file is read and changed. */
export function formatOf({ format, path }: { format: FileFormat; path: string }): Format {
  return behindMark(format === "shell" && path.endsWith(".fish") ? fishFormat : FORMATS[format]);
}

const MARK = "\ufeff";

/** The same format; a byte order mark before it stays. */
function behindMark({ read, change }: Format): Format {
  const withoutMark = (text: string) => text.startsWith(MARK) ? text.slice(1) : text;
  return {
    read: (text) => read(withoutMark(text)),
    change: (text, one) => (text.startsWith(MARK) ? MARK : "") + change(withoutMark(text), one),
  };
}
