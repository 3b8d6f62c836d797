/** The libraries with which programs call the gateway's endpoints. */
import type { RequestContext } from "../../context/request_context.ts";

/** The endpoints are those that are sent JSON. The texts are in plugins, because they name vendors. */
export async function clientLibraries({ gateway: { registry } }: RequestContext): Promise<Response> {
  const described = registry.protocols
    .filter(({ operation, method, body }) => operation === "generate" && method === "POST" && body === "json")
    .map(({ describe }) => describe?.());
  const libraries = (await Promise.all(described)).flatMap((one) => one?.library ?? []);
  return Response.json({ data: libraries });
}
