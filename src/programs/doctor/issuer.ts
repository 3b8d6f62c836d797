/** Whether the issuer's keys can be read that callers' tokens are checked with. */
import { fetchTransport } from "../../platform/fetch_transport.ts";
import type { Examined } from "./examination.ts";
import { type Finding, problem, well } from "./finding.ts";
import { whyUnreached } from "./reach.ts";

export async function checkIssuer({ config: { oidc }, platform, patienceMs }: Examined): Promise<Finding[]> {
  if (!oidc) return [];
  const subject = `issuer "${oidc.issuer}"`;
  const { whyNoKeys } = await import("../../compose/oidc.ts");
  const failure = await whyNoKeys(oidc, fetchTransport(platform.fetch), AbortSignal.timeout(patienceMs));
  if (failure === undefined) return [well("issuer", subject, "Its keys can be read")];
  if (!(failure instanceof Error) || failure.name !== "TransportError") {
    const cure = "Compare oidc.issuer with the issuer that the provider reports, or set oidc.jwksUrl";
    const message = failure instanceof Error ? failure.message : String(failure);
    return [problem("error", "issuer-unusable", subject, `Its keys cannot be read: ${message}`, cure)];
  }
  const { host } = new URL(oidc.jwksUrl ?? oidc.issuer);
  const { check, message, cure } = whyUnreached(failure, host);
  return [problem("error", check, subject, message, cure.replaceAll("baseUrl", "oidc.issuer"))];
}
