/** The tables of the reference and of the settings say what the code does. */
import { assert, assertEquals } from "@std/assert";
import { z } from "zod";
import { catalogs, drivers, protocols } from "../../plugins/mod.ts";
import { configSchema } from "../../src/config/schema.ts";
import { type ErrorCode, GatewayError, STATUS_OF } from "../../src/errors.ts";
import { STAGES } from "../../src/inference/stages.ts";
import { PAGES } from "../../src/pages/mod.ts";
import { readDocument, ROOT, sourcesBelow, tableBelow } from "./documents.ts";

const REFERENCE = "docs/reference.md";
const SETTINGS = "docs/configuration.md";

const defaults = configSchema.parse({ upstreams: { one: { driver: "chat", concurrency: { running: 1 } } } });

/** `31,457,280` as a number. */
function toNumber(cell: string): number {
  return Number(cell.replaceAll(",", ""));
}

Deno.test("reference: every endpoint is in the table, and nothing else", () => {
  const served = protocols.map(({ method, pattern: { pathname } }) =>
    `${method} ${pathname.replace(":lane", "<lane>").replaceAll(/:(id|item)(\(\.\+\))?/g, "<id>").replace("\\", "")}`
  );
  const service = ["/", "/healthz", "/readyz", ...Object.keys(PAGES), "/console"].map((path) => `GET ${path}`);
  const documented = tableBelow(REFERENCE, "Endpoints").map(([method, path]) => `${method} ${path}`);
  assertEquals(documented.toSorted(), [...new Set([...served, ...service])].toSorted());
});

Deno.test("reference: every error has the code, status and types of the table", async () => {
  const rows = tableBelow(REFERENCE, "Errors");
  assertEquals(rows.map(([code]) => code), Object.keys(STATUS_OF));
  for (const [code, status, chat, messages] of rows) {
    const shown = await Promise.all(["chat", "messages"].map(async (name) => {
      const { serializeError } = protocols.find((protocol) => protocol.name === name)!;
      const response = serializeError(new GatewayError(code as ErrorCode, "A message"), { requestId: "id" });
      return { status: response.status, error: (await response.json()).error };
    }));
    const [{ status: chatStatus, error: chatError }, { status: messagesStatus, error: messagesError }] = shown as [
      typeof shown[0],
      typeof shown[0],
    ];
    assertEquals(String(chatStatus), status, code);
    assertEquals([chatError.type, chatError.code].filter((word) => word !== null).join(", "), chat, code);
    const otherStatus = messagesStatus === chatStatus ? "" : `, status ${messagesStatus}`;
    assertEquals(`${messagesError.type}${otherStatus}`, messages, code);
  }
});

Deno.test("reference: every limit is in the table, with its default", () => {
  const { memoryBytes: _, sockets: __, uploadBytes: ___, ...limits } = defaults.limits;
  const calculated = ["concurrentCompletions", "memoryBytes", "sockets", "uploadBytes"];
  const rows = tableBelow(REFERENCE, "Limits");
  assertEquals(rows.map(([name]) => name).toSorted(), [...Object.keys(limits), ...calculated].toSorted());
  const documented = rows.filter(([name]) => !calculated.includes(name!)).map((
    [name, value],
  ) => [name, toNumber(value!)]);
  assertEquals(Object.fromEntries(documented), limits);
});

Deno.test("reference: every header of the gateway's own is in the tables", () => {
  const page = readDocument(REFERENCE);
  const sources = [...sourcesBelow("src/"), ...sourcesBelow("plugins/")].join("\n");
  const headers = new Set([...sources.matchAll(/"(x-laneway-[a-z-]+)"/g)].map(([, name]) => name!));
  const sessions = protocols.flatMap(({ sessionHeaders = [] }) => sessionHeaders);
  assert(headers.size > 3 && sessions.length > 3);
  assertEquals([...headers, ...sessions].filter((name) => !page.includes(`\`${name}`)), []);
});

/** Stages that change nothing of what is asked: they check it, choose its targets, or send it on as it came. */
const WITHOUT_STEPS = ["size", "model", "session affinity", "speech format", "relay", "estimate of tokens"];

Deno.test("reference: every step of an explanation is in the table, in the order of the stages", () => {
  const changing = STAGES.filter((stage) => stage.request || "prepare" in stage).map(({ name }) => name);
  const rows = tableBelow(REFERENCE, "Explanations");
  assertEquals(new Set(STAGES.map(({ name }) => name)).size, STAGES.length);
  assertEquals(WITHOUT_STEPS.filter((name) => !changing.includes(name)), []);
  assertEquals(rows.map(([step]) => step), changing.filter((name) => !WITHOUT_STEPS.includes(name)));
  for (const [step, , file] of rows) {
    assert(Deno.readTextFileSync(new URL(`src/inference/${file}`, ROOT)).includes(`"${step}"`), step);
  }
});

/** The names of all settings, however deep. */
function* settingsIn(schema: unknown): Generator<string> {
  if (typeof schema !== "object" || schema === null) return;
  const { properties, ...rest } = schema as { properties?: Record<string, unknown> };
  for (const [name, inner] of Object.entries(properties ?? {})) {
    yield name;
    yield* settingsIn(inner);
  }
  for (const inner of Object.values(rest)) yield* settingsIn(inner);
}

Deno.test("settings: every setting stands on a page", () => {
  const pages = [SETTINGS, REFERENCE, "docs/operation.md"].map(readDocument).join("\n");
  const names = new Set(settingsIn(z.toJSONSchema(configSchema, { io: "input" })));
  assert(names.size > 60, "The settings were not found");
  assertEquals([...names].filter((name) => !new RegExp(`[\`."]${RegExp.escape(name)}[\`"]`).test(pages)), []);
});

Deno.test("settings: the defaults are those of the schema", () => {
  const upstream: Record<string, unknown> = defaults.upstreams.one!;
  for (const [name, value] of tableBelow(SETTINGS, "Upstreams")) {
    const preset = upstream[name!];
    if (typeof preset === "object" && Object.keys(preset ?? {}).length > 0) continue;
    if (preset !== undefined && name !== "driver") assertEquals(value, JSON.stringify(preset), name);
  }
  const page = readDocument(SETTINGS) + readDocument("docs/operation.md");
  const { running: _, ...concurrency } = upstream.concurrency as Record<string, number>;
  const expected = { ...upstream.timeouts as object, ...concurrency, ...prefixed("retry.", defaults.retry) };
  for (const [name, preset] of Object.entries(expected)) {
    const [, value = ""] = new RegExp(`^\\| \`${RegExp.escape(name)}\` +\\| ([\\d,]+) +\\|`, "m").exec(page) ?? [];
    assertEquals(toNumber(value), preset, name);
  }
});

function prefixed(prefix: string, values: object): Record<string, number> {
  return Object.fromEntries(Object.entries(values).map(([name, value]) => [prefix + name, value]));
}

Deno.test("settings: every driver, dialect and catalog plugin is named", () => {
  const namesBelow = (heading: string) => tableBelow(SETTINGS, heading).flatMap(([cell]) => cell!.split(", "));
  assertEquals(namesBelow("Drivers").toSorted(), drivers.map(({ name }) => name).toSorted());
  const dialects = configSchema.shape.upstreams.unwrap().valueType.shape.dialect.unwrap().options;
  assertEquals(namesBelow("Effort and thinking").toSorted(), dialects.toSorted());
  const [, plugins = ""] = tableBelow(SETTINGS, "Catalogs").find(([name]) => name === "plugin")!;
  assertEquals(catalogs.map(({ name }) => name).filter((name) => !new RegExp(`\\b${name} \\(`).test(plugins)), []);
});

Deno.test("figures: every run of the table is there", () => {
  const files = tableBelow("docs/operation.md", "Measured").map(([file]) => file!);
  assert(files.length > 5);
  assertEquals(files.filter((file) => !exists(`tests/reliability/${file}`)), []);
});

function exists(path: string): boolean {
  try {
    return Deno.statSync(new URL(path, ROOT)).isFile;
  } catch {
    return false;
  }
}
