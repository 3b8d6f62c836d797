import { GatewayError } from "../errors.ts";
import { withoutBody } from "./respond.ts";

export interface OperatorEndpointsOptions {
  name: string;
  version: string;
  lanes: readonly string[];
  /** Whether load balancers may send requests. */
  isReady(): boolean;
  /** A warning for operators about something that does not work although the gateway is ready. */
  warning?(): string | undefined;
}

/** Answers the requests of operators and load balancers. `undefined` for any other path. */
export type OperatorEndpoints = (request: Request, url: URL) => Response | Promise<Response> | undefined;

/** The paths of operators and load balancers. */
export const OPERATOR_PATHS = ["/", "/healthz", "/readyz"] as const;

/** These endpoints need no key, and reveal nothing else. */
export function createOperatorEndpoints(
  { name, version, lanes, isReady, warning }: OperatorEndpointsOptions,
): OperatorEndpoints {
  const answers: Record<(typeof OPERATOR_PATHS)[number], (request: Request, url: URL) => Response | Promise<Response>> =
    {
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
    const answer = Object.hasOwn(answers, pathname) ? answers[pathname as keyof typeof answers] : undefined;
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
