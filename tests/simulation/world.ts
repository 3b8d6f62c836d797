/** Runs a schedule: the gateways as in production, in a world that a seed decides. */
import { type App, createApp, type LogEntry } from "../../src/app.ts";
import "./preload.ts";
import { deno } from "../../src/platform/deno.ts";
import type { Platform } from "../../src/platform/platform.ts";
import { waitToBegin } from "../../src/util/sliced_work.ts";
import { parseConfiguration } from "../support/app.ts";
import { keptId, type Received, requestAs, run, storedId, threadOf } from "./client.ts";
import { SimulatedTime } from "./clock.ts";
import { Conversations } from "./conversations.ts";
import { Database } from "./database.ts";
import { Random } from "./random.ts";
import { Redis } from "./redis.ts";
import {
  checkBudget,
  checkMessages,
  checkMoment,
  checkRates,
  checkStory,
  checkThreads,
  type Facts,
  type Processes,
  type Story,
  Violation,
} from "./invariants.ts";
import { Sockets } from "./sockets.ts";
import { Network } from "./network.ts";
import { checkResults, checkRuns } from "./tool_laws.ts";
import { ToolServers } from "./tool_servers.ts";
import { type Ask, configFor, type Event, isAsk, type Schedule, SECRETS, type Step } from "./schedule.ts";

/** After so many milliseconds without a step every answer has to be over. */
const PATIENCE_MS = 3_600_000;
/** How long a gateway that stops lets requests end, and how long it then takes at most, in milliseconds. */
const [DRAIN_MS, END_MS] = [25_000, 30_000];
/** How many listeners a signal may have: those of one request, with twelve calls of upstreams, or one that outlives its requests. */
const MOST_LISTENERS = 14;
/** How often a gateway tells at the least that it lives, in milliseconds. */
const LATELY_MS = 3_000;
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

/** One process. */
interface Instance {
  app: App;
  gateway: number;
  /** Of the process. */
  number: number;
  state: "serving" | "stopping" | "ended" | "gone";
  received: Received[];
}

class World {
  readonly trace: string[] = [];
  readonly #schedule: Schedule;
  readonly #time: SimulatedTime;
  readonly #network: Network;
  readonly #tools: ToolServers;
  readonly #database: Database;
  readonly #redis: Redis;
  readonly #conversations = new Conversations();
  readonly #sockets: Sockets;
  readonly #entries: LogEntry[] = [];
  readonly #received = new Map<number, Received>();
  /** The process that serves at each place. */
  readonly #serving: Instance[];
  readonly #all: Instance[] = [];
  readonly #name = `w${worlds++}`;
  #begun = 0;
  #hasCrashed = false;

  constructor(schedule: Schedule, time: SimulatedTime) {
    this.#schedule = schedule;
    this.#time = time;
    this.#sockets = new Sockets(time);
    this.#tools = new ToolServers(schedule, time, this.#tell);
    this.#network = new Network(schedule, this.#tools, time, this.#tell);
    this.#database = new Database(time, this.#tell);
    this.#redis = new Redis(time, this.#tell, new Random(schedule.seed, "redis"));
    this.#serving = Array.from({ length: schedule.gateways }, (_, at) => this.#start(at));
  }

  readonly #tell = (line: string) => {
    const text = line.replaceAll(`.${this.#name}.test`, ".test");
    this.trace.push(`${this.#time.now()} ${text}`);
  };

  #start(gateway: number): Instance {
    const number = this.#all.length + 1;
    const instance: Instance = { app: undefined as never, gateway, number, state: "serving", received: [] };
    this.#all.push(instance);
    let ids = 0;
    const isGone = () => instance.state === "gone";
    const make = this.#maker(instance, isGone, () => `${number}x${++ids}`);
    instance.app = make(false);
    this.#reloads.set(instance, () => instance.app = make(true, instance.app));
    return instance;
  }

  readonly #reloads = new Map<Instance, () => void>();

  #maker(instance: Instance, isGone: () => boolean, newId: () => string) {
    const { now, date, after } = this.#time;
    const platform: Platform = {
      ...deno,
      memory: () => MEMORY,
      unmanagedMemory: () => 0,
      upgrade: this.#sockets.upgrade,
      after: (ms, run) => void after(run, ms),
      storeClient: this.#redis.clientFor(isGone),
    };
    const isOwn = this.#schedule.settings.store !== undefined;
    const store = isOwn ? undefined : this.#database.storeFor(isGone);
    return (isReloaded: boolean, earlier?: App) =>
      createApp({
        config: parseConfiguration(configFor(this.#schedule, this.#name, isReloaded)),
        env: (name) => SECRETS[name],
        platform,
        fetch: this.#network.fetchOf({ gateway: instance.gateway, owner: instance.number }, isGone) as never,
        now: date,
        monotonic: now,
        newId,
        ...(store && { store }),
        log: (entry) => {
          if (isGone()) return;
          this.#entries.push(entry);
          this.#tell(`log ${JSON.stringify({ ...entry, cause: entry.cause && String(entry.cause) })}`);
        },
        warn: (warning) => this.#tell(`warning ${JSON.stringify(warning)}`),
        ...(earlier && { after: earlier }),
      });
  }

  async run(): Promise<void> {
    const { steps } = this.#schedule;
    for (const step of steps) this.#time.after(() => this.#begin(step), step.at);
    await this.#until(() => this.#begun === steps.length && this.#isQuiet());
    this.#database.calm();
    this.#redis.calm();
    // Some things are written a moment later.
    await this.#until(() => false, 30_000);
    this.#check();
    checkRates(this.#facts, this.#processes);
    await this.#checkLeft();
    await this.#checkStored();
    await this.#conversations.check((...asked) => this.#get(...asked), this.#facts);
    await this.#checkBudget();
    await this.#close();
  }

  #begin(step: Step): void {
    this.#begun++;
    if (step.type === "disturb") {
      this.#tell(`the database's next ${step.calls} calls are ${step.trouble}, ${step.ms} ms`);
      const { store } = this.#schedule.settings;
      if (store === "redis") this.#redis.disturb(step.trouble, step.calls, step.ms);
      else if (store === undefined) this.#database.disturb(step.trouble, step.calls, step.ms);
    } else if (step.type === "outage") {
      this.#tell(`the servers of tools are gone for ${step.ms} ms`);
      this.#tools.end(step.ms);
    } else if (isAsk(step)) this.#ask(step);
    else this.#change(step);
  }

  #ask(ask: Ask): void {
    const instance = this.#serving[ask.gateway]!;
    const before = ask.follows === undefined ? undefined : this.#received.get(ask.follows);
    const id = before?.ask.client === ask.client ? storedId(before) : undefined;
    const received: Received = {
      ask,
      world: this.#name,
      beganAt: this.#time.now(),
      text: "",
      isOver: false,
      hasLeft: false,
      isLost: false,
      ...(id !== undefined && { previous: { id, of: before!.ask } }),
    };
    const how = `${ask.client}${ask.socket === undefined ? "" : " on a WebSocket"}`;
    this.#tell(`client ${ask.id} asks gateway ${ask.gateway} by ${how}${id ? ` after ${ask.follows}` : ""}`);
    this.#received.set(ask.id, received);
    instance.received.push(received);
    const gateway = () => this.#serving[ask.gateway]!.app;
    const ways = {
      begin: () => this.#join(received, gateway),
      ask: () => this.#sockets.ask(received, () => this.#serving[ask.gateway]!),
      leave: () => this.#sockets.leave(received),
    };
    void run(gateway, received, this.#time, ways).then(() =>
      this.#tell(`client ${ask.id} has ${received.status} ${received.failure ?? ""} ${JSON.stringify(received.text)}`)
    );
  }

  /** Finds the conversation of the request. */
  async #join(received: Received, gateway: () => App): Promise<void> {
    const id = await this.#conversations.idFor(received.ask, gateway);
    if (id === undefined) return;
    const before = this.#database.wasTroubled
      ? []
      : [...this.#received.values()].filter((other) => other.conversation?.id === id && keptId(other) !== undefined);
    received.conversation = { id, before: before.map(({ ask }) => ask) };
    this.#tell(`client ${received.ask.id} is in conversation ${id} after ${before.map(({ ask }) => ask.id)}`);
  }

  #change({ type, gateway }: Event): void {
    const instance = this.#serving[gateway]!;
    this.#tell(`${type} of gateway ${gateway}`);
    if (type === "reload") return this.#reloads.get(instance)!();
    this.#serving[gateway] = this.#start(gateway);
    if (type === "restart") return void this.#stop(instance);
    this.#hasCrashed = true;
    instance.state = "gone";
    for (const received of instance.received) this.#lose(received);
    this.#sockets.close(instance.number);
    instance.app.abort();
    void instance.app.close().catch(() => {});
  }

  #lose(received: Received): void {
    if (received.isOver) return;
    received.isLost = received.isOver = true;
    received.endedAt = this.#time.now();
  }

  /** As the program does when the system asks it to stop. */
  async #stop(instance: Instance): Promise<void> {
    instance.state = "stopping";
    const { app, received } = instance;
    app.drain();
    const allOver = async () => {
      while (received.some(({ isOver, ask }) => !isOver && !ask.isBackground)) await this.#wait(100);
      await app.settled();
    };
    let isOver = false;
    const over = allOver().then(() => isOver = true);
    await Promise.race([over, this.#wait(DRAIN_MS)]);
    if (!isOver) {
      for (const one of received) if (!one.isOver) one.isLost = true;
      app.abort();
      await over;
    }
    await app.close();
    instance.state = "ended";
    this.#tell(`gateway ${instance.gateway} has ended`);
  }

  #wait(ms: number): Promise<void> {
    return new Promise((resolve) => void this.#time.after(resolve, ms));
  }

  #isQuiet(): boolean {
    return this.#received.values().every(({ isOver }) => isOver) &&
      this.#all.every(({ state }) => state !== "stopping");
  }

  /** Runs the world until then, or for so many milliseconds. */
  async #until(isThen: () => boolean, ms = PATIENCE_MS): Promise<void> {
    const until = this.#time.now() + ms;
    for (;;) {
      await this.#time.settle();
      checkMoment(this.#schedule, this.#network, this.#processes);
      if (isThen()) return;
      if (!this.#time.step(until)) break;
    }
    this.#time.skipTo(until);
    if (ms === PATIENCE_MS) {
      const open = [...this.#received.values()].filter(({ isOver }) => !isOver).map(({ ask }) => ask.id);
      const stopping = this.#all.filter(({ state }) => state === "stopping").map(({ gateway }) => gateway);
      throw new Violation("ending", `no end within an hour: requests ${open}, gateways ${stopping}`);
    }
  }

  /** The answer to a request of an operator, or of a client that looks something up. */
  async #get(
    key: string,
    path: string,
    gateway = 0,
    init: RequestInit = {},
  ): Promise<{ status: number; text: string }> {
    let answer: { status: number; text: string } | undefined;
    void this.#serving[gateway]!.app.fetch(requestAs(key, path, init)).then(async (response) =>
      answer = { status: response.status, text: await response.text() }
    );
    await this.#until(() => answer !== undefined);
    return answer!;
  }

  get #isTroubled(): boolean {
    return this.#database.wasTroubled || this.#redis.wasTroubled;
  }

  get #processes(): Processes {
    return {
      isAlone: this.#serving.length === this.#all.length,
      processes: this.#all.length,
      isTroubled: this.#isTroubled,
    };
  }

  get #facts(): Facts {
    return {
      schedule: this.#schedule,
      isTroubled: this.#isTroubled,
      hasCrashed: this.#hasCrashed,
      received: [...this.#received.values()],
      entries: this.#entries,
      calls: this.#network.calls,
    };
  }

  #check(): void {
    checkRuns(this.#tools.ran);
    checkMessages(this.#facts);
    checkThreads(this.#facts);
    for (const received of this.#received.values()) {
      const { ask } = received;
      const id = received.headers?.get("x-request-id");
      const story: Story = {
        received,
        calls: this.#network.calls.filter((call) => call.ask === ask.id),
        entries: id === null || id === undefined ? [] : this.#entries.filter((entry) => entry.id === id),
      };
      try {
        checkStory(story, this.#facts);
        checkResults(story, this.#facts);
      } catch (thrown) {
        if (thrown instanceof Violation) thrown.message = `request ${ask.id}: ${thrown.message}`;
        throw thrown;
      }
    }
  }

  /** What is over is gone: places, here and on the server, and listeners. */
  async #checkLeft(): Promise<void> {
    if (this.#schedule.settings.store === "redis") {
      const living = this.#redis.living(LATELY_MS);
      const asked = new Set(this.#network.calls.map(({ ask }) => ask));
      const { length } = this.#serving.filter(({ received }) => received.some(({ ask }) => asked.has(ask.id)));
      if (living < length) {
        throw new Violation("ending", `${living} of ${length} gateways have reported that they live`);
      }
    }
    for (const { app, gateway } of this.#serving) {
      const { status: { upstreams, streamsOpen } } = await app.report({ inherited: "" } as never);
      const isLeft = streamsOpen > 0 || upstreams.some(({ running = 0, waiting = 0 }) => running + waiting > 0);
      if (isLeft) throw new Violation("leak", `gateway ${gateway} is not at rest: ${JSON.stringify(upstreams)}`);
    }
    const leases = this.#redis.leases();
    if (leases.length > 0) throw new Violation("leak", `requests that are over have leases: ${leases.join(" ")}`);
    const listeners = this.#time.listeners.most();
    if (listeners > MOST_LISTENERS) throw new Violation("leak", `a signal has ${listeners} listeners`);
  }

  /** What was promised to be stored is found by its owner, at any gateway, and by nobody else. */
  async #checkStored(): Promise<void> {
    for (const received of this.#received.values()) {
      const id = storedId(received);
      if (id === undefined) continue;
      const { key, id: number, isThread } = received.ask;
      if (isThread) {
        await this.#checkThread(received, id);
        continue;
      }
      for (const gateway of this.#serving.keys()) {
        const own = await this.#get(key, `/oss/v1/responses/${id}`, gateway);
        if (own.status !== 200) throw new Violation("stored", `request ${number}: ${id} is lost: ${own.text}`);
        const text = (response: string) => JSON.stringify(JSON.parse(response).output);
        const stated = received.ask.stream ? received.text : text(received.text);
        if (!stated.includes(text(own.text))) {
          throw new Violation("stored", `request ${number}: ${text(own.text)} is stored for ${stated}`);
        }
      }
      const other = await this.#get(key === "anna" ? "bert" : "anna", `/oss/v1/responses/${id}`);
      if (other.status !== 404) {
        throw new Violation("stored", `request ${number}: ${id} is seen by another: ${other.text}`);
      }
    }
  }

  /** Its tokens are counted with all turns, which continues nothing. */
  async #checkThread({ ask: { key, id: number } }: Received, id: string): Promise<void> {
    const body = { model: "model", messages: [{ role: "user", content: "Hello" }], thread: threadOf(id) };
    const init = { method: "POST", body: JSON.stringify(body) };
    const count = (key: string, gateway: number) => this.#get(key, "/oss/v1/messages/count_tokens", gateway, init);
    for (const gateway of this.#serving.keys()) {
      const own = await count(key, gateway);
      if (own.status !== 200) throw new Violation("stored", `request ${number}: ${id} is lost: ${own.text}`);
    }
    const other = await count(key === "anna" ? "bert" : "anna", 0);
    if (other.status !== 404) {
      throw new Violation("stored", `request ${number}: ${id} is seen by another: ${other.text}`);
    }
  }

  async #checkBudget(): Promise<void> {
    if (this.#schedule.settings.budget === undefined) return;
    const { text } = await this.#get("operator", "/usage");
    checkBudget(JSON.parse(text), this.#facts);
  }

  /** Nothing is left of a world whose clients are served. */
  async #close(): Promise<void> {
    this.#sockets.close();
    await this.#until(() => false, 10);
    for (const { app, gateway } of this.#serving) {
      if (app.running() !== 0) throw new Violation("leak", `${app.running()} requests still run at gateway ${gateway}`);
      app.drain();
      let isClosed = false;
      void app.settled().then(() => app.close()).then(() => isClosed = true);
      await this.#until(() => isClosed, END_MS);
      if (!isClosed) throw new Violation("leak", `gateway ${gateway} does not end`);
    }
    await this.#until(() => false, 1);
    const isUndisturbed = !this.#isTroubled && !this.#hasCrashed;
    if (isUndisturbed && this.#redis.living() > 0) throw new Violation("leak", "a gateway that ended counts as living");
    for (const { number, state } of this.#all) {
      const sessions = state === "gone" ? [] : this.#tools.sessionsOf(number);
      if (sessions.length > 0) throw new Violation("leak", `process ${number} has left sessions open: ${sessions}`);
    }
    const open = this.#network.calls.filter(({ state }) => state === "running");
    if (open.length > 0) throw new Violation("leak", `${open.length} calls of upstreams are still open`);
    if (this.#time.waiting > 0 && !this.#hasCrashed) {
      throw new Violation("leak", `${this.#time.waiting} timers are left`);
    }
  }
}
