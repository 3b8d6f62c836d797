import { clientClosed, type RequestContext } from "../context/request_context.ts";
import { withoutSecrets } from "../context/secrets.ts";
import { type GatewayError, toGatewayError } from "../errors.ts";
import { explainError } from "./resolve.ts";

/** What was thrown, as the client may read it. */
export async function describeError(thrown: unknown, context: RequestContext): Promise<GatewayError> {
  const { hide, hasLeft } = context;
  // Twice: a secret that is cut at a message's end is known by standing there, and the lane's words come after it.
  const own = withoutSecrets(toGatewayError(thrown), hide);
  return hasLeft() ? clientClosed() : withoutSecrets(await explainError(own, context), hide);
}
