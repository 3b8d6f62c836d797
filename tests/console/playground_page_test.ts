/** The playground's page, apart from a browser: tools as they are written, and streams. */
import { assertEquals, assertThrows } from "@std/assert";
import { nextSide, readTools, toolsText } from "../../src/console/play/settings.js";
import { eventsIn } from "../../src/console/streams.js";

Deno.test("playground: whoever stops reading a stream ends the request, also where a stream cannot be iterated", async () => {
  const { prototype } = ReadableStream;
  const iterator = Object.getOwnPropertyDescriptor(prototype, Symbol.asyncIterator)!;
  Reflect.deleteProperty(prototype, Symbol.asyncIterator);
  try {
    let isCancelled = false;
    const body = new ReadableStream({
      pull: (controller) => controller.enqueue(new TextEncoder().encode('data: {"a":1}\n\n')),
      cancel: () => void (isCancelled = true),
    });
    for await (const event of eventsIn(body)) {
      assertEquals(event, { a: 1 });
      break;
    }
    assertEquals(isCancelled, true);
  } finally {
    Object.defineProperty(prototype, Symbol.asyncIterator, iterator);
  }
});

Deno.test("playground: a further side has a model that is not shown yet, or else another API", () => {
  const side = (model: string, wire: string, id = 1) => ({ id, model, wire });
  const wires = ["messages", "chat"];
  const one = side("oss/a", "messages");
  assertEquals(nextSide([one], ["oss/a", "oss/b"], wires), { model: "oss/b", wire: "messages" });
  assertEquals(nextSide([one], ["oss/a"], wires), { model: "oss/a", wire: "chat" });
  const both = [one, side("oss/b", "messages", 2)];
  assertEquals(nextSide(both, ["oss/a", "oss/b"], wires), { model: "oss/b", wire: "chat" });
  assertEquals(nextSide([one], [], []), { model: "oss/a", wire: "messages" });
});

Deno.test("playground: tools are taken as any of the wires writes them, and what is wrong with them is named", () => {
  const parameters = { type: "object" };
  const look = [{ type: "function" as const, name: "look", parameters }];
  for (
    const one of [
      { name: "look", parameters },
      { name: "look", input_schema: parameters },
      { type: "function", name: "look", parameters },
      { type: "function", function: { name: "look", parameters } },
      { type: "custom", name: "look", input_schema: parameters },
    ]
  ) assertEquals(readTools(JSON.stringify([one])), look);
  assertEquals(readTools(" "), []);
  const web = { type: "web_search" };
  assertEquals(readTools(JSON.stringify([web])), [{ type: "hosted", name: "web_search", fields: web }]);
  const search = { googleSearch: {} };
  assertEquals(readTools(JSON.stringify([search])), [{ type: "hosted", name: "googleSearch", fields: search }]);
  const mixed = [{ type: "hosted" as const, name: "web_search", fields: web }, { ...look[0]!, preset: "fine" }];
  assertEquals(readTools(toolsText(mixed)), mixed, "They are read as they were written");
  for (
    const [text, complaint] of [
      ["{", "not valid JSON"],
      ["{}", "a list"],
      ["[1]", "Tool 1 must be an object"],
      ['[{"parameters":{}, "a": 1}]', 'Tool 1 needs a "name"'],
      ['[{"name":"look"}]', 'Tool 1, "look", needs "parameters"'],
    ]
  ) assertThrows(() => readTools(text!), TypeError, complaint);
});
