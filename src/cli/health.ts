/** The command `health`: whether a gateway, or a fetcher, is ready. It is for containers without a shell. */
import { ConfigError, readConfig } from "../config/load.ts";
import { healthUrl } from "./health_url.ts";
import type { Listen } from "../programs/flags.ts";
import { type Program, UsageError } from "../programs/program.ts";

/** How long an answer may take, in milliseconds: a gateway whose every thread is busy answers late. */
const PATIENCE_MS = 5_000;

/** The status of the answer, or why there is none. It uses no proxy, unlike `fetch`. */
async function ask(url: URL): Promise<number | string> {
  const { get } = await import("node:http");
  return await new Promise((resolve) => {
    const request = get(url, { agent: false, timeout: PATIENCE_MS }, (response) => {
      response.resume();
      resolve(response.statusCode ?? 0);
    });
    request.on("timeout", () => request.destroy(new Error(`No answer within ${PATIENCE_MS / 1_000} s`)));
    request.on("error", ({ message }) => resolve(message));
  });
}

/** Returns the exit code. */
export async function health(
  [service, ...rest]: string[],
  path: string | undefined,
  listen: Listen,
  { platform, streams: { say } }: Program,
): Promise<number> {
  if ((service !== undefined && service !== "fetcher") || rest.length > 0) {
    throw new UsageError("Expected health, or health fetcher");
  }
  const url = healthUrl({ config: writtenConfig(path, platform), listen, isFetcher: service === "fetcher" });
  const answer = await ask(url);
  if (answer === 200) return 0;
  say(`Not ready: ${url} ${typeof answer === "number" ? `answers ${answer}` : answer}`);
  return 1;
}

/** Whoever breaks the file of a gateway that runs, does not break the gateway: it goes on with what it has. */
function writtenConfig(path: string | undefined, { env, readText }: Program["platform"]): unknown {
  try {
    return readConfig({ path, env, readText }).written;
  } catch (error) {
    if (error instanceof ConfigError) return undefined;
    throw error;
  }
}
