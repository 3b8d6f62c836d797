/** Each declared signature of `@std/assert` is exercised; `deno check` does not notice where one is missing in the package. */
import {
  assert,
  assertAlmostEquals,
  assertArrayIncludes,
  assertEquals,
  assertFalse,
  assertGreater,
  assertInstanceOf,
  AssertionError,
  assertLess,
  assertLessOrEqual,
  assertMatch,
  assertNotEquals,
  assertObjectMatch,
  assertRejects,
  assertStrictEquals,
  assertStringIncludes,
  assertThrows,
} from "@std/assert";

const WHY = "what the test says of it";

/** An assertion that holds, and one that does not. */
const ASSERTIONS: Record<string, [holds: () => void, fails: () => void]> = {
  assert: [() => assert(1), () => assert(0, WHY)],
  assertAlmostEquals: [() => assertAlmostEquals(1, 1.04, 0.05), () => assertAlmostEquals(1, 1.06, 0.05, WHY)],
  assertArrayIncludes: [() => assertArrayIncludes([1, 2], [2]), () => assertArrayIncludes([1, 2], [3], WHY)],
  assertEquals: [() => assertEquals({ a: [1] }, { a: [1] }), () => assertEquals([1], [2], WHY)],
  assertFalse: [() => assertFalse(""), () => assertFalse("a", WHY)],
  assertGreater: [() => assertGreater(2, 1), () => assertGreater(1, 1, WHY)],
  assertInstanceOf: [() => assertInstanceOf(new Map(), Map), () => assertInstanceOf({}, Map, WHY)],
  assertLess: [() => assertLess(1, 2), () => assertLess(1, 1, WHY)],
  assertLessOrEqual: [() => assertLessOrEqual(1, 1), () => assertLessOrEqual(2, 1, WHY)],
  assertMatch: [() => assertMatch("abc", /b/), () => assertMatch("abc", /d/, WHY)],
  assertNotEquals: [() => assertNotEquals([1], [2]), () => assertNotEquals([1], [1], WHY)],
  assertObjectMatch: [
    () => assertObjectMatch({ a: 1, b: 2 }, { a: 1 }),
    () => assertObjectMatch({ a: 1 }, { a: 2 }, WHY),
  ],
  assertStrictEquals: [() => assertStrictEquals(WHY, WHY), () => assertStrictEquals([], [], WHY)],
  assertStringIncludes: [() => assertStringIncludes("abc", "b"), () => assertStringIncludes("abc", "d", WHY)],
};

for (const [name, [holds, fails]] of Object.entries(ASSERTIONS)) {
  Deno.test(`@std/assert: ${name} holds, or throws with what the test says of it`, () => {
    holds();
    const error = assertThrows(fails, AssertionError);
    assertStringIncludes(error.message, WHY);
  });
}

Deno.test("@std/assert: what is thrown comes back as what it is, and another error fails the test", () => {
  const thrower = () => {
    throw new RangeError("too far");
  };
  const error: RangeError = assertThrows(thrower, RangeError, "too");
  assertEquals(error.message, "too far");
  assertThrows(() => assertThrows(thrower, TypeError), AssertionError);
  assertThrows(() => assertThrows(thrower, RangeError, "near"), AssertionError);
  assertThrows(() => assertThrows(() => {}), AssertionError);
});

Deno.test("@std/assert: what is rejected comes back as what it is, and another error fails the test", async () => {
  const rejecter = () => Promise.reject(new RangeError("too far"));
  const error: RangeError = await assertRejects(rejecter, RangeError, "too");
  assertEquals(error.message, "too far");
  await assertRejects(() => assertRejects(rejecter, TypeError), AssertionError);
  await assertRejects(() => assertRejects(rejecter, RangeError, "near"), AssertionError);
  await assertRejects(() => assertRejects(() => Promise.resolve()), AssertionError);
});

Deno.test("@std/assert: an assertion error is an error with its message", () => {
  const error = new AssertionError("said");
  assert(error instanceof Error);
  assertEquals([error.name, error.message], ["AssertionError", "said"]);
});

/** Checked by `deno check`, which reports a mistake that is expected and not made. It is never called. */
export function mistakes(): void {
  // @ts-expect-error Too many arguments
  assertEquals(1, 1, "said", 6, 7);
  // @ts-expect-error Two types that have nothing in common
  assertEquals(1, "1");
  // @ts-expect-error The message of the test is a text
  assertEquals(1, 1, 5);
  // @ts-expect-error No such assertion
  assert.equals(1, 1);
}
