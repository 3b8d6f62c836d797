import { isJsonObject, type JsonValue } from "../../../canonical/json.ts";
import { type Format, FormatError } from "./format.ts";

const [BEGIN, END] = ["# laneway: begin", "# laneway: end"];

/** How one variable is set in a line. */
interface Line {
  write(name: string, value: JsonValue): string;
  /** The name and the value of a line that `write` wrote. */
  read(line: string): [name: string, value: JsonValue] | undefined;
}

interface Quoting {
  quoted(text: string): string;
  /** What stands between the quotes. */
  read(text: string): string;
}

/** In all but fish nothing is special between single quotes. */
const POSIX: Quoting = {
  quoted: (text) => `'${text.replaceAll("'", "'\\''")}'`,
  read: (text) => text.replaceAll("'\\''", "'"),
};

export const dotenvFormat = linesFormat({
  write: (name, value) => `${name}=${JSON.stringify(value)}`,
  read(line) {
    const [, name, text] = /^(\w+)=(".*")$/.exec(line) ?? [];
    try {
      return name === undefined || text === undefined ? undefined : [name, JSON.parse(text)];
    } catch {
      return undefined; // somebody else wrote it
    }
  },
});

export const shellFormat = linesFormat(shellLine("export ", "="));
export const fishFormat = linesFormat(shellLine("set -gx ", " ", {
  quoted: (text) => `'${text.replace(/[\\']/g, "\\$&")}'`,
  read: (text) => text.replace(/\\([\\'])/g, "$1"),
}));

/** Variables between two lines that mark what is ours; the rest of the file is left alone. */
function linesFormat(line: Line): Format {
  return {
    read(text) {
      const { own } = split(text);
      if (text.trim() === "") return undefined;
      return Object.fromEntries(own.flatMap((one) => {
        const found = line.read(one);
        return found ? [found] : [];
      }));
    },
    change(text, change) {
      const { before, own, after, eol } = split(text);
      const name = String(change.path[0]);
      const sets = (one: string) => line.read(one)?.[0] === name;
      const at = own.findIndex(sets);
      // What somebody has written between the marks stays.
      const lines = own.filter((one) => !sets(one));
      if (change.kind !== "remove") lines.splice(at < 0 ? lines.length : at, 0, line.write(name, change.value));
      const block = lines.length > 0 ? [BEGIN, ...lines, END, ""].join(eol) : "";
      const gap = block !== "" && before !== "" && !before.endsWith("\n") ? eol : "";
      return `${before}${gap}${block}${after}`;
    },
  };
}

/** The lines between the marks, and what stands before and after them. */
function split(text: string): { before: string; own: string[]; after: string; eol: string } {
  const eol = text.includes("\r\n") ? "\r\n" : "\n";
  const begin = text.indexOf(BEGIN);
  if (begin < 0) return { before: text, own: [], after: "", eol };
  const end = text.indexOf(END, begin);
  if (end < 0) throw new FormatError(`"${BEGIN}" has no "${END}" after it`);
  const next = text.indexOf("\n", end);
  return {
    before: text.slice(0, begin),
    own: text.slice(begin, end).split(/\r?\n/).slice(1).filter((line) => line !== ""),
    after: next < 0 ? "" : text.slice(next + 1),
    eol,
  };
}

function shellLine(before: string, between: string, quoting = POSIX): Line {
  return {
    write: (name, value) =>
      `${before}${name}${between}${isJsonObject(value) ? `"$${value.env}"` : quoting.quoted(String(value))}`,
    read(line) {
      if (!line.startsWith(before)) return undefined;
      const rest = line.slice(before.length);
      const at = rest.indexOf(between);
      const [name, text] = [rest.slice(0, at), rest.slice(at + between.length)];
      const variable = /^"\$(\w+)"$/.exec(text)?.[1];
      if (variable !== undefined) return [name, { env: variable }];
      return /^'.*'$/s.test(text) ? [name, quoting.read(text.slice(1, -1))] : undefined;
    },
  };
}
