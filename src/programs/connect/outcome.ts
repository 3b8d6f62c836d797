/** The result of connecting one client, for people and for programs. */

export interface Outcome {
  ok: boolean;
  /** Why it is not connected, or not disconnected. */
  reason?: string;
  /** How to give the command another key. Present if the gateway wants one. */
  keyCure?: string;
  /** The files that are different now. */
  changed: string[];
  /** The exit code. */
  code: number;
  /** The model that the client was given. */
  model?: string;
  /** Whether the reason was shown already. */
  isSaid?: boolean;
}

/** A file as it would be, without secrets. */
export interface ShownFile {
  path: string;
  text: string;
  /** The text that is there now. Absent if the file is new. */
  before?: string;
}

export const done = (changed: string[]): Outcome => ({ ok: true, changed, code: 0 });

export const failed = (reason: string, more: Partial<Outcome> = {}): Outcome => ({
  ok: false,
  reason,
  changed: [],
  code: 1,
  ...more,
});
