import type { Edit } from "../canonical/editing.ts";
import type { Extra } from "../canonical/extra.ts";
import type { GenerateRequest, Message } from "../canonical/generate.ts";

/** How a wire's clients ask for edits of their conversation. */
export interface EditingSpeech {
  /** Reads the edits of a request. Throws `invalid_request` if one of them is malformed. */
  read(input: GenerateRequest, note: (text: string) => void): RequestedEdits;
  /**
   * The messages without the texts that a later turn has made obsolete. Returns the same array if there are none.
   * `isLeft`: whether an upstream of the client's wire is to do that itself.
   */
  withoutObsolete(messages: Message[], isLeft: boolean): Message[];
}

export interface RequestedEdits {
  edits: readonly Edit[];
  /** The `extra` without the edits that were read. `isLeft`: with them, for upstreams of the client's wire alone. */
  extraOf(extra: Extra | undefined, isLeft: boolean): Extra | undefined;
}
