import { assertEquals } from "@std/assert";
import type { GenerateRequest } from "../src/canonical/generate.ts";
import { GatewayError } from "../src/errors.ts";
import { formatFrame } from "../src/http/sse.ts";
import { readFrames } from "../src/upstream/frames.ts";
import { bodyOf, toArray } from "./support/chunks.ts";
import { newContext } from "./support/context.ts";
import { answerBytes, type Fixture, isOk, isStream, loadFixtures, wireRequest } from "./support/fixtures.ts";
import { type Wire, WIRES } from "./support/wires.ts";

/**
 * Golden tables: every exchange of a wire, told in every wire. Below `golden/<from>-to-<to>/`, for each case:
 *
 * - `.request.json`: what an upstream that speaks `to` is sent for the request, or `.refused.json`: why the client is not served
 * - `.response.json` or `.stream.txt`: what a client that speaks `to` gets for the upstream's answer, or `.error.json`
 * - `.notes.txt`: what the gateway says that it changed
 * - `.relayed.json`, alone: the field for which the request and its answer pass by the canonical form, to their own wire only
 *
 * `LANEWAY_UPDATE_GOLDEN=1` writes the files anew; the diff is the review.
 */
const GOLDEN = new URL("./golden/", import.meta.url);
const UPDATE = Deno.env.get("LANEWAY_UPDATE_GOLDEN") === "1";

type Files = Record<string, string>;

async function tell(fixture: Fixture, from: Wire, to: Wire): Promise<Files> {
  const files: Files = {};
  const request = newContext(from.name);
  const wire = wireRequest(fixture);
  let input: GenerateRequest | undefined;
  try {
    input = from.parseRequest(wire, request);
    if (input.relay) return { "relayed.json": pretty({ wire: input.relay.wire, field: input.relay.field }) };
    files["request.json"] = pretty(to.serializeRequest(input, request));
  } catch (error) {
    // What is not JSON at all never reaches a wire.
    if (typeof fixture.request.body !== "string") files["refused.json"] = await formatError(error, to);
  }
  const notes = request.notes.map((note) => `request: ${note}`);
  if (!isOk(fixture)) {
    files["error.json"] = await formatError(from.parseError(fixture), to);
  } else if (input) {
    const exchange = to.newExchange(input, from === to ? wire : { ...wire, body: {} });
    if (isStream(fixture)) {
      const events = from.parseStream(readFrames(bodyOf([answerBytes(fixture)])), input, exchange);
      files["stream.txt"] = (await toArray(to.serializeStream(events, exchange))).map(formatFrame).join("");
    } else {
      try {
        files["response.json"] = pretty(
          await to.serializeResponse(
            from.parseResponse(fixture.response.json ?? fixture.response.text ?? "", input, exchange),
            exchange,
          ),
        );
      } catch (error) {
        files["error.json"] = await formatError(error, to);
      }
    }
    notes.push(...exchange.notes.map((note) => `response: ${note}`));
  }
  if (notes.length > 0) files["notes.txt"] = notes.join("\n") + "\n";
  return files;
}

async function formatError(error: unknown, wire: Wire): Promise<string> {
  if (!(error instanceof GatewayError)) throw error;
  const response = wire.serializeError(error);
  return pretty({
    status: response.status,
    headers: Object.fromEntries(response.headers),
    body: await response.json(),
  });
}

function pretty(value: unknown): string {
  return JSON.stringify(value, null, 2) + "\n";
}

for (const from of WIRES) {
  for (const to of WIRES) {
    const folder = new URL(`${from.name}-to-${to.name}/`, GOLDEN);
    if (UPDATE) Deno.mkdirSync(folder, { recursive: true });
    const present = new Set([...Deno.readDirSync(folder)].map(({ name }) => name));
    for (const fixture of loadFixtures(from.name)) {
      Deno.test(`${from.name} to ${to.name}: ${fixture.name}`, async () => {
        const told = await tell(fixture, from, to);
        const known: Files = {};
        for (const [ending, text] of Object.entries(told)) {
          const file = `${fixture.name}.${ending}`;
          if (UPDATE) Deno.writeTextFileSync(new URL(file, folder), text);
          if (present.delete(file)) known[ending] = Deno.readTextFileSync(new URL(file, folder));
          else if (UPDATE) known[ending] = text;
        }
        assertEquals(told, known);
      });
    }
    Deno.test(`${from.name} to ${to.name}: no golden file is left over`, () => {
      if (UPDATE) { for (const file of present) Deno.removeSync(new URL(file, folder)); }
      else assertEquals([...present], []);
    });
  }
}
