/**
 * Claim: to remember by its hash that the beginning of a conversation was checked, weighed and counted saves 0.7 to 1.0 ms of the
 * 6 that Laneway's own takes for 400 kB, if nothing new follows. The hash is taken off; the text, its JSON and the body for the
 * upstream are needed all the same. It was left: the end of what is known would have to be found in the bytes, in the text and
 * among the messages, and a mistake there lets in what nobody checked. To keep the beginning itself and compare bytes would save
 * more, but no request's body is kept once it is sent.
 */
import { hash } from "node:crypto";
import process from "node:process";
import { z } from "zod";
import { requestSchema } from "../../../plugins/messages/wire.ts";
import { parseRequest } from "../../../plugins/messages/parse_request.ts";
import { estimateInputTokens } from "../../../src/canonical/estimate.ts";
import { excessOf, JSON_LIMITS } from "../../../src/canonical/json_limits.ts";
import { newContext, newWireRequest } from "../../support/context.ts";
import { bodyFor } from "../bodies.ts";

const checker = z.compile(requestSchema);

/** The least of thirty runs, in microseconds of processor time. */
function least(run: () => unknown): number {
  return Math.min(...Array.from({ length: 30 }, () => {
    const start = process.cpuUsage();
    for (let times = 0; times < 10; times++) run();
    const { user, system } = process.cpuUsage(start);
    return (user + system) / 10;
  }));
}

const other = JSON.stringify(bodyFor("messages", { bytes: 400_000 }));
for (
  const [kind, text] of Object.entries({ "ASCII": other.replaceAll(/[\u0080-\uffff]/g, "x"), "other text": other })
) {
  const body = JSON.parse(text);
  const bytes = new TextEncoder().encode(text);
  const input = parseRequest(newWireRequest(body), newContext("messages"));
  const costs = least(() => hash("sha256", bytes, "hex"));
  const [checked, weighed] = [least(() => checker.safeParse(body)), least(() => estimateInputTokens(input))];
  const counted = least(() => excessOf(text, JSON_LIMITS));
  const needed = least(() => JSON.stringify(JSON.parse(new TextDecoder().decode(bytes))));
  // deno-lint-ignore no-console -- the report
  console.log(
    `${kind}: hash ${costs} µs; saves ${checked} (checked), ${weighed} (weighed), ${counted} (counted) µs; decode, parse and stringify ${needed} µs`,
  );
}
