import { assert, assertEquals, assertThrows } from "@std/assert";
import { z } from "zod";
import { builtIn, createApp, parseConfig } from "../../src/app.ts";
import { configSchema } from "../../src/config/schema.ts";
import { configSchemaWith, stageOptions } from "../../src/config/stage_sections.ts";
import { problemsOf } from "./surroundings.ts";

const CONFIG = { upstreams: { sandbox: { driver: "sandbox" } }, lanes: { oss: { upstreams: { chat: "sandbox" } } } };

Deno.test("stages: a section is checked with its defaults, and absent if it is not written", () => {
  const config = parseConfig({ ...CONFIG, redact: { emails: true } });
  const options = stageOptions(config, "redact") as Record<string, unknown>;
  assertEquals([options.emails, options.secrets, options.unreadable], [true, false, []]);
  assertEquals(stageOptions(parseConfig(CONFIG), "redact"), undefined);
  assert(createApp({ config }).fetch);
});

const WRONG: [section: object, problem: string][] = [
  [{ redacts: { emails: true } }, 'redacts: Unknown setting; did you mean "redact"?'],
  [
    { redact: { emails: true, email: true } },
    "redact.email: Unknown setting; known: secrets, emails, phones, creditCards, ibans, ipAddresses, unreadable, restoreFor",
  ],
  [{ redact: { emails: "yes" } }, "redact.emails: Expected boolean, got a string"],
  [{ redact: {} }, 'redact: Expected at least one kind to redact, such as "secrets": true'],
  [{ redact: true }, "redact: Expected an object, got true"],
];

for (const [section, problem] of WRONG) {
  Deno.test(`stages: ${JSON.stringify(section)} is refused`, () => {
    assertEquals(problemsOf(() => parseConfig({ ...CONFIG, ...section })), [problem]);
  });
}

Deno.test("stages: without stages the schema is the plain one, and none may have the name of a setting", () => {
  assert(configSchemaWith() === configSchema);
  const section = { description: "", options: z.object({}) };
  assertThrows(() => configSchemaWith({ limits: section }), TypeError, '"limits"');
  assertEquals(new Set(builtIn.stages.map(({ name }) => name)).size, builtIn.stages.length);
});
