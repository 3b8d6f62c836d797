/** The edits that the console's forms stand for. */
import { assertEquals } from "@std/assert";
import fc from "fast-check";
import type { JsonObject } from "../../src/canonical/json.ts";
import { byField, editsFor, usesOf, withoutUpstream } from "../../src/console/edits.js";
import { withEdits } from "../../src/programs/init/edits.ts";
import { withoutComments } from "../../src/util/config_text.ts";
import { law } from "../support/law.ts";

const value = fc.jsonValue({ maxDepth: 3, noUnicodeString: true });

law("the edits between two values make the one of the other", fc.tuple(value, value), ([now, next]) => {
  const text = JSON.stringify({ entry: now }, null, 2);
  const after = JSON.parse(withoutComments(withEdits(text, editsFor(["entry"], now, next))));
  assertEquals(after, JSON.parse(JSON.stringify({ entry: next })));
});

Deno.test("edits are as small as they can be", () => {
  const now = { targets: [{ upstream: "a", model: "m" }, { upstream: "b", model: "m" }], task: "chat", gone: 1 };
  const next = { targets: [{ upstream: "a", model: "n" }, { upstream: "b", model: "m" }], task: "chat" };
  assertEquals(editsFor(["x"], now, next), [{ at: ["x", "gone"] }, { at: ["x", "targets", 0, "model"], value: "n" }]);
  assertEquals(editsFor(["x"], [1, 2, 3], [1, 3]), [{ at: ["x", 1] }]);
  assertEquals(editsFor(["x"], [1], [1, 2, 3]), [{ at: ["x", 1], value: 2 }, { at: ["x", 2], value: 3 }]);
  assertEquals(editsFor(["x"], [1, 2, 3], [3, 1, 2, 4]), [{ at: ["x"], value: [3, 1, 2, 4] }]);
});

const target = (...upstreams: string[]) => ({
  task: "chat",
  targets: upstreams.map((upstream) => ({ upstream, model: "m" })),
});
const section = (upstreams: JsonObject, models: JsonObject, lane: JsonObject = {}) => ({
  upstreams,
  lanes: { oss: { models, ...lane } },
});

Deno.test("an upstream is removed with all that points to it, and what is built in does not come back", () => {
  const lane = { upstreams: { chat: "a" }, catalog: "hub" };
  const known = {
    own: section({ a: {} }, { two: target("a", "b") }),
    builtIn: section({ a: {}, b: {} }, { one: target("a") }, lane),
    whole: section({ a: {}, b: {} }, { one: target("a"), two: target("a", "b"), three: target("b") }, lane),
  };
  const { models, tasks } = usesOf(known, "a");
  assertEquals([models.map(({ name, rest }) => [name, rest.length]), tasks], [[["one", 0], ["two", 1]], [{
    lane: "oss",
    task: "chat",
  }]]);
  assertEquals(withoutUpstream(known, "a"), [
    { at: ["lanes", "oss", "models", "one"], value: null },
    { at: ["lanes", "oss", "models", "two", "targets", 0] },
    { at: ["lanes", "oss", "upstreams", "chat"], value: null },
    { at: ["lanes", "oss", "catalog"], value: null },
    { at: ["upstreams", "a"], value: null },
  ]);
  assertEquals(withoutUpstream({ ...known, builtIn: section({}, {}) }, "b").at(-1), { at: ["upstreams", "b"] });
});

Deno.test("problems are told by their fields", () => {
  const at = ["lanes", "oss", "models", "a.b"];
  const problems = [
    { path: "lanes.oss.models.a.b.targets[0].upstream", message: "one" },
    { path: "lanes.oss.models.a.bc.task", message: "two" },
    { path: "", message: "three" },
  ];
  assertEquals(byField(problems, at), {
    fields: { "targets[0].upstream": "one" },
    others: ["lanes.oss.models.a.bc.task: two", "three"],
  });
});
