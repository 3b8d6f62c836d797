/** Runs a schedule: the gateway as in production, in a world that a seed decides. */
import { type App, createApp, type LogEntry } from "../../src/app.ts";
import { deno } from "../../src/platform/deno.ts";
import type { Platform } from "../../src/platform/platform.ts";
import { createMemoryStore } from "../../src/state/memory_store.ts";
import { waitToBegin } from "../../src/util/sliced_work.ts";
import { parseConfiguration } from "../support/app.ts";
import { type Received, run } from "./client.ts";
import { SimulatedTime } from "./clock.ts";
import { checkMoment, checkStory, type Story, Violation } from "./invariants.ts";
import { Network } from "./network.ts";
import { configFor, type Schedule, SECRETS, type Step } from "./schedule.ts";

/** After so many milliseconds without a step every answer has to be over. */
const PATIENCE_MS = 3_600_000;
/** In bytes: the real one would not be the same twice. */
const MEMORY = 100 * 2 ** 20;

/** How many worlds there were in this process. */
let worlds = 0;

export interface Outcome {
  violation?: Violation;
  trace: string[];
  /** How long it was in the world, in milliseconds. */
  simulatedMs: number;
}

export async function simulate(schedule: Schedule): Promise<Outcome> {
  const time = new SimulatedTime(schedule.seed);
  time.begin();
  beginWithRoom(time);
  const world = new World(schedule, time);
  let violation: Violation | undefined;
  try {
    await world.run();
  } catch (thrown) {
    violation = thrown instanceof Violation ? thrown : new Violation("exception", String(thrown), thrown);
  } finally {
    time.end();
  }
  return { trace: world.trace, simulatedMs: time.now(), ...(violation && { violation }) };
}

/** The process counts the requests that it has begun since others had their turn: every world begins with none. */
function beginWithRoom(time: SimulatedTime): void {
  void waitToBegin("", 2 ** 22);
  time.step(0);
}

class World {
  readonly trace: string[] = [];
  readonly #schedule: Schedule;
  readonly #time: SimulatedTime;
  readonly #network: Network;
  readonly #entries = new Map<string, LogEntry>();
  readonly #received = new Map<number, Received>();
  readonly #checked = new Set<number>();
  readonly #apps: App[];
  readonly #name = `w${worlds++}`;

  constructor(schedule: Schedule, time: SimulatedTime) {
    this.#schedule = schedule;
    this.#time = time;
    this.#network = new Network(schedule, time, this.#tell);
    this.#apps = Array.from({ length: schedule.gateways }, (_, at) => this.#gateway(at));
  }

  readonly #tell = (line: string) => void this.trace.push(`${this.#time.now()} ${line}`);

  #gateway(at: number): App {
    const { now, date, after } = this.#time;
    let ids = 0;
    const platform: Platform = {
      ...deno,
      memory: () => MEMORY,
      unmanagedMemory: () => 0,
      after: (ms, run) => void after(run, ms),
    };
    return createApp({
      config: parseConfiguration(configFor(this.#schedule, this.#name)),
      env: (name) => SECRETS[name],
      platform,
      fetch: this.#network.fetchOf(at) as never,
      now: date,
      monotonic: now,
      newId: () => `${at}x${++ids}`,
      store: createMemoryStore({ now: date, limitBytes: 64 * 2 ** 20 }),
      log: (entry) => {
        this.#entries.set(entry.id, entry);
        this.#tell(`log ${JSON.stringify({ ...entry, cause: undefined })}`);
      },
      warn: (warning) => this.#tell(`warning ${JSON.stringify(warning)}`),
    });
  }

  async run(): Promise<void> {
    for (const step of this.#schedule.steps) this.#time.after(() => this.#begin(step), step.at);
    await this.#until(() => this.#received.size === this.#schedule.steps.length && this.#areOver());
    // What is written a moment later.
    await this.#until(() => false, 30_000);
    for (const step of this.#schedule.steps) this.#check(step);
    await this.#close();
  }

  #begin(step: Step): void {
    this.#tell(`client ${step.id} asks by ${step.client}`);
    const received: Received = { ask: step, text: "", isOver: false, hasLeft: false };
    this.#received.set(step.id, received);
    void run(this.#apps[step.gateway]!, received, this.#time).then(() =>
      this.#tell(`client ${step.id} has ${received.status} ${JSON.stringify(received.text)}`)
    );
  }

  #areOver(): boolean {
    return this.#received.values().every(({ isOver }) => isOver);
  }

  /** Runs the world until then, or for so many milliseconds. */
  async #until(isThen: () => boolean, ms = PATIENCE_MS): Promise<void> {
    const until = this.#time.now() + ms;
    for (;;) {
      await this.#time.settle();
      checkMoment(this.#schedule, this.#network);
      if (isThen()) return;
      if (!this.#time.step(until)) break;
    }
    this.#time.skipTo(until);
    if (ms === PATIENCE_MS) {
      const open = [...this.#received.values()].filter(({ isOver }) => !isOver).map(({ ask }) => ask.id);
      throw new Violation("ending", `no end within an hour: ${open}`);
    }
  }

  #story(step: Step): Story {
    const received = this.#received.get(step.id)!;
    const id = received.headers?.get("x-request-id");
    const calls = this.#network.calls.filter(({ ask }) => ask === step.id);
    const entry = id == null ? undefined : this.#entries.get(id);
    return { step, received, calls, ...(entry && { entry }) };
  }

  #check(step: Step): void {
    if (this.#checked.has(step.id)) return;
    const story = this.#story(step);
    // A client that left before the head does not know which line is its own.
    if (story.received.hasLeft && !story.entry) return;
    try {
      checkStory(story, this.#schedule);
    } catch (thrown) {
      if (thrown instanceof Violation) thrown.message = `request ${step.id}: ${thrown.message}`;
      throw thrown;
    }
    this.#checked.add(step.id);
  }

  /** Nothing is left of a world whose clients are served. */
  async #close(): Promise<void> {
    for (const [at, app] of this.#apps.entries()) {
      if (app.running() !== 0) throw new Violation("leak", `${app.running()} requests still run at gateway ${at}`);
      app.drain();
      let isClosed = false;
      void app.settled().then(() => app.close()).then(() => isClosed = true);
      await this.#until(() => isClosed, 60_000);
      if (!isClosed) throw new Violation("leak", `gateway ${at} does not end`);
    }
    await this.#until(() => false, 1);
    const open = this.#network.calls.filter(({ state }) => state === "running");
    if (open.length > 0) throw new Violation("leak", `${open.length} calls of upstreams are still open`);
    if (this.#time.waiting > 0) throw new Violation("leak", `${this.#time.waiting} timers are left`);
  }
}
