/** Files that clients upload once and then name by their ids. */

/** The facts about a file, without its content. */
export interface FileFacts {
  name: string;
  mediaType: string;
  /** The client's word for what the file is for, on wires that have one. */
  purpose?: string;
  /** How long the file is kept, in milliseconds. Absent to keep it until it is deleted. */
  keepMs?: number;
}

export interface StoredFile extends Omit<FileFacts, "keepMs"> {
  /** The id without the prefix that a wire adds. All wires name the same file by it. */
  id: string;
  bytes: number;
  /** Milliseconds since the epoch. */
  created: number;
  /** Milliseconds since the epoch. Absent if the file is kept until it is deleted. */
  expires?: number;
}

/** The purpose of a file that a tool has made. Clients may download it on every wire. */
export const MADE_BY_TOOL = "assistants_output";

export type FilesRequest =
  | { action: "upload"; facts: FileFacts; content: Uint8Array<ArrayBuffer> }
  /** Begins an upload in pieces. `bytes`: the declared length. */
  | { action: "begin"; facts: FileFacts; bytes: number }
  /** Adds a piece. `isLast`: whether the file is complete with it. */
  | { action: "append"; id: string; offset: number; content: Uint8Array<ArrayBuffer>; isLast: boolean }
  /** How much of an upload in pieces has arrived. */
  | { action: "progress"; id: string }
  /** Adds a piece whose place is only known at the end. */
  | { action: "part"; id: string; content: Uint8Array<ArrayBuffer> }
  /** Ends an upload. `parts`: the numbers of its pieces in the order of the content. `md5`: that of the content, in hex. */
  | { action: "complete"; id: string; parts: number[]; md5?: string }
  /** Gives an upload up that is not complete. */
  | { action: "cancel"; id: string }
  | { action: "list" }
  | { action: "get" | "content" | "delete"; id: string };

export interface FilesAnswer {
  /** All files of the caller for `list`, the latest first. Otherwise the file that the request was about. */
  files: StoredFile[];
  /** The bytes that have arrived, for an upload in pieces that is not complete. */
  received?: number;
  /** The number of the piece, for `part`. */
  part?: number;
  /** The content, for `content`. */
  content?: ReadableStream<Uint8Array<ArrayBuffer>>;
  /** The lane's URL as the client has it, for wires that name files by URLs. */
  base: string;
}

/** How long an upload in pieces may take, in milliseconds. */
export const UPLOAD_MS = 3_600_000;

/** The id without the prefix of any wire. */
export function bareId(id: string): string {
  return id.replace(/^(?:file[-_]|files\/|upload_)/, "");
}
