import { assert, assertEquals, assertMatch, assertNotEquals } from "@std/assert";
import { createOneTimeCodes, isSame, type Opened } from "../../src/cli/one_time_code.ts";

function rig() {
  let now = 0;
  const said: string[] = [];
  const codes = createOneTimeCodes({ say: (text) => said.push(text), now: () => now });
  codes.begin();
  return {
    codes,
    said,
    code: () => /[0-9A-Z]{4}-[0-9A-Z]{4}/.exec(said.at(-1)!)![0],
    pass: (ms: number) => now += ms,
  };
}

function sessionOf(opened: Opened): string {
  if ("session" in opened) return opened.session;
  throw new Error(opened.reason);
}

Deno.test("one-time code: each opens one page, however it is typed, and the next is printed", () => {
  const { codes, said, code } = rig();
  assertMatch(
    said[0]!,
    /^Laneway: set up with the one-time code [2-9A-HJKMNP-TV-Z]{4}-[2-9A-HJKMNP-TV-Z]{4} at \/console$/,
  );
  const first = code();
  const session = sessionOf(codes.open(` ${first.toLowerCase().replace("-", " ")}`));
  assertEquals([codes.isOpen(session), codes.isOpen(session.slice(1)), codes.isOpen("")], [true, false, false]);
  assertNotEquals(code(), first);
  assert("reason" in codes.open(first), "A code that was used opens nothing");
  const other = sessionOf(codes.open(code()));
  assertNotEquals(other, session);
  assert(codes.isOpen(session) && codes.isOpen(other));
  codes.begin();
  assertEquals(said.length, 3, "There is a code already");
});

Deno.test("one-time code: where the address is known, the terminal shows a link that opens the page with it", () => {
  const said: string[] = [];
  const codes = createOneTimeCodes({ say: (text) => said.push(text), now: () => 0 });
  codes.begin("http://127.0.0.1:8000/console");
  const [, code, inLink] = /the one-time code (\S+) at http:\/\/127\.0\.0\.1:8000\/console\/#setup\?code=(\S+)$/.exec(
    said[0]!,
  )!;
  assertEquals(code, inLink);
  assert("session" in codes.open(inLink!));
});

Deno.test("one-time code: after ten wrong ones there is another, and none is accepted for a minute", () => {
  const { codes, said, code, pass } = rig();
  const first = code();
  for (let tries = 0; tries < 10; tries++) assert("reason" in codes.open(tries % 2 ? "" : "AAAA-AAAA"));
  assertEquals(said.length, 2);
  assertMatch(said[1]!, /^Laneway: 10 wrong one-time codes were given\. In a minute, the code is /);
  assertEquals(codes.open(code()), { reason: "Too many wrong codes: try again in 60 seconds" });
  pass(59_000);
  assertEquals(codes.open(code()), { reason: "Too many wrong codes: try again in 1 seconds" });
  assertEquals(said.length, 2, "Tries in the pause do not count");
  pass(1_000);
  assert("reason" in codes.open(first));
  assert("session" in codes.open(code()));
});

Deno.test("one-time code: the oldest of many pages is closed", () => {
  const { codes, code } = rig();
  const sessions = Array.from({ length: 21 }, () => sessionOf(codes.open(code())));
  assertEquals(sessions.map((one) => codes.isOpen(one)), [false, ...Array(20).fill(true)]);
});

Deno.test("one-time code: texts are the same only as a whole", () => {
  assertEquals([isSame("ab", "ab"), isSame("ab", "aB"), isSame("a", "ab"), isSame("abc", "ab"), isSame("", "ab")], [
    true,
    false,
    false,
    false,
    false,
  ]);
});
