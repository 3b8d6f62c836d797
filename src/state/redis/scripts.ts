/** Scripts that a server runs as one step. */
import { builtin } from "../../util/builtin.ts";

export interface Script {
  text: string;
  /** What the server knows it by. */
  sha1(): string;
}

/**
 * A script in Lua. It has `now`, the server's time in milliseconds, and runs only until the time that is its first argument:
 * its own begin with the second.
 */
export function script(body: string): Script {
  const text = `${BEFORE}${body}`;
  let sha1: string | undefined;
  return { text, sha1: () => sha1 ??= builtin("node:crypto").hash("sha1", text, "hex") };
}

const BEFORE = `
local time = redis.call('TIME')
local now = time[1] * 1000 + time[2] / 1000
if now > tonumber(ARGV[1]) then return {-1, tostring(now)} end
`;
