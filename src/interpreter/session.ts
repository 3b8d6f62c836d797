/**
 * The process of one container. Python runs in a thread that may do nothing. This thread watches how much memory the process holds and
 * how long it works, and ends it if either is too much: it is busy only for moments, whatever Python does.
 */
import process from "node:process";
import { createInterface } from "node:readline";
import type { ContainerLimits, Order, Report } from "./protocol.ts";

/** How often the process is looked at, in milliseconds. */
const LOOK_MS = 50;
/** The memory that the process holds beside Python's own, in MiB. */
const BESIDE = 320;
/** How long the process may work without an order, in milliseconds: threads and timers of one execution must not outlive it. */
const IDLE_MS = 2_000;
/** Exit codes, which help whoever reads of one. */
const [FAILED, TOO_MUCH_MEMORY, WORKS_UNASKED] = [70, 71, 72];

function main([memory, output, fileBytes]: number[]): void {
  const limits: ContainerLimits = { memory: memory!, output: output!, fileBytes: fileBytes! };
  const worker = new Worker(new URL("./python_worker.ts", import.meta.url), { type: "module" });
  let pending = 1;
  let rested = 0;
  worker.onmessage = ({ data }: MessageEvent<Report>) => {
    // Its first word is that Python is loaded.
    if (data.id === 0) worker.postMessage(limits);
    pending--;
    rested = cpuMs();
    process.stdout.write(`${JSON.stringify(data)}\n`, () => data.failed && process.exit(FAILED));
  };
  worker.onerror = (event) => {
    event.preventDefault();
    process.exit(FAILED);
  };
  const orders = createInterface({ input: process.stdin });
  orders.on("line", (line) => {
    pending++;
    worker.postMessage(JSON.parse(line) as Order);
  });
  // The server that started the process is gone.
  orders.on("close", () => process.exit(0));
  setInterval(() => {
    if (process.memoryUsage.rss() > (limits.memory + BESIDE) * 2 ** 20) process.exit(TOO_MUCH_MEMORY);
    if (pending === 0 && cpuMs() - rested > IDLE_MS) process.exit(WORKS_UNASKED);
  }, LOOK_MS);
}

function cpuMs(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1_000;
}

if (navigator.userAgent.startsWith("Node.js")) await import("../platform/node_standards.ts");
main(process.argv.slice(2).map(Number));
