import type { HostedErrorCode } from "../canonical/hosted.ts";

/** The reason why there is no page. The code is for the gateway, and the message is for people. */
export class Refusal extends Error {
  readonly code: HostedErrorCode;
  /** Whether the page cost a thread, and so the process. */
  readonly isSpoiling: boolean;

  constructor(code: HostedErrorCode, message: string, options: ErrorOptions & { isSpoiling?: boolean } = {}) {
    super(message, options);
    this.code = code;
    this.isSpoiling = options.isSpoiling ?? false;
  }
}
