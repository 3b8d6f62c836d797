import type { HostedErrorCode } from "../canonical/hosted.ts";

/** There is no page to give. The code is for the gateway, the message for people. */
export class Refusal extends Error {
  readonly code: HostedErrorCode;
  /** Whether the page cost a thread, and with it the process. */
  readonly isSpoiling: boolean;

  constructor(code: HostedErrorCode, message: string, options: ErrorOptions & { isSpoiling?: boolean } = {}) {
    super(message, options);
    this.code = code;
    this.isSpoiling = options.isSpoiling ?? false;
  }
}
