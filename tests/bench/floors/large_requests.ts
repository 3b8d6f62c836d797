/**
 * Claim: of a request of 400 kB with other letters than Latin ones, what no gateway with limits can leave out takes 1.8 times
 * what `JSON.parse` and `JSON.stringify` take: its bytes become text, the text is counted before anything is made of it, each
 * value is looked at once, its texts for their tokens, and the text for the upstream becomes bytes. Up to 2.5 times that leaves
 * 0.7 for validation and the translation itself. From messages to chat by hand, with each field checked where it is read, is a
 * row of its own: alone, and with what cannot be left out. Prints the least processor time of each.
 *
 * Tried and left, because none gained what could be seen: to count values in the bytes instead of the text, to search near quotes
 * by characters, and to weigh short texts by Node's buffers.
 */
import process from "node:process";
import { estimateTextTokens } from "../../../src/canonical/estimate.ts";
import { excessOf, JSON_LIMITS } from "../../../src/canonical/json_limits.ts";
import { bodyFor, WIRES } from "../bodies.ts";
import { toChat } from "../translated_by_hand.ts";

/** The least of forty runs, in microseconds. */
function least(run: () => unknown): number {
  return Math.min(...Array.from({ length: 40 }, () => {
    const before = process.cpuUsage();
    for (let time = 0; time < 5; time++) run();
    const { user, system } = process.cpuUsage(before);
    return (user + system) / 5;
  }));
}

function walk(value: unknown): number {
  if (typeof value === "string") return estimateTextTokens(value);
  if (typeof value !== "object" || value === null) return 0;
  let sum = 0;
  if (Array.isArray(value)) { for (const item of value) sum += walk(item); }
  else for (const key in value) sum += walk((value as Record<string, unknown>)[key]);
  return sum;
}

const [decoder, encoder] = [new TextDecoder(), new TextEncoder()];
const lines: string[] = [];
for (const wire of WIRES) {
  const text = JSON.stringify(bodyFor(wire, { bytes: 400_000 }));
  const bytes = encoder.encode(text);
  const json = least(() => JSON.stringify(JSON.parse(text)));
  const parsed = least(() => walk(JSON.parse(text))) - least(() => JSON.parse(text));
  const parts = [
    least(() => decoder.decode(bytes)),
    least(() => excessOf(text, JSON_LIMITS)),
    parsed,
    least(() => encoder.encode(text)),
  ];
  const rest = parts.reduce((sum, one) => sum + one, 0);
  const times = (us: number) => (us / json).toFixed(1);
  const [decoded, counted, walked, encoded] = parts.map((us) => us.toFixed(0));
  lines.push(
    `${wire}: parse and stringify ${
      json.toFixed(0)
    } µs, decode ${decoded}, count ${counted}, walk and weigh ${walked}, ` +
      `encode ${encoded}: ${times(json + rest)} times\n`,
  );
  if (wire !== "messages") continue;
  const translated = least(() => JSON.stringify(toChat(JSON.parse(text))));
  lines.push(
    `… parsed, checked, translated to chat by hand and written: ${translated.toFixed(0)} µs, ` +
      `${times(translated)} times; with the rest ${times(translated + rest)} times\n`,
  );
}
Deno.stdout.writeSync(encoder.encode(lines.join("")));
