/** Whether a sandbox has refused it: Deno's, or Node's. */
export function isNotPermitted(thrown: unknown): boolean {
  const { name, code } = (thrown ?? {}) as { name?: unknown; code?: unknown };
  return name === "NotCapable" || code === "ERR_ACCESS_DENIED";
}
