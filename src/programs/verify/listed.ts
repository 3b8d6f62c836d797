/** Reads what a release lists: checksums in the form of `sha256sum`, and provenance statements in the form of in-toto. */
import { isJsonObject } from "../../canonical/json.ts";
import { CommandError } from "../program.ts";

/** SHA-256 digests in hexadecimal, by the names of files. */
export type Digests = Map<string, string>;

const LINE = /^([0-9a-f]{64})(?: \*|\s+)(\S.*)$/i;

/** Reads checksums. Throws `CommandError` with the line that is none. `source` is the file's name for messages. */
export function readSums(text: string, source: string): Digests {
  const digests: Digests = new Map();
  for (const [index, line] of text.replace(/^\ufeff/, "").split(/\r?\n/).entries()) {
    if (line === "") continue;
    const [, digest, name] = LINE.exec(line) ?? [];
    const place = `${source}, line ${index + 1}`;
    if (digest === undefined) throw new CommandError(`${place}: it is no checksum and name`);
    add(digests, name!, digest, place);
  }
  return digests;
}

const STATEMENTS = /^https:\/\/in-toto\.io\/Statement\/v(0\.1|1)$/;

/** Reads the subjects of a statement, which may be in an envelope or a bundle with its signature. Throws `CommandError`. */
export function readStatement(text: string, source: string): Digests {
  const statement = opened(parsed(text, source), source);
  if (!STATEMENTS.test(String(statement._type)) || !Array.isArray(statement.subject)) {
    throw new CommandError(`${source}: it is no in-toto statement`);
  }
  const digests: Digests = new Map();
  for (const [index, subject] of statement.subject.entries()) {
    const place = `${source}, subject ${index + 1}`;
    const digest = isJsonObject(subject) && isJsonObject(subject.digest) ? subject.digest.sha256 : undefined;
    if (!isJsonObject(subject) || typeof subject.name !== "string" || !/^[0-9a-f]{64}$/i.test(String(digest))) {
      throw new CommandError(`${place}: it has no name with a SHA-256 digest`);
    }
    add(digests, subject.name, String(digest), place);
  }
  return digests;
}

function parsed(text: string, source: string) {
  try {
    // In the form with one envelope a line, the first one is read.
    const value = JSON.parse(source.endsWith(".jsonl") ? text.trimStart().split("\n")[0]! : text);
    if (isJsonObject(value)) return value;
  } catch {
    // It is the same mistake as another kind of JSON.
  }
  throw new CommandError(`${source}: it is not a JSON object`);
}

/** The statement inside a bundle of Sigstore or an envelope of DSSE. */
function opened(value: Record<string, unknown>, source: string): Record<string, unknown> {
  const envelope = isJsonObject(value.dsseEnvelope) ? value.dsseEnvelope : value;
  if (typeof envelope.payload !== "string") return value;
  try {
    return parsed(new TextDecoder().decode(Uint8Array.fromBase64(envelope.payload)), source);
  } catch (error) {
    if (error instanceof CommandError) throw error;
    throw new CommandError(`${source}: its payload is not in base64`);
  }
}

function add(digests: Digests, written: string, digest: string, place: string): void {
  const name = written.replace(/^\.\//, "");
  if (!isBelow(name)) throw new CommandError(`${place}: the name ${JSON.stringify(written)} leads out of the folder`);
  const lower = digest.toLowerCase();
  if ((digests.get(name) ?? lower) !== lower) throw new CommandError(`${place}: "${name}" has two checksums`);
  digests.set(name, lower);
}

function isBelow(name: string): boolean {
  // deno-lint-ignore no-control-regex -- a name with control characters would change what a terminal shows
  return !/[\x00-\x1f\x7f\\]|^[A-Za-z]:/.test(name) && !name.split("/").some((part) => /^(\.{0,2})$/.test(part));
}
