/** The files that define how a model's prompts are written and cut into tokens, and the folder that keeps them. */
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
  /** Made where there is none. */
  path: string;
  /** Milliseconds since the epoch. */
  now(): number;
  limitBytes?: number;
}

/** Keeps the files of models between one start and the next. What goes wrong with it costs a download, and nothing else. */
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
/** Templates are mended for weeks after a model is out. */
const FRESH_MS = 7 * 86_400_000;
const LIMIT_BYTES = 1024 ** 3;

/** In a buffer of its own, which can be given to another thread. */
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
      // Beside it is the store, which is its owner's alone.
      await disk().mkdir(this.#path, { recursive: true, mode: 0o700 });
      // Other gateways may read the folder: it is there whole or not at all.
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
      // A disk that is full, or that may not be written to.
    }
  }

  remove(model: string): Promise<void> {
    return remove(this.#folderOf(model));
  }

  #folderOf(model: string): string {
    return paths().join(this.#path, encodeURIComponent(model));
  }

  /** The folders that were written longest ago go first. */
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
