/** Only those names of calls are turned back that were flattened here; any other namespace is the vendor's. */
import { assertEquals } from "@std/assert";
import type { GenerateResponse } from "../../../src/canonical/generate.ts";
import { collect } from "../../../src/canonical/collect.ts";
import type { JsonObject, JsonValue } from "../../../src/canonical/json.ts";
import { newContext, newWireRequest } from "../../support/context.ts";
import { CHAT, MESSAGES, RESPONSES } from "../../support/wires.ts";

const RATE = { type: "function", name: "get_exchange_rate", defer_loading: true, parameters: { type: "object" } };
const CRM = { type: "namespace", name: "crm", description: "Customers", tools: [{ type: "function", name: "list" }] };
const TOOLS: JsonObject[] = [{ type: "tool_search" }, RATE, CRM];

/** The vendor's calls, as they come from upstream and as the client gets them: a name that the gateway made is turned back. */
const CALLS: Record<string, { upstream: JsonObject; client: JsonObject }> = {
  "a deferred function in a namespace of its own name": {
    upstream: { name: "get_exchange_rate", namespace: "get_exchange_rate" },
    client: { name: "get_exchange_rate", namespace: "get_exchange_rate" },
  },
  "a function without a namespace": {
    upstream: { name: "get_exchange_rate" },
    client: { name: "get_exchange_rate" },
  },
  "a tool of a server that the vendor itself asked": {
    upstream: { name: "read", namespace: "drive" },
    client: { name: "read", namespace: "drive" },
  },
  "a tool that was flattened here": { upstream: { name: "crm__list" }, client: { name: "list", namespace: "crm" } },
  "a tool that was flattened here and split again": {
    upstream: { name: "list", namespace: "crm" },
    client: { name: "list", namespace: "crm" },
  },
  "a tool that was flattened here, in a namespace of its flat name": {
    upstream: { name: "crm__list", namespace: "crm__list" },
    client: { name: "list", namespace: "crm" },
  },
};

const WIRE = newWireRequest({ model: "m", input: "a", tools: TOOLS });
const INPUT = RESPONSES.parseRequest(WIRE, newContext("responses"));
const HEAD = { object: "response", model: "m", usage: { input_tokens: 5, output_tokens: 2 } };

function itemOf(called: JsonObject): JsonObject {
  return { type: "function_call", id: "fc_1", call_id: "call_1", ...called, arguments: "{}", status: "completed" };
}

/** The answer, whole and streamed, to a client of this wire. */
function readBoth(called: JsonObject, client: string): GenerateResponse[] {
  const item = itemOf(called);
  const response = { ...HEAD, status: "completed", output: [item] };
  const frames: JsonObject[] = [
    { type: "response.created", response: { ...HEAD, status: "in_progress", output: [] } },
    { type: "response.output_item.added", output_index: 0, item: { ...item, arguments: "", status: "in_progress" } },
    { type: "response.function_call_arguments.delta", output_index: 0, item_id: "fc_1", delta: "{}" },
    { type: "response.output_item.done", output_index: 0, item },
    { type: "response.completed", response },
  ];
  const events = RESPONSES.readEvents(
    frames.map((frame) => ({ data: JSON.stringify(frame) })),
    INPUT,
    newContext(client),
  );
  return [RESPONSES.parseResponse(response, INPUT, newContext(client)), collect(events)];
}

function nameIn(item: JsonValue | undefined): JsonObject {
  const { name, namespace } = item as JsonObject;
  return { name, ...(namespace !== undefined && { namespace }) } as JsonObject;
}

for (const [what, { upstream, client }] of Object.entries(CALLS)) {
  Deno.test(`namespaces: ${what} comes out as the vendor called it, whole and streamed`, async () => {
    for (const answer of readBoth(upstream, "responses")) {
      const exchange = RESPONSES.newExchange(INPUT, WIRE);
      const { output } = await RESPONSES.serializeResponse(answer, exchange) as { output: JsonObject[] };
      assertEquals(nameIn(output[0]), client);
      assertEquals(exchange.notes, []);
      const frames = RESPONSES.writeFrames(
        [
          { type: "start", model: "m", inputTokens: 1 },
          { type: "part-start", index: 0, part: { ...answer.content[0]!, input: "" } as never },
          { type: "part-delta", index: 0, delta: { type: "tool-input", text: "{}" } },
          { type: "part-end", index: 0 },
          { type: "finish", finish: answer.finish, usage: answer.usage },
        ],
        exchange,
      );
      for (const { data } of frames) {
        const { item } = data?.startsWith("{") ? JSON.parse(data) : { item: undefined };
        if (item) assertEquals(nameIn(item), client);
      }
    }
  });

  Deno.test(`namespaces: ${what} goes up again as it came`, () => {
    const item = itemOf(client);
    const body = { model: "m", tools: TOOLS, input: [{ role: "user", content: "a" }, item, OUTPUT] };
    const context = newContext("responses");
    const sent = RESPONSES.serializeRequest(
      RESPONSES.parseRequest(newWireRequest(body), context),
      context,
    ) as JsonObject;
    const [, called] = sent.input as JsonObject[];
    // The gateway offers the tool to the upstream under a flat name, and calls it by that.
    assertEquals(nameIn(called), client.namespace === "crm" ? { name: "crm__list" } : client);
    assertEquals(context.notes, []);
  });
}

const OUTPUT = { type: "function_call_output", call_id: "call_1", output: "1.1" };

Deno.test("namespaces: other wires and open models know a function by the name under which it is offered", () => {
  const [answer] = readBoth({ name: "get_exchange_rate", namespace: "get_exchange_rate" }, "chat");
  const [part] = answer!.content;
  assertEquals(part?.type === "tool-call" && part.name, "get_exchange_rate");
  const item = itemOf({ name: "get_exchange_rate", namespace: "get_exchange_rate" });
  const body = { model: "m", tools: TOOLS, input: [{ role: "user", content: "a" }, item, OUTPUT] };
  for (const wire of [CHAT, MESSAGES]) {
    const context = newContext("responses");
    const sent = JSON.stringify(
      wire.serializeRequest(RESPONSES.parseRequest(newWireRequest(body), context), context),
    );
    assertEquals([sent.includes('"get_exchange_rate"'), /exchange_rate__|namespace/.test(sent)], [true, false]);
  }
});
