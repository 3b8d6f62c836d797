import { GatewayError } from "../errors.ts";

/** Bytes that all requests together may hold. */
export interface Budget {
  /** Sets bytes aside. Throws `unavailable` where not so many are left, `request_too_large` where there never are. */
  take(bytes: number): void;
  giveBack(bytes: number): void;
}

export function createBudget(limitBytes: number): Budget {
  let taken = 0;
  return {
    take(bytes) {
      if (bytes > limitBytes) {
        throw new GatewayError(
          "request_too_large",
          `The body may be larger than all uploads together: ${limitBytes} bytes`,
        );
      }
      if (taken + bytes > limitBytes) {
        throw new GatewayError("unavailable", "The gateway is busy with other uploads: try again", { retryAfter: "5" });
      }
      taken += bytes;
    },
    giveBack: (bytes) => void (taken -= bytes),
  };
}
