import { clientClosed, type RequestContext } from "../context/request_context.ts";
import { withoutSecrets } from "../context/secrets.ts";
import { type GatewayError, toGatewayError } from "../errors.ts";
import { explainError } from "./resolve.ts";

/** The error in the form that the client may see. */
export async function describeError(thrown: unknown, context: RequestContext): Promise<GatewayError> {
  const { hide, hasLeft } = context;
  // Secrets are hidden twice. A secret that was cut off is recognized only at the end of the message, and the lane's
  // hint is appended after it.
  const own = withoutSecrets(toGatewayError(thrown), hide);
  return hasLeft() ? clientClosed() : withoutSecrets(await explainError(own, context), hide);
}
