import { GatewayError } from "../../src/errors.ts";

/** The error for what this target cannot do. Another may. */
export function refuse(param: string, message: string): GatewayError {
  return new GatewayError("invalid_request", message, { param, tryNextTarget: true, notProcessed: true });
}
