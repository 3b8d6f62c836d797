import { assertEquals } from "@std/assert";
import { mock } from "node:test";
import { deno } from "../../src/platform/deno.ts";

Deno.test("variables: each is looked up once, because with many keys a look takes long", () => {
  const get = mock.method(Deno.env, "get", (name: string) => name.endsWith("_SET") ? "value" : undefined);
  try {
    for (let time = 0; time < 3; time++) {
      assertEquals([deno.env("VARIABLES_TEST_SET"), deno.env("VARIABLES_TEST_UNKNOWN")], ["value", undefined]);
    }
    assertEquals(get.mock.callCount(), 2);
  } finally {
    get.mock.restore();
  }
});
