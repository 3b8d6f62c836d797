import { assertEquals, assertThrows } from "@std/assert";
import { GatewayError } from "../../src/errors.ts";
import { createLoadShedder, type LoadLimits } from "../../src/http/load_shedding.ts";

function newLoad(limits: LoadLimits) {
  const state = { ms: 0, bytes: 0, garbage: 0, collections: 0, collectMs: 0, reads: 0, scarce: false };
  const load = createLoadShedder({
    now: () => state.ms,
    areDescriptorsScarce: () => state.scarce,
    memory: () => {
      state.reads++;
      return state.bytes + state.garbage;
    },
    collect() {
      state.collections++;
      state.garbage = 0;
      state.ms += state.collectMs;
    },
  });
  const own = { acquire: () => load.acquire(limits) };
  const refused = () => {
    const error = assertThrows(() => own.acquire(), GatewayError);
    assertEquals([error.code, error.details.retryAfter], ["unavailable", "1"]);
  };
  return { state, own, refused };
}

Deno.test("load: so many requests run at once, and one that is over makes room, once", () => {
  const { own, refused } = newLoad({ concurrentRequests: 2 });
  const leave = own.acquire();
  own.acquire();
  refused();
  leave();
  leave();
  own.acquire();
  refused();
});

Deno.test("load: above the limit of memory nobody is let in, until there is less", () => {
  const { state, own, refused } = newLoad({ concurrentRequests: 1_000, memoryBytes: 100 });
  own.acquire();
  state.bytes = 101;
  own.acquire(); // The last reading holds for a moment.
  state.ms += 250;
  refused();
  refused();
  state.bytes = 100;
  state.ms += 250;
  own.acquire();
  assertEquals(state.reads, 4);
});

Deno.test("load: garbage is no load: it is collected where memory is full, and not all the time", () => {
  const { state, own, refused } = newLoad({ concurrentRequests: 1_000, memoryBytes: 100 });
  own.acquire();
  state.garbage = 1_000;
  state.ms += 250;
  own.acquire();
  assertEquals(state.collections, 1);
  state.garbage = 1_000;
  state.ms += 250;
  refused();
  state.ms += 250;
  own.acquire();
  assertEquals(state.collections, 2);
});

Deno.test("load: garbage is collected before it fills the memory, and only where there is some", () => {
  const { state, own } = newLoad({ concurrentRequests: 1_000, memoryBytes: 100 });
  state.bytes = 70;
  state.garbage = 20;
  own.acquire();
  assertEquals(state.collections, 1);
  const collectionsAfter = (garbage: number) => {
    state.garbage = garbage;
    state.ms += 1_000;
    own.acquire();
    return state.collections;
  };
  assertEquals([collectionsAfter(6), collectionsAfter(7)], [1, 2]);
});

Deno.test("load: collecting garbage takes a twentieth of the time at most", () => {
  const { state, own, refused } = newLoad({ concurrentRequests: 1_000, memoryBytes: 100 });
  state.collectMs = 400;
  state.garbage = 1_000;
  own.acquire();
  state.garbage = 1_000;
  state.ms += 7_999;
  refused();
  state.ms += 250;
  own.acquire();
  assertEquals(state.collections, 2);
});

Deno.test("load: where few descriptors are left nobody is let in, until there are more", () => {
  const { state, own, refused } = newLoad({ concurrentRequests: 9 });
  own.acquire();
  state.scarce = true;
  state.ms += 250;
  refused();
  state.scarce = false;
  state.ms += 250;
  own.acquire();
});

Deno.test("load: a reading holds while no more run at once, and for so many requests", () => {
  const { state, own } = newLoad({ concurrentRequests: 1_000, memoryBytes: 100 });
  const inTurn = (count: number) => {
    for (let one = 0; one < count; one++) own.acquire()();
    return state.reads;
  };
  assertEquals([inTurn(128), inTurn(1), inTurn(127), inTurn(1)], [1, 2, 2, 3]);
  const together = newLoad({ concurrentRequests: 1_000, memoryBytes: 100 });
  for (let one = 0; one < 33; one++) together.own.acquire();
  assertEquals(together.state.reads, 3);
});
