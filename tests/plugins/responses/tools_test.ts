import { assertEquals } from "@std/assert";
import { parseRequest } from "../../../plugins/responses/parse_request.ts";
import { newContext, newWireRequest } from "../../support/context.ts";

Deno.test("tools: a namespace that is allowed many times allows its tools once", () => {
  const tools = ["send", "read"].map((name) => ({ type: "function", name }));
  const allowed = Array.from({ length: 1_000 }, () => ({ type: "namespace", name: "mail" }));
  const body = {
    model: "m",
    input: "Hello",
    tools: [{ type: "namespace", name: "mail", tools }, { type: "function", name: "look" }],
    tool_choice: { type: "allowed_tools", mode: "auto", tools: [...allowed, { type: "function", name: "look" }] },
  };
  const { toolChoice } = parseRequest(newWireRequest(body), newContext());
  assertEquals(toolChoice, { type: "allowed", mode: "auto", names: ["mail__send", "mail__read", "look"] });
});
