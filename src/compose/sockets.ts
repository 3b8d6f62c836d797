import type { SocketsPart } from "../context/gateway.ts";
import type { LoadShedder } from "../http/load_shedding.ts";
import type { World } from "./world.ts";

/** The WebSockets. They are closed when the gateway drains or stops. */
export function createSockets(
  { keep, process: { draining, stop }, platform, config, clocks: { now }, observe: { warn } }: World,
  loadShedder: LoadShedder,
): SocketsPart {
  const kept = keep("sockets", null, () => {
    const part: SocketsPart & { limitBytes(): number } = {
      limitBytes: () => Infinity,
      async load() {
        const { Sockets } = await import("../http/sockets.ts");
        return part.loaded ??= new Sockets({
          memory: () => platform.memory(),
          unmanaged: () => platform.unmanagedMemory(),
          limit: () => part.limitBytes(),
          onShort: (key, closed, bytes) =>
            warn({ time: new Date(now()).toISOString(), warning: "sockets", key, closed, bytes }),
        });
      },
    };
    draining.signal.addEventListener("abort", () => part.loaded?.retire(), { once: true });
    stop.signal.addEventListener("abort", () => part.loaded?.abort(), { once: true });
    return part;
  });
  return Object.assign(kept, {
    limitBytes: () => loadShedder.limitBytes(config.limits),
    upgrade: platform.upgrade,
  });
}
