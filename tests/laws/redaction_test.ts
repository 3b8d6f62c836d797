/** Redaction holds between any two wires: what their plugins make of a request has no secrets, and of an answer the originals. */
import { assert, assertEquals } from "@std/assert";
import fc from "fast-check";
import { MEDIA } from "../../plugins/redact/options.ts";
import { PLACEHOLDER } from "../../plugins/redact/placeholder.ts";
import type { GenerateRequest, GenerateResponse } from "../../src/canonical/generate.ts";
import { isJsonObject, type JsonObject, type JsonValue } from "../../src/canonical/json.ts";
import { replay } from "../../src/canonical/replay.ts";
import { GatewayError } from "../../src/errors.ts";
import { newContext, newWireRequest } from "../support/context.ts";
import { law } from "../support/law.ts";
import { LAW_INPUTS } from "../support/law_inputs.ts";
import { WIRES } from "../support/wires.ts";
import { inMessage, passed, restored, wholeOf } from "../plugins/redact/support.ts";

const EMAIL = "ada.lovelace@example.com";
const KEY = "sk-proj-Zk81bD9qLmN0pRsTuVwXyZ12";
const PASSWORD = "hunter2x9";
const PLANTED = ` ${EMAIL} ${KEY} PASSWORD=${PASSWORD} `;

/** The fields of the wires that have texts. Others have their own grammar, which a text would break. */
const TEXTS =
  /^(?:text|content|thinking|summary|refusal|description|instructions|output|system|title|pattern|const|own)$/;

/** The request with secrets in every text, and in the arguments of calls. */
function planted(value: JsonValue, name = ""): JsonValue {
  if (typeof value === "string") {
    if (name === "arguments") return JSON.stringify({ given: value, deep: [{ own: PLANTED }] });
    return TEXTS.test(name) ? value + PLANTED : value;
  }
  if (Array.isArray(value)) return value.map((item) => planted(item, name));
  if (!isJsonObject(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, planted(inner!, key)]));
}

for (const { wire: from, request } of LAW_INPUTS) {
  for (const to of WIRES) {
    law(`redact: ${from.name} to ${to.name}: no body has a secret`, request, async (body) => {
      const context = newContext(from.name);
      const asked = { ...planted(JSON.parse(JSON.stringify(body))) as JsonObject, own_field: PLANTED };
      const sent = await sentBody(
        () => from.parseRequest(newWireRequest(asked), context),
        (input) => to.serializeRequest(input, context),
      );
      for (const secret of [EMAIL, KEY, PASSWORD]) assert(!sent.includes(secret), sent);
      if (sent !== "") seen++;
    });
  }
}

let seen = 0;
Deno.test("redact: most of these requests are sent", () => assert(seen > 100, `${seen}`));

/** The body for the upstream, as JSON. Empty if the request is refused. */
async function sentBody(
  parse: () => GenerateRequest,
  serialize: (input: GenerateRequest) => JsonValue,
): Promise<string> {
  try {
    return JSON.stringify(serialize((await passed("generate", parse(), { unreadable: [...MEDIA] })).input));
  } catch (error) {
    if (error instanceof GatewayError) return "";
    throw error;
  }
}

const pieces = fc.tuple(fc.lorem({ maxCount: 3 }), fc.lorem({ maxCount: 3 }));

for (const from of WIRES) {
  for (const to of WIRES) {
    law(
      `redact: ${to.name} to ${from.name}: an answer has the originals, whole and streamed`,
      pieces,
      async ([one, other]) => {
        const said = `${one} ${EMAIL} ${other} PASSWORD=${PASSWORD}`;
        const asked = await passed("generate", inMessage(said));
        const [message] = asked.input.messages;
        const [part] = message!.content as [{ type: "text"; text: string }];
        const answer: GenerateResponse = {
          model: "m",
          content: [
            { type: "text", text: part.text },
            { type: "tool-call", kind: "function", id: "call_1", name: "f", input: JSON.stringify({ to: part.text }) },
          ],
          finish: { reason: "tool-calls" },
          usage: { inputTokens: 1, outputTokens: 1 },
        };
        const request = { ...inMessage(said), tools: [{ type: "function" as const, name: "f" }] };
        const there = to.newExchange(request, newWireRequest({}));
        const whole = wholeOf(
          asked,
          to.parseResponse(await to.serializeResponse(answer, there), request, newContext()),
        );
        const events = restored(
          asked,
          to.readEvents(
            to.writeFrames(replay(answer), to.newExchange(request, newWireRequest({}))),
            request,
            newContext(),
          ),
        );
        const texts = events.map((event) => event.type === "part-delta" ? event.delta.text : "").join("");
        assertEquals(texts, said + JSON.stringify({ to: said }));
        const here = from.newExchange(request, newWireRequest({}));
        const shown = JSON.stringify(await from.serializeResponse(whole, here)) +
          from.writeText(events, from.newExchange(request, newWireRequest({})));
        assertEquals(shown.match(PLACEHOLDER), null);
        assert(shown.includes(EMAIL));
      },
    );
  }
}
