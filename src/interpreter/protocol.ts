/** The messages between the interpreter's server and the process of one container: a line of JSON each. */

/** A file of a container. */
export interface ContainerFile {
  /** The path below the folder of the container's files. */
  name: string;
  /** Base64. */
  data: string;
}

export type Order =
  | { id: number; do: "put"; files: readonly ContainerFile[]; onlyMissing: boolean }
  | { id: number; do: "run"; code: string };

/** The outcome of an execution. */
export interface Executed {
  stdout: string;
  stderr: string;
  exitCode: number;
  /** The files that it made or changed. */
  files: ContainerFile[];
}

/** `id`: that of the order. 0 once the process is up. `failed`: Python itself has ended. */
export type Report = { id: number; executed?: Executed; failed?: true };

/** The limits of one container, which its process is told by its arguments. */
export interface ContainerLimits {
  /** The memory of Python, in MiB. */
  memory: number;
  /** The most characters of each output stream. The rest is dropped. */
  output: number;
  /** The most bytes that the files of one execution may come to. */
  fileBytes: number;
}

/** How many files of one execution are reported. */
export const MOST_FILES = 32;
/** The folder of a container's files, and of what code writes without naming a folder. */
export const FILES_FOLDER = "/mnt/data";

/** One execution that the gateway asks for. */
export interface RunRequest {
  /** The id of the container. */
  container: string;
  /** Whether the container may be made now. Otherwise one that is not there has expired. */
  isNew: boolean;
  /** The caller that the container belongs to. */
  owner: string;
  /** Whether the gateway has several callers, which then share the processes. */
  isShared: boolean;
  code: string;
  /** Files that are put into the container first. */
  files: readonly ContainerFile[];
  /** Whether files that are in it stay as they are. */
  onlyMissing: boolean;
}

/** Why code did not run, or not to its end. After all but the first two, the container is gone. */
export type RunFailure = "too_many_requests" | "expired" | "late" | "failed";

/** `expires`: when the container is removed if nobody uses it, in milliseconds since the epoch. */
export type RunAnswer = Executed & { expires: number } | { error: RunFailure };
