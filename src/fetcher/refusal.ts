import type { HostedErrorCode } from "../canonical/hosted.ts";

/** There is no page to give. The code is for the gateway, the message for people. */
export class Refusal extends Error {
  readonly code: HostedErrorCode;

  constructor(code: HostedErrorCode, message: string, options?: ErrorOptions) {
    super(message, options);
    this.code = code;
  }
}
