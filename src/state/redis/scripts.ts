/** Scripts that a server runs as one step. */
import { builtin } from "../../util/builtin.ts";

export interface Script {
  text: string;
  /** The hash by which the server knows it. */
  sha1(): string;
}

/**
 * A script in Lua. It can read `now`, the server's time in milliseconds. Its first argument is a deadline, after which it does
 * nothing. Its own arguments begin with the second.
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
