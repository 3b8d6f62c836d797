/** Containers of several callers, with processes that play a part. */
import { assert, assertEquals } from "@std/assert";
import { Containers, type ContainersOptions } from "../../src/interpreter/containers.ts";
import { plainPath } from "../../src/interpreter/container.ts";
import type { RunAnswer, RunRequest } from "../../src/interpreter/protocol.ts";
import type { ChildProcess } from "../../src/platform/host.ts";

interface Played {
  child: ChildProcess;
  /** Lines that the process was given. */
  orders: string[];
  write(text: string): void;
  isKilled: boolean;
}

/** A process that says it is up, and answers each order as `answer` says. */
function play(answer: (order: { id: number; do: string; code: string }, self: Played) => string | undefined): Played {
  let output!: ReadableStreamDefaultController<Uint8Array<ArrayBuffer>>;
  const ended = Promise.withResolvers<Deno.CommandStatus>();
  const write = (text: string) => {
    if (!self.isKilled) output.enqueue(new TextEncoder().encode(text));
  };
  const self: Played = {
    orders: [],
    isKilled: false,
    write,
    child: {
      pid: 1,
      stdin: new WritableStream({
        write(bytes) {
          const line = new TextDecoder().decode(bytes);
          self.orders.push(line);
          const reply = answer(JSON.parse(line), self);
          if (reply !== undefined) write(`${reply}\n`);
        },
      }),
      stdout: new ReadableStream({ start: (controller) => void (output = controller) }),
      stderr: new ReadableStream(),
      status: ended.promise,
      kill() {
        if (self.isKilled) return;
        self.isKilled = true;
        try {
          output.close();
        } catch {
          // Nobody reads it any more.
        }
        ended.resolve({ success: false, code: 1, signal: "SIGKILL" });
      },
    },
  };
  queueMicrotask(() => write('{"id":0}\n'));
  return self;
}

const DONE = { stdout: "ok", stderr: "", exitCode: 0, files: [] };
const done = ({ id }: { id: number }) => JSON.stringify({ id, executed: DONE });

async function withPlayed(
  options: Partial<ContainersOptions> & { answer?: Parameters<typeof play>[0] },
  use: (rig: {
    containers: Containers;
    played: Played[];
    run(owner: string, container: string, more?: Partial<RunRequest>, signal?: AbortSignal): Promise<RunAnswer>;
  }) => Promise<void>,
): Promise<void> {
  const played: Played[] = [];
  let time = 0;
  const containers = new Containers({
    memory: 64,
    output: 1_000,
    fileBytes: 1_000,
    timeoutMs: 600_000,
    idleMs: 600_000,
    most: 2,
    now: () => ++time,
    spawn() {
      const one = play(options.answer ?? done);
      played.push(one);
      return one.child;
    },
    ...options,
  });
  const forever = new AbortController().signal;
  try {
    await use({
      containers,
      played,
      run: (owner, container, more, signal = forever) =>
        containers.run(
          { owner, container, isNew: true, isShared: true, code: "1", files: [], onlyMissing: false, ...more },
          signal,
        ),
    });
  } finally {
    await containers.close();
  }
}

const codeOf = (answer: RunAnswer) => "error" in answer ? answer.error : "ok";

Deno.test("containers: one of another caller is as if it were not there, and its id cannot be taken", async () => {
  await withPlayed({}, async ({ run, containers, played }) => {
    assertEquals(codeOf(await run("ann", "a")), "ok");
    assertEquals(containers.expiryOf("a", "bob"), undefined);
    assertEquals(codeOf(await run("bob", "a", { isNew: false })), "expired");
    assertEquals(codeOf(await run("bob", "a", { isNew: true })), "expired");
    assertEquals(codeOf(await run("ann", "b", { isNew: false })), "expired");
    assertEquals(codeOf(await run("ann", "a", { isNew: false })), "ok");
    assertEquals(played.length, 1);
  });
});

Deno.test("containers: the one unused for longest goes, of the caller that has most", async () => {
  await withPlayed({ most: 3 }, async ({ run, containers }) => {
    await run("bob", "b1");
    await run("ann", "a1");
    await run("ann", "a2");
    await run("ann", "a1");
    await run("cem", "c1");
    const left = [["bob", "b1"], ["ann", "a1"], ["ann", "a2"], ["cem", "c1"]].filter(([owner, id]) =>
      containers.expiryOf(id!, owner!) !== undefined
    );
    assertEquals(left.map(([, id]) => id), ["b1", "a1", "c1"]);
  });
});

Deno.test("containers: a caller that has as many as the others makes room by one of its own", async () => {
  await withPlayed({}, async ({ run, containers }) => {
    await run("ann", "a1");
    for (const id of ["b1", "b2", "b3"]) await run("bob", id);
    assertEquals(["b1", "b2", "b3"].map((id) => containers.expiryOf(id, "bob") !== undefined), [false, false, true]);
    assert(containers.expiryOf("a1", "ann") !== undefined);
  });
});

Deno.test("containers: many at once wait in turn, and one caller locks nobody out", async () => {
  const held: (() => void)[] = [];
  await withPlayed({
    most: 4,
    answer: (order, self) => void held.push(() => self.write(`${done(order)}\n`)),
  }, async ({ run, played }) => {
    const anns = Array.from({ length: 30 }, (_, index) => run("ann", `a${index}`));
    const bob = run("bob", "b1");
    let answered = 0;
    const all = [...anns, bob].map(async (one) => {
      const code = codeOf(await one);
      answered++;
      return code;
    });
    while (held.length < 4) await new Promise((resolve) => setTimeout(resolve));
    // Ann's share is three of the four processes.
    assertEquals(played.length, 4);
    while (answered < all.length) {
      for (const go of held.splice(0)) go();
      await new Promise((resolve) => setTimeout(resolve));
    }
    const codes = await Promise.all(all);
    assertEquals(codes.at(-1), "ok");
    assertEquals(codes.filter((code) => code === "too_many_requests").length, 14);
    assertEquals(codes.filter((code) => code === "ok").length, 17);
  });
});

Deno.test("containers: a client that leaves while it waits costs nothing", async () => {
  const held: (() => void)[] = [];
  await withPlayed({
    most: 1,
    answer: (order, self) => void held.push(() => self.write(`${done(order)}\n`)),
  }, async ({ run, played }) => {
    const first = run("ann", "a");
    while (held.length < 1) await new Promise((resolve) => setTimeout(resolve));
    const leaving = new AbortController();
    const second = run("ann", "b", {}, leaving.signal);
    leaving.abort(new Error("left"));
    assertEquals(await second.catch((thrown) => thrown.message), "left");
    held.shift()!();
    assertEquals(codeOf(await first), "ok");
    assertEquals(played.length, 1);
  });
});

Deno.test("containers: code in a container that only its answer knows ends with its client, and other code runs on", async () => {
  await withPlayed({ answer: (order) => order.code === "1" ? done(order) : undefined }, async ({ run, played }) => {
    await run("ann", "a");
    const leaving = new AbortController();
    const runs = [
      run("ann", "a", { isNew: false, code: "loop" }, leaving.signal),
      run("bob", "b", { code: "loop" }, leaving.signal),
    ];
    while (played[1]?.orders.length !== 1 || played[0]!.orders.length !== 2) {
      await new Promise((resolve) => setTimeout(resolve));
    }
    leaving.abort();
    assertEquals([played[0]!.isKilled, played[1]!.isKilled], [false, true]);
    assertEquals(codeOf(await run("bob", "c")), "ok");
    played[0]!.child.kill();
    assertEquals((await Promise.all(runs)).map(codeOf), ["failed", "failed"]);
  });
});

Deno.test("containers: executions in one container run one after the other", async () => {
  const held: (() => void)[] = [];
  await withPlayed({
    most: 4,
    answer: (order, self) => void held.push(() => self.write(`${done(order)}\n`)),
  }, async ({ run, played }) => {
    const both = [run("ann", "a"), run("ann", "a")];
    for (let count = 0; count < 2; count++) {
      while (held.length < 1) await new Promise((resolve) => setTimeout(resolve));
      assertEquals(played[0]!.orders.length, count + 1);
      held.shift()!();
    }
    assertEquals((await Promise.all(both)).map(codeOf), ["ok", "ok"]);
    assertEquals(played.length, 1);
  });
});

Deno.test("containers: one that is idle for long expires, and one that has ended is gone", async () => {
  await withPlayed({ idleMs: 1 }, async ({ run, containers }) => {
    await run("ann", "a");
    while (containers.expiryOf("a", "ann") !== undefined) await new Promise((resolve) => setTimeout(resolve, 1));
    assertEquals(codeOf(await run("ann", "a", { isNew: false })), "expired");
  });
  await withPlayed({}, async ({ run, containers, played }) => {
    await run("ann", "a");
    played[0]!.child.kill();
    while (containers.expiryOf("a", "ann") !== undefined) await new Promise((resolve) => setTimeout(resolve));
    assertEquals(codeOf(await run("ann", "a", { isNew: false })), "expired");
  });
});

/** Words of a process that is in the hands of its code, and the outcome for the caller. */
const HOSTILE: Readonly<Record<string, [(order: { id: number }) => string, string]>> = {
  "another order's answer first": [(order) => `{"id":${order.id + 7},"executed":{}}\n${done(order)}`, "ok"],
  "no JSON": [(order) => `<html>\n[]\nnull\n"a"\n${done(order)}`, "ok"],
  "a failure": [({ id }) => JSON.stringify({ id, failed: true }), "failed"],
  "fields of wrong types": [
    ({ id }) => JSON.stringify({ id, executed: { stdout: 1, stderr: [], exitCode: "x", files: { a: 1 } } }),
    "ok",
  ],
  "an endless line": [() => "x".repeat(200_000), "failed"],
};

for (const [name, [words, expected]] of Object.entries(HOSTILE)) {
  Deno.test(`containers: a hostile process: ${name}`, async () => {
    await withPlayed({ answer: words }, async ({ run }) => {
      const answer = await run("ann", "a");
      assertEquals(codeOf(answer), expected);
      if ("error" in answer) return;
      assert(typeof answer.stdout === "string" && Number.isInteger(answer.exitCode) && Array.isArray(answer.files));
    });
  });
}

Deno.test("containers: files of a hostile process have plain paths, and what they hold is base64", async () => {
  const names = [
    "../../etc/passwd",
    "/etc/passwd",
    "a/../../b",
    "a\\b",
    "a\nb",
    "",
    ".",
    "..",
    "a//b",
    "x".repeat(300),
  ];
  for (const name of names) assertEquals(plainPath(name), undefined, name);
  assertEquals(plainPath("sub/ok.txt"), "sub/ok.txt");
  const files = [...names.map((name) => ({ name, data: "YQ==" })), { name: "ok", data: "YQ==" }, {
    name: "no",
    data: "%",
  }];
  await withPlayed({ answer: ({ id }) => JSON.stringify({ id, executed: { ...DONE, files } }) }, async ({ run }) => {
    const answer = await run("ann", "a");
    assertEquals("error" in answer ? [] : answer.files, [{ name: "ok", data: "YQ==" }]);
  });
});
