/** How servers of every kind list their models, and where they expect a secret. */
import type { Call, SecretPlace } from "../../../src/contract/call.ts";

/** Servers of the messages wire require this version. */
export const listing: Call & { path: string } = { path: "models", headers: { "anthropic-version": "2023-06-01" } };

/** In the order in which they are tried. */
export const secretPlaces: readonly SecretPlace[] = [
  { header: "authorization", scheme: "Bearer" },
  { header: "x-api-key" },
  { header: "api-key" },
];
