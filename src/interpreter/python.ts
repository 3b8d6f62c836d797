/** Python in WebAssembly, with limits on what it writes. */
import { loadPyodide } from "pyodide";
import { type ContainerFile, type ContainerLimits, type Executed, FILES_FOLDER, MOST_FILES } from "./protocol.ts";

/** The parts of the runtime that are used. Its own types lack `_api`. */
interface Runtime {
  FS: FileSystem;
  globals: { get(name: string): unknown };
  runPython(code: string): unknown;
  setStdout(options: { write(bytes: Uint8Array): number }): void;
  setStderr(options: { write(bytes: Uint8Array): number }): void;
  setStdin(options: { error: true }): void;
  _api: { on_fatal?: () => void; config: Record<string, unknown> };
}

interface FileSystem {
  mkdirTree(path: string): void;
  chdir(path: string): void;
  writeFile(path: string, bytes: Uint8Array): void;
  readFile(path: string): Uint8Array;
  readdir(path: string): string[];
  lstat(path: string): { mode: number; size: number; mtime: Date };
  isDir(mode: number): boolean;
  isFile(mode: number): boolean;
}

/**
 * Runs code as a session does: what is defined stays, and the value of a last expression is shown. Connections and programs would be
 * refused by the process, and that would end Python, so Python refuses them first.
 */
const RUN = `
def _make():
    import errno, os, socket, sys, traceback
    sys.executable = sys._base_executable = ""
    def refuse(*_, **__):
        raise OSError(errno.ENETUNREACH, "There is no network here")
    for name in ("connect", "connect_ex", "bind", "listen", "sendto"):
        setattr(socket.socket, name, refuse)
    socket.getaddrinfo = socket.gethostbyname = refuse
    os.system = lambda _: 127 << 8
    from pyodide.code import eval_code_async
    scope = {"__name__": "__main__", "__builtins__": __builtins__}
    streams = sys.stdout, sys.stderr
    async def run(code):
        try:
            value = await eval_code_async(code, scope, filename="code.py")
            if value is not None:
                print(repr(value))
            return 0
        except SystemExit as end:
            if end.code is None or isinstance(end.code, int):
                return end.code or 0
            print(end.code, file=streams[1])
            return 1
        except BaseException as error:
            frames = error.__traceback__
            while frames is not None and frames.tb_frame.f_code.co_filename != "code.py":
                frames = frames.tb_next
            traceback.print_exception(type(error), error, frames, file=streams[1])
            return 1
        finally:
            # Code may have put others in their place, and closed those.
            sys.stdout, sys.stderr = streams
            for stream in streams:
                stream.flush()
    return run
_run = _make()
del _make
`;

/** The variables of the environment that Python sees. Its own would show where the program is on this machine. */
const VARIABLES = { HOME: "/home/web_user", _: "python", PATH: "/", LANG: "C.UTF-8" };
/** Folders deeper than this are not searched for files. */
const DEEPEST = 8;

export class Python {
  readonly #runtime: Runtime;
  readonly #run: (code: string) => Promise<number>;
  /** The sizes and times of the files after the last execution, by path. */
  #known = new Map<string, string>();

  constructor(runtime: Runtime) {
    this.#runtime = runtime;
    runtime.runPython(RUN);
    this.#run = runtime.globals.get("_run") as (code: string) => Promise<number>;
  }

  put(files: readonly ContainerFile[], onlyMissing: boolean): void {
    const found = onlyMissing ? this.#look() : new Map();
    for (const { name, data } of files) {
      if (!found.has(`${FILES_FOLDER}/${name}`)) {
        this.#runtime.FS.writeFile(`${FILES_FOLDER}/${name}`, Uint8Array.fromBase64(data));
      }
    }
    this.#known = this.#look();
  }

  async execute(code: string, { output, fileBytes }: ContainerLimits): Promise<Executed> {
    const [stdout, stderr] = [new Output(output), new Output(output)];
    this.#runtime.setStdout(stdout);
    this.#runtime.setStderr(stderr);
    const exitCode = await this.#run(code);
    const files = this.#changed(fileBytes, stderr);
    return { stdout: stdout.text, stderr: stderr.text, exitCode, files };
  }

  #changed(most: number, stderr: Output): ContainerFile[] {
    const found = this.#look();
    const changed = [...found].filter(([path, facts]) => this.#known.get(path) !== facts).map(([path]) => path);
    this.#known = found;
    let left = most;
    const files: ContainerFile[] = [];
    for (const path of changed) {
      const { size } = this.#runtime.FS.lstat(path);
      if (size > left || files.length >= MOST_FILES) {
        stderr.say(
          `\n[${path} stays in the container: the files of one execution may come to ` +
            `${most} bytes and ${MOST_FILES} files]\n`,
        );
        continue;
      }
      left -= size;
      files.push({ name: path.slice(FILES_FOLDER.length + 1), data: this.#runtime.FS.readFile(path).toBase64() });
    }
    return files;
  }

  #look(): Map<string, string> {
    const { FS } = this.#runtime;
    const found = new Map<string, string>();
    const search = (folder: string, depth: number) => {
      for (const name of FS.readdir(folder)) {
        if (name === "." || name === "..") continue;
        const path = `${folder}/${name}`;
        const { mode, size, mtime } = FS.lstat(path);
        if (FS.isDir(mode) && depth < DEEPEST) search(path, depth + 1);
        else if (FS.isFile(mode)) found.set(path, `${size} ${Number(mtime)}`);
      }
    };
    search(FILES_FOLDER, 0);
    return found;
  }
}

/** Keeps the text of one output stream, up to a limit. */
class Output {
  readonly #most: number;
  readonly #decoder = new TextDecoder();
  #text = "";
  #isCut = false;

  constructor(most: number) {
    this.#most = most;
  }

  readonly write = (bytes: Uint8Array): number => {
    if (!this.#isCut) this.say(this.#decoder.decode(bytes, { stream: true }));
    return bytes.length;
  };

  say(text: string): void {
    if (this.#isCut) return;
    this.#text += text;
    if (this.#text.length <= this.#most) return;
    this.#isCut = true;
    this.#text = `${this.#text.slice(0, this.#most).toWellFormed()}\n[cut off after ${this.#most} characters]`;
  }

  get text(): string {
    return this.#text;
  }
}

/** `onFatal` is called when Python itself has failed and runs nothing more. */
export async function startPython(onFatal: () => void): Promise<Python> {
  // Without these, Python would be given all that the process's own code can reach.
  const runtime = await loadPyodide({ jsglobals: {}, env: VARIABLES }) as object as Runtime;
  runtime._api.on_fatal = onFatal;
  // They show where the program is on this machine.
  const { config } = runtime._api;
  for (const [name, value] of Object.entries(config)) if (typeof value === "string") config[name] = "";
  runtime.setStdin({ error: true });
  runtime.FS.mkdirTree(FILES_FOLDER);
  runtime.FS.chdir(FILES_FOLDER);
  return new Python(runtime);
}
