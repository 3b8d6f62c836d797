/** Deno's functions for files, on Node. */
import * as fs from "node:fs";
import { randomUUID } from "node:crypto";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setImmediate as turn } from "node:timers/promises";

type Path = string | URL;
type Entry = { name: string; isFile: boolean; isDirectory: boolean; isSymlink: boolean };

interface Temporary {
  dir?: string;
  prefix?: string;
  suffix?: string;
}

const temporaryPath = ({ dir = tmpdir(), prefix = "", suffix = "" }: Temporary = {}) =>
  join(dir, prefix + randomUUID() + suffix);
const bytesOf = (buffer: Uint8Array) => new Uint8Array(buffer);
const flagOf = ({ append = false } = {}) => append ? "a" : "w";

const infoOf = (stats: fs.Stats) => ({
  ...stats,
  isFile: stats.isFile(),
  isDirectory: stats.isDirectory(),
  isSymlink: stats.isSymbolicLink(),
});

const entryOf = (entry: fs.Dirent): Entry => ({
  name: entry.name,
  isFile: entry.isFile(),
  isDirectory: entry.isDirectory(),
  isSymlink: entry.isSymbolicLink(),
});

interface Writing {
  append?: boolean;
  mode?: number;
}

export const readTextFileSync = (path: Path) => fs.readFileSync(path, "utf8");
export const readFileSync = (path: Path) => bytesOf(fs.readFileSync(path));
export const writeTextFileSync = (path: Path, text: string, { mode, ...options }: Writing = {}) =>
  fs.writeFileSync(path, text, { flag: flagOf(options), mode });
export const writeFileSync = (path: Path, bytes: Uint8Array, { mode, ...options }: Writing = {}) =>
  fs.writeFileSync(path, bytes, { flag: flagOf(options), mode });
export const mkdirSync = (path: Path, options?: fs.MakeDirectoryOptions) => void fs.mkdirSync(path, options);
export const removeSync = (path: Path, { recursive = false } = {}) => {
  const isFolder = fs.lstatSync(path).isDirectory();
  if (isFolder && !recursive) fs.rmdirSync(path);
  else fs.rmSync(path, { recursive });
};
export const statSync = (path: Path) => infoOf(fs.statSync(path));
export const lstatSync = (path: Path) => infoOf(fs.lstatSync(path));
export const readDirSync = (path: Path) => fs.readdirSync(path, { withFileTypes: true }).map(entryOf);
export const makeTempDirSync = (options?: Temporary) => {
  const path = temporaryPath(options);
  fs.mkdirSync(path, { mode: 0o700 });
  return path;
};
export const makeTempFileSync = (options?: Temporary) => {
  const path = temporaryPath(options);
  fs.writeFileSync(path, "", { mode: 0o600 });
  return path;
};
export const utimeSync = fs.utimesSync;
export const { renameSync, copyFileSync, symlinkSync, chmodSync, realpathSync: realPathSync } = fs;

export const chownSync = (path: Path, uid: number | null, gid: number | null) =>
  fs.chownSync(path, uid ?? fs.statSync(path).uid, gid ?? fs.statSync(path).gid);

/** The same as a promise; others have their turn before. */
const later = <A extends unknown[], R>(run: (...args: A) => R) => async (...args: A): Promise<R> => {
  await turn();
  return run(...args);
};

export const readTextFile = later(readTextFileSync);
export const readFile = later(readFileSync);
export const writeTextFile = later(writeTextFileSync);
export const writeFile = later(writeFileSync);
export const mkdir = later(mkdirSync);
export const remove = later(removeSync);
export const stat = later(statSync);
export const lstat = later(lstatSync);
export const makeTempDir = later(makeTempDirSync);
export const makeTempFile = later(makeTempFileSync);
export const rename = later(renameSync);
export const copyFile = later(copyFileSync);
export const symlink = later(symlinkSync);
export const chmod = later(chmodSync);
export const chown = later(chownSync);
export const utime = later(utimeSync);
export const realPath = later((path: Path) => fs.realpathSync(path));
export const readLink = later((path: Path) => fs.readlinkSync(path));
export async function* readDir(path: Path): AsyncGenerator<Entry> {
  yield* readDirSync(path);
}
