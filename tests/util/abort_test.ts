import { assertEquals } from "@std/assert";
import { Dependents, follow } from "../../src/util/abort.ts";

Deno.test("abort: dependents end with the signal and its reason; those taken out before, and those of others, do not", () => {
  const source = new AbortController();
  const dependents = new Dependents(source.signal);
  const [kept, released] = [new AbortController(), new AbortController()];
  dependents.add(kept);
  dependents.delete(dependents.add(released));
  source.abort("stop");
  assertEquals([kept.signal.reason, released.signal.aborted], ["stop", false]);
  const late = new AbortController();
  dependents.add(late);
  assertEquals(late.signal.reason, "stop");
});

/** What `AbortSignal.any` does for one signal, until it is released. */
Deno.test("abort: a controller follows a signal as AbortSignal.any does, until it is released", () => {
  for (const when of ["before", "while", "after"]) {
    const outer = new AbortController();
    if (when === "before") outer.abort("left");
    const own = new AbortController();
    const any = AbortSignal.any([outer.signal, own.signal]);
    const release = follow(outer.signal, own);
    if (when === "after") release();
    if (when !== "before") outer.abort("left");
    assertEquals(own.signal.reason, when === "after" ? undefined : any.reason, when);
    release();
  }
});
