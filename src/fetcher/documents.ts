/** Reads documents that clients sent, within limits: as text, and pages of PDFs as pictures. */
import { Buffer } from "node:buffer";
import type { DocumentKind, ReadDocument } from "./document_worker.ts";
import { type Caller, FetchQueue } from "./fetch_queue.ts";
import type { DocumentReader } from "./reader.ts";
import { Refusal } from "./refusal.ts";

export interface DocumentWork {
  mediaType: string;
  bytes: Uint8Array;
  /** The limit on the text, in characters. */
  most: number;
  /** The most pages of which pictures are made, and the length of their longer side, in pixels. */
  pictures: number;
  side: number;
}

export interface ConvertedDocument extends Omit<ReadDocument, "pictures"> {
  /** PNG as base64. */
  pictures?: string[];
}

const OFFICE = "application/vnd.openxmlformats-officedocument.";
const KIND_OF: Readonly<Record<string, DocumentKind>> = {
  "application/pdf": "pdf",
  [`${OFFICE}wordprocessingml.document`]: "docx",
  [`${OFFICE}spreadsheetml.sheet`]: "xlsx",
  [`${OFFICE}presentationml.presentation`]: "pptx",
};
const [MOST_CHARACTERS, MOST_PICTURES, LONGEST_SIDE] = [1_000_000, 100, 2_048];
/** How many documents are read or wait at once. Further ones are refused. */
const IN_ALL = 8;

export class Documents {
  readonly #reader: Pick<DocumentReader, "read">;
  readonly #queue = new FetchQueue({ inAll: IN_ALL, atHost: IN_ALL });

  constructor(reader: Pick<DocumentReader, "read">) {
    this.#reader = reader;
  }

  /** Throws a `Refusal`, or the reason of `signal`. */
  async convert(work: DocumentWork, signal: AbortSignal, caller?: Caller): Promise<ConvertedDocument> {
    const kind = KIND_OF[work.mediaType];
    if (!kind) throw new Refusal("unsupported_type", "There is no reader for this type");
    const job = {
      kind,
      bytes: work.bytes,
      most: Math.min(work.most, MOST_CHARACTERS),
      pictures: Math.min(work.pictures, MOST_PICTURES),
      side: Math.min(work.side, LONGEST_SIDE),
    };
    const { pictures, ...read } = await this.#queue.run(caller, () => this.#reader.read(job, signal, caller));
    return {
      ...read,
      ...(pictures && { pictures: pictures.map((picture) => Buffer.from(picture).toString("base64")) }),
    };
  }
}
