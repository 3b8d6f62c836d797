import { assertEquals } from "@std/assert";
import { Gateways, type Generation } from "../../src/cli/gateways.ts";
import type { Child } from "../../src/cli/hang_up.ts";

/** A gateway whose start and end the test decides. */
function generation(token: string) {
  const started = Promise.withResolvers<string | undefined>();
  const status = Promise.withResolvers<Deno.CommandStatus>();
  const signals: string[] = [];
  let isOver = false;
  const child: Child = {
    status: status.promise,
    kill: (signal) => {
      signals.push(signal);
      if (signal === "SIGKILL") end(137);
    },
  };
  const end = (code: number) => status.resolve({ success: code === 0, code, signal: null });
  const made: Generation = { token, spawn: () => child, started: started.promise, end: () => isOver = true };
  return { made, serves: () => started.resolve(undefined), fails: started.resolve, end, signals, isOver: () => isOver };
}

const settled = () => new Promise((resolve) => setTimeout(resolve));

Deno.test("gateways: one that serves replaces the other; all get a signal that ends, and the latest decides the exit code", async () => {
  const [first, second] = [generation("1"), generation("2")];
  const gateways = new Gateways(first.made);
  const restart = gateways.restart(() => Promise.resolve(second.made), "1");
  await settled();
  second.serves();
  assertEquals(await restart, undefined);
  gateways.forward("SIGHUP");
  assertEquals([first.signals, second.signals], [[], ["SIGHUP"]], "Only the latest reads its configuration again");
  gateways.forward("SIGTERM");
  assertEquals([first.signals, second.signals], [["SIGTERM"], ["SIGHUP", "SIGTERM"]]);
  second.end(3);
  await settled();
  assertEquals([first.isOver(), second.isOver()], [false, true]);
  first.end(1);
  assertEquals(await gateways.ended, 3);
});

Deno.test("gateways: one that cannot serve is ended, its reason is known, and the other one goes on", async () => {
  const first = generation("1");
  const gateways = new Gateways(first.made);
  for (const make of ["says", "ends"]) {
    const second = generation("2");
    const restart = gateways.restart(() => Promise.resolve(second.made), "1");
    await settled();
    assertEquals(
      await gateways.restart(() => Promise.reject(new Error("a second one")), "1"),
      "The gateway is restarting already",
    );
    if (make === "says") second.fails("the port is in use");
    else second.end(1);
    const reason = make === "says" ? "the port is in use" : "The gateway ended with code 1: the terminal shows why";
    assertEquals(await restart, reason);
    await settled();
    assertEquals([second.isOver(), first.signals], [true, []]);
  }
  gateways.forward("SIGINT");
  assertEquals(await gateways.restart(() => Promise.reject(new Error("too late")), "1"), "The gateway is stopping");
  first.end(0);
  assertEquals(await gateways.ended, 0);
});

Deno.test("gateways: one that did not ask itself is told at once that it is replaced", async () => {
  const [first, second, third] = [generation("1"), generation("2"), generation("3")];
  const gateways = new Gateways(first.made);
  second.serves();
  third.serves();
  assertEquals(await gateways.restart(() => Promise.resolve(second.made), "1"), undefined);
  first.end(0);
  assertEquals(await gateways.restart(() => Promise.resolve(third.made), "1"), undefined);
  await settled();
  await settled();
  assertEquals([second.signals, third.signals], [["SIGTERM"], []]);
  second.end(0);
  third.end(0);
  assertEquals(await gateways.ended, 0);
});

Deno.test("gateways: there are no more than four at a time", async () => {
  const all = Array.from({ length: 5 }, (_, at) => generation(String(at)));
  const [first, ...others] = all;
  const gateways = new Gateways(first!.made);
  const outcomes: unknown[] = [];
  for (const other of others) {
    other.serves();
    outcomes.push(await gateways.restart(() => Promise.resolve(other.made), "0"));
  }
  const refusal = "Former gateways still finish their requests: restart it again later";
  assertEquals(outcomes, [undefined, undefined, undefined, refusal]);
  for (const one of all) one.end(0);
  assertEquals(await gateways.ended, 0);
});

Deno.test("gateways: if the present one breaks while another one starts, nobody notices", async () => {
  const [first, second] = [generation("1"), generation("2")];
  const gateways = new Gateways(first.made);
  const restart = gateways.restart(() => Promise.resolve(second.made), "1");
  await settled();
  first.end(70);
  await settled();
  second.serves();
  assertEquals(await restart, undefined);
  second.end(0);
  assertEquals(await gateways.ended, 0);
});
