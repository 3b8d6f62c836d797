/** The files that define how a model's prompts are formatted and split into tokens, and the folder that caches them. */
import { builtin } from "../util/builtin.ts";

const disk = () => builtin("node:fs/promises");
const paths = () => builtin("node:path");

type Bytes = Uint8Array<ArrayBuffer>;

export interface TokenizerFiles {
  vocabulary: Bytes;
  settings?: Bytes;
  template?: Bytes;
}

export interface FolderOptions {
  /** Created if it does not exist. */
  path: string;
  /** Milliseconds since the epoch. */
  now(): number;
  limitBytes?: number;
}

/** Keeps the models' files between restarts. A failure only costs a download. */
export interface TokenizerFolder {
  read(model: string): Promise<{ files: TokenizerFiles; isOld: boolean } | undefined>;
  write(model: string, files: TokenizerFiles): Promise<void>;
  remove(model: string): Promise<void>;
}

const NAMES = {
  vocabulary: "tokenizer.json",
  settings: "tokenizer_config.json",
  template: "chat_template.jinja",
} as const;
const KINDS = Object.keys(NAMES) as (keyof typeof NAMES)[];
/** Templates are still corrected for weeks after a model is released. */
const FRESH_MS = 7 * 86_400_000;
const LIMIT_BYTES = 1024 ** 3;

/** Returns a buffer of its own, which can be transferred to another thread. */
async function read(path: string): Promise<Bytes> {
  return new Uint8Array(await disk().readFile(path));
}

export function createTokenizerFolder(options: FolderOptions): TokenizerFolder {
  return new Folder(options);
}

class Folder implements TokenizerFolder {
  readonly #path: string;
  readonly #now: () => number;
  readonly #limitBytes: number;

  constructor({ path, now, limitBytes = LIMIT_BYTES }: FolderOptions) {
    this.#path = path;
    this.#now = now;
    this.#limitBytes = limitBytes;
  }

  async read(model: string): ReturnType<TokenizerFolder["read"]> {
    const folder = this.#folderOf(model);
    try {
      const { mtimeMs } = await disk().stat(paths().join(folder, NAMES.vocabulary));
      const [vocabulary, settings, template] = await Promise.all(
        KINDS.map((kind) => read(paths().join(folder, NAMES[kind])).catch(() => undefined)),
      );
      if (!vocabulary) return undefined;
      return { files: { vocabulary, settings, template }, isOld: this.#now() - mtimeMs > FRESH_MS };
    } catch {
      return undefined;
    }
  }

  async write(model: string, files: Parameters<TokenizerFolder["write"]>[1]): Promise<void> {
    try {
      // The store is in the same place, and only its owner may read it.
      await disk().mkdir(this.#path, { recursive: true, mode: 0o700 });
      // Other gateways may read the folder, so it must appear complete or not at all.
      const made = await disk().mkdtemp(paths().join(this.#path, "new-"));
      try {
        for (const kind of KINDS) {
          const bytes = files[kind];
          if (bytes) await disk().writeFile(paths().join(made, NAMES[kind]), bytes);
        }
        await this.remove(model);
        await disk().rename(made, this.#folderOf(model));
      } finally {
        await remove(made);
      }
      await this.#makeRoom();
    } catch {
      // The disk is full or not writable.
    }
  }

  remove(model: string): Promise<void> {
    return remove(this.#folderOf(model));
  }

  #folderOf(model: string): string {
    return paths().join(this.#path, encodeURIComponent(model));
  }

  /** Removes the folders that were written longest ago. */
  async #makeRoom(): Promise<void> {
    const folders: { folder: string; bytes: number; written: number }[] = [];
    for (const name of await disk().readdir(this.#path)) {
      const folder = paths().join(this.#path, name);
      const files = await Promise.all(
        KINDS.map((kind) => disk().stat(paths().join(folder, NAMES[kind])).catch(() => undefined)),
      );
      const bytes = files.reduce((sum, file) => sum + (file?.size ?? 0), 0);
      folders.push({ folder, bytes, written: files[0]?.mtimeMs ?? 0 });
    }
    let left = this.#limitBytes;
    for (const { folder, bytes } of folders.sort((a, b) => b.written - a.written)) {
      left -= bytes;
      if (left < 0) await remove(folder);
    }
  }
}

async function remove(folder: string): Promise<void> {
  await disk().rm(folder, { recursive: true }).catch(() => {});
}
