/** A server that survives a lack of file descriptors, which ends the platform's own server. */

import { repeat } from "../util/time_limit.ts";
import type { ServeOptions, Serving } from "./platform.ts";

/** How often the descriptors are counted, in milliseconds. */
const LOOK_MS = 250;
/** How long to wait before listening on the port again, in milliseconds. */
const PAUSE_MS = 100;
/** The shortest time between two closings of idle connections, in milliseconds: they also break off bodies that are arriving. */
const RENEW_MS = 5_000;
/** The shortest time between two reports of that, in milliseconds. */
const SAY_MS = 60_000;

/**
 * Serves until it is shut down. If descriptors run short, a new server on the same port replaces the present one, whether that has
 * failed or not. The old server closes idle connections, which frees descriptors, and finishes its running requests. Throws if the
 * port cannot be used at the start.
 */
export function serve(options: ServeOptions): Serving {
  const { hostname, port, shared } = options;
  // A shared port could also be shared with a foreign process, so the first worker makes sure that it is free.
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
    const over = server.shutdown().catch(() => {}); // the reason is reported already
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
        again(port, PAUSE_MS); // the old server still holds the port, or no descriptor is free yet
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

/** Limits messages to one in `SAY_MS`. */
function rarely(say: (text: string) => void): (text: string) => void {
  let last = -Infinity;
  return (text) => {
    const now = performance.now();
    if (now - last < SAY_MS) return;
    last = now;
    say(text);
  };
}
