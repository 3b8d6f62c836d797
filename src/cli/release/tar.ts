/** Archives in the format of tar (POSIX ustar), whose bytes depend on nothing but the given entries. */
import { filesBelow } from "./files.ts";

export interface Entry {
  /** A relative path, without a slash at the end. */
  readonly path: string;
  readonly mode: number;
  /** The content of a file. Absent for a folder and for a link. */
  readonly data?: Uint8Array<ArrayBuffer>;
  /** The target of a symbolic link. */
  readonly link?: string;
  /** The number of the user and group that own it: root's by default. */
  readonly owner?: number;
}

/** The entry of a file. */
export function file(path: string, content: string | Uint8Array<ArrayBuffer>, mode = 0o644): Entry {
  return { path, mode, data: typeof content === "string" ? new TextEncoder().encode(content) : content };
}

/** The entries of all files below a folder, which is at `path` in the archive. */
export function folderEntries(path: string, folder: string): Entry[] {
  return [...filesBelow(folder)].sort().map((name) =>
    file(`${path}${name.slice(folder.length)}`, Deno.readFileSync(name))
  );
}

const BLOCK = 512;

/** The archive as a stream. `time`: the time of each entry, in seconds since 1970. */
export function tar(entries: readonly Entry[], time: number): ReadableStream<Uint8Array<ArrayBuffer>> {
  return ReadableStream.from((function* () {
    for (const entry of entries) {
      const data = entry.data ?? new Uint8Array();
      yield head(entry, data.length, time);
      if (data.length > 0) yield data;
      yield new Uint8Array((BLOCK - data.length % BLOCK) % BLOCK);
    }
    yield new Uint8Array(2 * BLOCK);
  })());
}

function head({ path, mode, data, link, owner = 0 }: Entry, size: number, time: number): Uint8Array<ArrayBuffer> {
  const block = new Uint8Array(BLOCK);
  const write = (text: string, at: number, length: number) => {
    const bytes = new TextEncoder().encode(text);
    if (bytes.length > length) throw new RangeError(`${path} does not fit in an archive`);
    block.set(bytes, at);
  };
  const octal = (value: number, at: number, length: number) =>
    write(value.toString(8).padStart(length - 1, "0"), at, length);
  const isFolder = data === undefined && link === undefined;
  write(isFolder ? `${path}/` : path, 0, 100);
  octal(mode, 100, 8);
  octal(owner, 108, 8);
  octal(owner, 116, 8);
  octal(size, 124, 12);
  octal(time, 136, 12);
  write(link !== undefined ? "2" : isFolder ? "5" : "0", 156, 1);
  write(link ?? "", 157, 100);
  write("ustar\x0000", 257, 8);
  // The sum of all bytes, with spaces in its own place.
  write(" ".repeat(8), 148, 8);
  const sum = block.reduce((sum, byte) => sum + byte, 0);
  write(`${sum.toString(8).padStart(6, "0")}\0 `, 148, 8);
  return block;
}

/** The entries of an archive without extensions, as far as they are files and symbolic links. */
export function* untar(archive: Uint8Array<ArrayBuffer>): Generator<Entry> {
  const textAt = (at: number, length: number) =>
    new TextDecoder().decode(archive.subarray(at, at + length)).replace(/\0.*$/s, "");
  for (let at = 0; at + BLOCK <= archive.length && archive[at] !== 0;) {
    const size = parseInt(textAt(at + 124, 12), 8);
    const [prefix, name] = [textAt(at + 345, 155), textAt(at, 100)];
    const path = `${prefix ? `${prefix}/` : ""}${name}`.replace(/^\.\//, "").replace(/\/$/, "");
    const mode = parseInt(textAt(at + 100, 8), 8);
    const type = textAt(at + 156, 1);
    if (type === "2") yield { path, mode, link: textAt(at + 157, 100) };
    if (type === "" || type === "0") yield { path, mode, data: archive.slice(at + BLOCK, at + BLOCK + size) };
    at += BLOCK + Math.ceil(size / BLOCK) * BLOCK;
  }
}

/** The folders above the entries, each before what is in it. */
export function withFolders(entries: readonly Entry[]): Entry[] {
  const seen = new Set(entries.filter(({ data, link }) => !data && link === undefined).map(({ path }) => path));
  return entries.flatMap((entry) => {
    const parts = entry.path.split("/");
    const above = parts.slice(0, -1).map((_, index) => parts.slice(0, index + 1).join("/"));
    const missing = above.filter((path) => !seen.has(path));
    for (const path of missing) seen.add(path);
    return [...missing.map((path): Entry => ({ path, mode: 0o755 })), entry];
  });
}

/** Reads all of a stream. */
export async function bytesOf(stream: ReadableStream<Uint8Array<ArrayBuffer>>): Promise<Uint8Array<ArrayBuffer>> {
  return await new Response(stream).bytes();
}

export function gzipped(stream: ReadableStream<Uint8Array<ArrayBuffer>>): ReadableStream<Uint8Array<ArrayBuffer>> {
  return stream.pipeThrough(new CompressionStream("gzip"));
}
