/** Why a server cannot be checked at all, in place of a failure for each requirement. */
import { checkedWires } from "../../../plugins/programs/conformance/mod.ts";
import { hiderFor } from "../../context/secrets.ts";
import type { Platform } from "../../platform/platform.ts";
import { withQuery } from "../../util/urls_and_headers.ts";
import { whyUnreached } from "../doctor/reach.ts";
import { openCheck } from "./check_call.ts";
import type { Checking } from "./run.ts";

/** How long it may take to find out whether anybody is there, in milliseconds. */
const REACH_MS = 5_000;
/** The statuses of a server that does not know the key, the path or the model. */
const REFUSED = [401, 403, 404];

interface Asker extends Pick<Platform, "fetch"> {
  reachMs?: number;
  /** Whether the model is a script, which answers no question but those of the kit. */
  isScripted?: boolean;
  say(text: string): void;
}

/** The sentence for people; nothing where the requirements can judge what the server does. */
export async function obstacleTo(checking: Checking, asker: Asker): Promise<string | undefined> {
  const { reachMs = REACH_MS, isScripted, say } = asker;
  const { patienceMs } = checking;
  const { message, isSilent } = await reach(checking, asker.fetch, reachMs);
  if (message !== undefined || isScripted) return message;
  if (isSilent) {
    say(`No answer in ${reachMs / 1000} s: waiting for one to a request, for ${patienceMs / 1000} s at most`);
  }
  return await whyRefused(checking, isSilent);
}

async function reach(
  { baseUrl, query }: Checking,
  fetch: Platform["fetch"],
  reachMs: number,
): Promise<{ message?: string; isSilent: boolean }> {
  try {
    const url = `${baseUrl}/v1/models`;
    const response = await fetch(query === undefined ? url : withQuery(url, query), {
      signal: AbortSignal.timeout(reachMs),
    });
    await response.body?.cancel();
    return { isSilent: false };
  } catch (error) {
    const { check, message } = whyUnreached(error, new URL(baseUrl).host);
    const isSilent = check === "silent";
    return isSilent || check === "connection-lost" ? { isSilent } : { message, isSilent };
  }
}

/** The reason why the server refuses requests of every wire; `undefined` if it does not. */
async function whyRefused(
  { key, model, wires, ...asked }: Checking,
  isSilent: boolean,
): Promise<string | undefined> {
  let reason = "";
  for (const wire of checkedWires.filter(({ name }) => wires.includes(name))) {
    const ask = openCheck({ ...asked, key, headers: wire.headers });
    const reply = await ask(wire.path, wire.request({ model, text: "Say: pong", maxTokens: 16 }));
    if (reply.isLate) return late(asked, isSilent);
    if (!REFUSED.includes(reply.status)) return undefined;
    reason ||= wire.readWhole(reply).complaints.join("; ");
  }
  return hiderFor(key === undefined ? [] : [key])(`The server refuses every request. ${reason}`);
}

/** Each requirement would wait as long. */
function late({ baseUrl, patienceMs }: Pick<Checking, "baseUrl" | "patienceMs">, isSilent: boolean): string {
  const { host } = new URL(baseUrl);
  return isSilent
    ? `${host} accepts connections, and answers nothing`
    : `${host} has not answered a request for 16 tokens within ${patienceMs / 1000} s`;
}
