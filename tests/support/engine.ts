/** Why the engine at `baseUrl` cannot be asked, for the name of a test that is skipped; nothing where it answers. */
export async function missingEngine(baseUrl: string): Promise<string | undefined> {
  try {
    const response = await fetch(`${baseUrl}/models`, { signal: AbortSignal.timeout(3_000) });
    await response.body?.cancel();
    return response.ok ? undefined : `${baseUrl} answers ${response.status}`;
  } catch {
    return `No engine answers at ${baseUrl}`;
  }
}
