/** What agents and editors take for granted, beyond what their protocols say. */
import { assertEquals } from "@std/assert";
import type { JsonObject } from "../src/canonical/json.ts";
import { bodyFor, CONFIG, PATH, type Wire } from "./regressions/support.ts";
import { ask, HELLO, responseOf, testEach } from "./regressions/support.ts";
import { newApp } from "./support/app.ts";

testEach("[1m]", "a wish for a long window is no part of a model's name", {}, async (client, mode) => {
  const body = bodyFor(client, { stream: mode === "streamed" }, "chat[1m]");
  const view = await ask(client, body, [() => responseOf(HELLO, mode)]);
  assertEquals([view.status, view.asked[0]!.model], [200, "org/model"]);
  const told = mode === "whole" ? view.body : view.frames.map(({ data }) => data ?? "").join("\n");
  assertEquals(JSON.stringify(told).match(/org\/model/), null);
  assertEquals(JSON.stringify(told).includes("chat[1m]"), true);
});
