/** A server that outlives what ends the platform's own: a process that has no descriptor left for the next connection. */

import { repeat } from "../util/time_limit.ts";
import type { ServeOptions, Serving } from "./platform.ts";

/** How often the descriptors are counted, in milliseconds. */
const LOOK_MS = 250;
/** How long to wait before the port is taken again, in milliseconds. */
const PAUSE_MS = 100;
/** How often idle connections are closed at most, in milliseconds: a body on its way is broken off, too. */
const RENEW_MS = 5_000;
/** The shortest time between two such reports, in milliseconds. */
const SAY_MS = 60_000;

/**
 * Serves until it is shut down. Where descriptors run short, whether the server has failed for it or not, its place is taken by a
 * new one on the same port. The old one closes connections that are idle, which is what frees descriptors, and what runs on it
 * goes on to its end. Throws where the port cannot be taken at first.
 */
export function serve(options: ServeOptions): Serving {
  const { hostname, port, shared } = options;
  // Whoever shares a port would share it with a stranger who does, too.
  if (shared?.isFirst) Deno.listen({ hostname, port }).close();
  return keepServing(options);
}

function keepServing(options: ServeOptions): Serving {
  const { hostname, port, shared, handler, onListen, onError, areWasted, onRenew, say } = options;
  const ended: Promise<void>[] = [];
  let isStopped = false;
  let renewedAt = -Infinity;
  const report = rarely(say);
  let running = 0;
  let current: Deno.HttpServer<Deno.NetAddr> | undefined;

  const over = () => void running--;
  const counted: Deno.ServeHandler<Deno.NetAddr> = (request, info) => {
    running++;
    info.completed.then(over, over);
    return handler(request, info);
  };

  function listen(port: number, onListen: ServeOptions["onListen"]): void {
    const server = Deno.serve({ hostname, port, reusePort: shared !== undefined, onListen, onError }, counted);
    current = server;
    server.finished.catch((thrown) => {
      if (current === server) renew(server, `Cannot take connections: ${(thrown as Error).message}`, PAUSE_MS);
    });
  }

  function renew(server: Deno.HttpServer<Deno.NetAddr>, reason: string, pauseMs: number): void {
    renewedAt = performance.now();
    report(`${reason}. Closing idle connections; everything else continues`);
    current = undefined;
    onRenew();
    const over = server.shutdown().catch(() => {}); // why it failed is reported already
    ended.push(over);
    over.then(() => ended.splice(ended.indexOf(over), 1));
    again(server.addr.port, pauseMs);
  }

  function again(port: number, pauseMs: number): void {
    setTimeout(() => {
      if (isStopped) return;
      try {
        listen(port, () => {});
      } catch {
        again(port, PAUSE_MS); // the old one still holds the port, or nothing is free yet
      }
    }, pauseMs);
  }

  listen(port, onListen);
  const stopLooking = repeat(LOOK_MS, () => {
    if (!current || performance.now() - renewedAt < RENEW_MS || !areWasted(running)) return;
    renew(current, "Few open files are left", 0);
  });

  return {
    async shutdown() {
      isStopped = true;
      stopLooking();
      await Promise.all([...ended, current?.shutdown().catch(() => {})]);
    },
  };
}

/** The same, but not more often than once in `SAY_MS`. */
function rarely(say: (text: string) => void): (text: string) => void {
  let last = -Infinity;
  return (text) => {
    const now = performance.now();
    if (now - last < SAY_MS) return;
    last = now;
    say(text);
  };
}
