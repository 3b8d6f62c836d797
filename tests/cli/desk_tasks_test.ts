import { assert, assertEquals } from "@std/assert";
import { type Command, commandOf, createTasks, type Running } from "../../src/cli/desk_tasks.ts";
import { withFolder } from "../support/process.ts";
import { until, within } from "../support/wait.ts";

const PLACE = { options: ["--config=/a/gateway.json"], url: "http://127.0.0.1:8000" };

Deno.test("tasks: each is the command that a user would type, with secrets on standard input", () => {
  const source = { kind: "provider", provider: "p", secret: "hidden" };
  const connect = { do: "connect", client: "some-client", model: "a/b:c", lane: "oss", key: "hidden" };
  const commands = [
    { do: "find" },
    { do: "check", source },
    { do: "plan", answers: { sources: [source] } },
    { do: "write", answers: { sources: [source] }, version: "0a-b" },
    { do: "examine", part: "--model=x" },
    connect,
    { ...connect, key: undefined, print: true },
    { do: "connect", client: "some-client", undo: true },
  ].map((task) => commandOf(task, PLACE)!);
  const config = "--config=/a/gateway.json";
  assertEquals(commands.map(({ args }) => args), [
    ["init", "find", "--json", `--except=${PLACE.url}`, config],
    ["init", "check", "--json", config],
    ["init", "plan", "--json", config],
    ["init", "write", "--json", "--version=0a-b", config],
    ["doctor", "--part=clients", "--json", config],
    [
      "connect",
      "some-client",
      "--json",
      "--url=http://127.0.0.1:8000",
      "--model=a/b:c",
      "--lane=oss",
      "--key=-",
      "--yes",
    ],
    ["connect", "some-client", "--json", "--url=http://127.0.0.1:8000", "--model=a/b:c", "--lane=oss", "--print"],
    ["connect", "some-client", "--json", "--undo", "--yes"],
  ]);
  assertEquals(commands.map(({ input }) => input?.includes("hidden") ?? false), [
    false,
    true,
    true,
    true,
    false,
    true,
    false,
    false,
  ]);
});

Deno.test("tasks: no text of a page becomes an option or a line of its own", () => {
  const odd = ["--config", "-x", "--config=/etc/passwd", "a b", "a\nb", "", "../a", 1, {}, ["a"], null];
  for (const one of odd) {
    assertEquals(commandOf({ do: "connect", client: one }, PLACE), undefined, JSON.stringify(one));
    if (one !== "../a") assertEquals(commandOf({ do: "connect", client: "c", lane: one }, PLACE), undefined);
    assertEquals(commandOf({ do: "write", answers: {}, version: one === "a b" ? "a b" : one }, PLACE), undefined);
  }
  for (const model of ["a\nb", "a\0b", "", 1, "m".repeat(301)]) {
    assertEquals(commandOf({ do: "connect", client: "c", model }, PLACE), undefined);
  }
  // It stays the value of the option for the model.
  const model = "--config=/etc/passwd";
  const { args } = commandOf({ do: "connect", client: "c", model }, PLACE)!;
  assert(args.includes(`--model=${model}`) && !args.includes(model));
  for (const key of ["a b", "a\nb", "", 1]) {
    assertEquals(commandOf({ do: "connect", client: "c", key }, PLACE), undefined);
  }
  for (const task of [undefined, null, "find", [], {}, { do: "keys" }, { do: "check", source: "x" }, { do: "plan" }]) {
    assertEquals(commandOf(task, PLACE), undefined);
  }
});

/** Does what its first argument says. */
const PROGRAM = `
const [what] = Deno.args;
if (what === "hang") {
  console.log(Deno.pid);
  const child = new Deno.Command("sleep", { args: ["1000"] }).spawn();
  console.log(child.pid);
  await child.status;
}
if (what === "flood") for (;;) console.log("x".repeat(1e6));
if (what === "fail") { console.error("one\\ntwo"); Deno.exit(3); }
console.log(await new Response(Deno.stdin.readable).text());
`;

function command(what: string, more: Partial<Command> = {}): Command {
  return { args: [what], isStreamed: false, patienceMs: 60_000, isWhole: false, ...more };
}

function withTasks(use: (tasks: ReturnType<typeof createTasks>) => Promise<void>): Promise<void> {
  return withFolder(async (folder) => {
    const program = `${folder}/program.ts`;
    await Deno.writeTextFile(program, PROGRAM);
    const tasks = createTasks(program);
    try {
      await use(tasks);
    } finally {
      tasks.end();
    }
  });
}

function isRunning(pid: string): boolean {
  return new Deno.Command("kill", { args: ["-0", pid], stderr: "null" }).outputSync().success;
}

async function resultOf(running: Running | string): Promise<{ lines: string[]; complaint: string }> {
  if (typeof running === "string") throw new Error(running);
  const lines = await within(Array.fromAsync(running.lines));
  return { lines, complaint: running.complaint() };
}

Deno.test("tasks: a command gets its input, and its complaints are known", async () => {
  await withTasks(async (tasks) => {
    const { signal } = new AbortController();
    assertEquals((await resultOf(tasks.start(command("say", { input: "hidden" }), signal))).lines, ["hidden"]);
    assertEquals((await resultOf(tasks.start(command("fail"), signal))).complaint, "one\ntwo");
  });
});

Deno.test("tasks: a page that leaves, time and the launcher's end each end a command with all that it started", async () => {
  await withTasks(async (tasks) => {
    const leaving = new AbortController();
    const end = [
      () => leaving.abort(),
      () => {},
      () => tasks.end(),
    ];
    for (
      const [at, complaint] of ["The page has left", "It took longer than 1 seconds", "The gateway stops"].entries()
    ) {
      const running = tasks.start(
        command("hang", at === 1 ? { patienceMs: 1_000 } : {}),
        at === 0 ? leaving.signal : new AbortController().signal,
      );
      if (typeof running === "string") throw new Error(running);
      const pids: string[] = [];
      for await (const line of running.lines) {
        pids.push(line);
        if (pids.length === 2) end[at]!();
      }
      assertEquals(running.complaint(), complaint);
      await until(() => pids.every((pid) => !isRunning(pid)));
    }
  });
});

Deno.test("tasks: one that writes goes on when its page leaves, and one that prints too much is ended", async () => {
  await withTasks(async (tasks) => {
    const left = AbortSignal.abort();
    assertEquals((await resultOf(tasks.start(command("say", { input: "x", isWhole: true }), left))).lines, ["x"]);
    const { complaint } = await resultOf(tasks.start(command("flood"), new AbortController().signal));
    assertEquals(complaint, "It printed too much");
  });
});

Deno.test("tasks: few run at a time", async () => {
  await withTasks(async (tasks) => {
    const leaving = new AbortController();
    const all = Array.from({ length: 5 }, () => tasks.start(command("hang"), leaving.signal));
    assertEquals(all.filter((one) => typeof one === "string"), [
      "4 commands are running already: try again once one has ended",
    ]);
    leaving.abort();
    await Promise.all(all.map((one) => typeof one === "string" ? undefined : resultOf(one)));
    assertEquals((await resultOf(tasks.start(command("say", { input: "x" }), new AbortController().signal))).lines, [
      "x",
    ]);
  });
});
