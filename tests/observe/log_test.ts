import { assert, assertEquals } from "@std/assert";
import { CHAT, chatBody, ENV, newApp } from "../support/app.ts";
import { createLog, formatLogLine, type LogEntry } from "../../src/observe/log.ts";
import { deno } from "../../src/platform/deno.ts";
import { until } from "../support/wait.ts";

const ENTRY: LogEntry = {
  time: "2027-01-15T08:00:00.000Z",
  id: "req_1",
  method: "POST",
  path: "/oss/v1/chat/completions",
  status: 200,
  durationMs: 12,
};

Deno.test("log: a line is JSON, with the tokens beside the rest", () => {
  const entry: LogEntry = {
    ...ENTRY,
    model: "m",
    notes: ["dropped top_k"],
    usage: { inputTokens: 5, outputTokens: 7 },
  };
  const { usage: _, ...rest } = entry;
  assertEquals(JSON.parse(formatLogLine(entry)), { ...rest, inputTokens: 5, outputTokens: 7 });
});

Deno.test("log: what is not known is not there", () => {
  assertEquals(JSON.parse(formatLogLine({ ...ENTRY, key: undefined, usage: undefined, cause: undefined })), ENTRY);
});

Deno.test("log: whatever a client writes stays inside its line and its field", () => {
  const model = 'm"}\n{"status":200,"id":"forged\u2028\r\n';
  const line = formatLogLine({ ...ENTRY, model, path: "/\n/" });
  assertEquals(line.split(/[\r\n]/).length, 1);
  assertEquals(JSON.parse(line).model, model);
});

Deno.test("log: the network's words on an upstream are kept", () => {
  const cause = new TypeError("fetch failed", { cause: new Error("Connection refused (os error 111)") });
  assertEquals(
    JSON.parse(formatLogLine({ ...ENTRY, error: "upstream_error", cause })).cause,
    "Connection refused (os error 111)",
  );
  const plain = new TypeError("error reading a body from connection");
  assertEquals(JSON.parse(formatLogLine({ ...ENTRY, error: "upstream_error", cause: plain })).cause, plain.message);
});

Deno.test("log: a failure of our own is told by its place, because its words may be the client's", () => {
  const cause = new RangeError("The user wrote: my password is hunter2");
  const line = formatLogLine({ ...ENTRY, status: 500, error: "internal", cause });
  assert(!line.includes("hunter2"));
  assert(/^RangeError at .*log_test\.ts:\d+/.test(JSON.parse(line).cause), line);
});

Deno.test("log: what is thrown and is no error is told by its type alone", () => {
  assertEquals(JSON.parse(formatLogLine({ ...ENTRY, error: "internal", cause: "hunter2" })).cause, "string");
});

Deno.test("log: lines are printed in their order, after whoever is answered now, and those that are due at the end", async () => {
  const lines: string[] = [];
  const log = createLog((line) => lines.push(line), deno.after);
  const idsOf = () => lines.map((line) => JSON.parse(line).id);
  log({ ...ENTRY, id: "a" });
  log({ ...ENTRY, id: "b" });
  await Promise.resolve();
  assertEquals(idsOf(), []);
  await until(() => lines.length > 0);
  assertEquals(idsOf(), ["a", "b"]);
  log({ ...ENTRY, id: "c" });
  log.flush();
  assertEquals(idsOf(), ["a", "b", "c"]);
  log.flush();
  assertEquals(idsOf(), ["a", "b", "c"]);
});

Deno.test("log: a secret of the gateway's own that stands for a model is hidden", async () => {
  const app = newApp();
  await (await app.post(CHAT, chatBody({ model: ENV.UPSTREAM_SECRET }))).text();
  await (await app.get(`/oss/v1/models/${ENV.UPSTREAM_SECRET}`)).text();
  assertEquals(app.logs.map(({ model, path }) => [model, path]), [["***", CHAT], ["***", "/oss/v1/models/***"]]);
});
