import { GatewayError } from "../errors.ts";
import { withoutBody } from "./respond.ts";

export interface OperatorEndpointsOptions {
  name: string;
  version: string;
  lanes: readonly string[];
  /** Whether load balancers may send requests. */
  isReady(): boolean;
  /** What it lost though it is ready, for operators. */
  warning?(): string | undefined;
}

/** Answers the requests of operators and load balancers. `undefined` for any other path. */
export type OperatorEndpoints = (request: Request, url: URL) => Response | Promise<Response> | undefined;

/** These endpoints need no key, and reveal nothing else. */
export function createOperatorEndpoints(
  { name, version, lanes, isReady, warning }: OperatorEndpointsOptions,
): OperatorEndpoints {
  const answers: Record<string, (request: Request, url: URL) => Response | Promise<Response>> = {
    "/": async ({ headers }, { origin }) =>
      (await import("./index_page.ts")).answerIndex(headers, { name, version, lanes, origin }),
    "/healthz": () => Response.json({ status: "ok" }),
    "/readyz": () =>
      isReady()
        ? Response.json({ status: "ready", warning: warning?.() })
        : Response.json({ status: "draining" }, { status: 503 }),
  };
  return (request, url) => {
    const { method } = request;
    const { pathname } = url;
    const answer = Object.hasOwn(answers, pathname) ? answers[pathname] : undefined;
    if (!answer) return undefined;
    if (method === "HEAD") return Promise.resolve(answer(request, url)).then(withoutBody);
    if (method !== "GET") throw methodNotAllowed(method, ["GET", "HEAD"]);
    return answer(request, url);
  };
}

export function methodNotAllowed(method: string, allow: readonly string[]): GatewayError {
  const message = `This path does not serve ${method}: use ${allow.join(" or ")}`;
  return new GatewayError("method_not_allowed", message, { allow });
}
