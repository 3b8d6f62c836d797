import type { Authenticate } from "../http/auth.ts";
import { type Audit, createAudit } from "../observe/audit.ts";
import { standardStreams } from "../observe/standard.ts";
import type { World } from "./world.ts";

/** The audit log, if the configuration wants one. A change of other settings does not interrupt it. */
export function auditFor({ config, platform, keep, clocks }: Pick<World, "config" | "platform" | "keep" | "clocks">) {
  const { audit } = config.observe;
  const { say } = standardStreams(platform);
  return audit && keep("audit", audit, (): Audit => createAudit(audit.file, { say, now: clocks.now }));
}

/** Wraps `authenticate` so that the first use of a key is reported, once for all gateways on the store. */
export function reportingFirstUse(authenticate: Authenticate, world: World): Authenticate {
  const { observe: { audit }, store, newId } = world;
  if (!audit) return authenticate;
  const known = new Set<string>();
  return async (request, peer, places) => {
    const caller = await authenticate(request, peer, places);
    const { name, owner } = caller;
    if (!owner.startsWith("key:") || known.has(name)) return caller;
    known.add(name);
    const own = newId();
    const report = (first: unknown) => {
      if (first === own) audit.write({ event: "key used first", key: name, address: peer?.hostname });
    };
    store.ensure(["key used first", name], own).then(report, () => known.delete(name)); // the next request tries again
    return caller;
  };
}
