/** The command `health`: whether a gateway, or a fetcher, is ready. It is for containers without a shell. */
import { ConfigError, readConfig } from "../config/load.ts";
import { healthUrl } from "./health_url.ts";
import { HEALTH } from "../programs/commands/mod.ts";
import { type Listen, readArguments } from "../programs/flags.ts";
import { printJson } from "../programs/json_output.ts";
import { type Program, UsageError } from "../programs/program.ts";

/** How long an answer may take, in milliseconds: a busy gateway answers late. */
const PATIENCE_MS = 5_000;

/** The status of the answer, or why there is none. Unlike `fetch`, it uses no proxy. */
async function ask(url: URL): Promise<number | string> {
  const { get } = await import("node:http");
  return await new Promise((resolve) => {
    const request = get(url, { agent: false, timeout: PATIENCE_MS }, (response) => {
      response.resume();
      resolve(response.statusCode ?? 0);
    });
    request.on("timeout", () => request.destroy(new Error(`No answer within ${PATIENCE_MS / 1_000} s`)));
    request.on(
      "error",
      ({ message }) => resolve(/ECONNREFUSED/.test(message) ? "nothing is listening there" : message),
    );
  });
}

/** Returns the exit code. */
export async function health(
  args: readonly string[],
  path: string | undefined,
  listen: Listen,
  { platform, streams }: Program,
): Promise<number> {
  const { values: { json }, positionals: [service, ...rest] } = readArguments(args, HEALTH.options);
  if ((service !== undefined && service !== "fetcher") || rest.length > 0) {
    throw new UsageError("Expected health, or health fetcher");
  }
  const url = healthUrl({ config: writtenConfig(path, platform), listen, isFetcher: service === "fetcher" });
  const answer = await ask(url);
  const isReady = answer === 200;
  const reason = `Not ready: ${url} ${typeof answer === "number" ? `answers ${answer}` : `(${answer})`}`;
  if (json) printJson(streams, { ok: isReady, url: url.href, ...(!isReady && { reason }) });
  else if (!isReady) streams.say(reason);
  return isReady ? 0 : 1;
}

/** A broken file counts as no configuration, because the running gateway goes on with the one that it has. */
function writtenConfig(path: string | undefined, { env, readText }: Program["platform"]): unknown {
  try {
    return readConfig({ path, env, readText }).written;
  } catch (error) {
    if (error instanceof ConfigError) return undefined;
    throw error;
  }
}
