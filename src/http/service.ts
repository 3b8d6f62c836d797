import { GatewayError } from "../errors.ts";
import { withoutBody } from "./respond.ts";

export interface ServiceFacts {
  name: string;
  version: string;
  lanes: readonly string[];
  /** Whether load balancers may send requests. */
  isReady(): boolean;
}

/** Answers what operators and load balancers ask; nothing for any other path. */
export type Service = (request: Request) => Response | undefined;

/** Open to all, and it tells nothing else. */
export function createService({ name, version, lanes, isReady }: ServiceFacts): Service {
  const answers: Record<string, () => Response> = {
    "/": () => Response.json({ name, version, lanes }),
    "/healthz": () => Response.json({ status: "ok" }),
    "/readyz": () =>
      isReady() ? Response.json({ status: "ready" }) : Response.json({ status: "draining" }, { status: 503 }),
  };
  return ({ method, url }) => {
    const { pathname } = new URL(url);
    const answer = Object.hasOwn(answers, pathname) ? answers[pathname] : undefined;
    if (!answer) return undefined;
    if (method === "HEAD") return withoutBody(answer());
    if (method !== "GET") throw methodNotAllowed(method, ["GET", "HEAD"]);
    return answer();
  };
}

export function methodNotAllowed(method: string, allow: readonly string[]): GatewayError {
  const message = `This path does not serve ${method}: use ${allow.join(" or ")}`;
  return new GatewayError("method_not_allowed", message, { allow });
}
