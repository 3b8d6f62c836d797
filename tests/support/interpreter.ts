/** The interpreter's containers in this process, with the processes that run Python. */
import { Containers, type ContainersOptions } from "../../src/interpreter/containers.ts";
import type { Executed, RunAnswer, RunRequest } from "../../src/interpreter/protocol.ts";
import { spawnContainer } from "../../src/interpreter/spawn.ts";

export const LIMITS = { memory: 256, output: 2_000, fileBytes: 100_000 };

export interface Interpreting {
  containers: Containers;
  /** Runs code in the caller's container, which is made if it is not there. */
  run(code: string, more?: Partial<RunRequest>): Promise<RunAnswer>;
  /** Like `run`, but for code that has to end. */
  ran(code: string, more?: Partial<RunRequest>): Promise<Executed>;
}

const forever = new AbortController().signal;

export async function withContainers(
  options: Partial<ContainersOptions>,
  use: (interpreting: Interpreting) => Promise<void>,
): Promise<void> {
  const limits = { ...LIMITS, ...options };
  const containers = new Containers({
    most: 2,
    // A machine that does other things is slow. Tests of the time wait for it to be over.
    timeoutMs: 120_000,
    idleMs: 600_000,
    now: Date.now,
    spawn: await spawnContainer(limits),
    ...limits,
  });
  const run: Interpreting["run"] = (code, more) => {
    const id = more?.container ?? "one";
    const owner = more?.owner ?? "ann";
    const isNew = containers.expiryOf(id, owner) === undefined;
    return containers.run(
      { container: id, owner, isNew, isShared: true, code, files: [], onlyMissing: false, ...more },
      forever,
    );
  };
  const ran: Interpreting["ran"] = async (code, more) => {
    const answer = await run(code, more);
    if ("error" in answer) throw new Error(`${answer.error}: ${code}`);
    return answer;
  };
  try {
    await use({ containers, run, ran });
  } finally {
    await containers.close();
  }
}
