/** Checks this machine: permissions, the port, the store, descriptors. */
import { codeFolder, describePermission, descriptorsOf, permissionsOf } from "../../config/permissions.ts";
import { storeKind } from "../../config/store_kinds.ts";
import { isThere } from "../../config/is_there.ts";
import { lacksInterpreter, lacksReader, NO_INTERPRETER, NO_READER } from "../../compose/hosted.ts";
import { createStore, describePlace, placeOfStore, risksOfStore } from "../../compose/store.ts";
import { isOnDeploy } from "../../state/kv_file.ts";
import { scarcityLine } from "../../http/descriptors.ts";
import type { Examined } from "./examination.ts";
import { type Finding, problem, well } from "./finding.ts";

export async function checkMachine(examined: Examined): Promise<Finding[]> {
  const permissions = checkPermissions(examined);
  const [port, stores, descriptors] = await Promise.all([
    checkPort(examined),
    checkStore(examined),
    checkDescriptors(examined),
  ]);
  return [permissions, port, ...stores, ...descriptors, ...checkBeside(examined)];
}

/** The launcher starts a fetcher and an interpreter with the gateway, and not with this command. */
function checkBeside({ config, serving, platform: { env, executable } }: Examined): Finding[] {
  const isStarted = !serving && executable === undefined && !isOnDeploy(env);
  if (isStarted) return [];
  const lacking: [is: boolean, name: string, subject: string, words: typeof NO_READER][] = [
    [lacksReader(config, env), "documents-unread", "documents", NO_READER],
    [lacksInterpreter(config, env), "code-not-run", "code execution", NO_INTERPRETER],
  ];
  return lacking.flatMap(([is, name, subject, { message, cure }]) =>
    is ? [problem("warning", name, subject, message, cure)] : []
  );
}

function checkPermissions({ config, file, platform: { env, os, database, isGranted } }: Examined): Finding {
  const place = { config, file, listen: {}, env, os, code: codeFolder(), database, isThere };
  const lacking = descriptorsOf(permissionsOf(place)).filter((permission) => !isGranted(permission));
  if (lacking.length === 0) {
    return well("permissions", "permissions", "It has all permissions that the configuration needs");
  }
  const names = lacking.map(describePermission).join(", ");
  return problem(
    "error",
    "permission-missing",
    "permissions",
    `The process is not permitted to use ${names}`,
    "Start it with deno task -q laneway, or with the options that the command permissions prints",
  );
}

/** Cures for a failure to listen at the configured address, by the system's error code. */
const LISTEN_CURES: Readonly<Record<string, string>> = {
  EACCES: "Choose a port above 1023 with --port, or allow this one to the process",
  EADDRNOTAVAIL: "Set listen.hostname to an address of this machine, such as 127.0.0.1",
};

async function checkPort({ config: { listen: { hostname, port } }, platform, serving }: Examined): Promise<Finding> {
  const subject = `port ${port}`;
  // A second server on it would take requests from the gateway.
  if (serving) return well("port", `port ${serving.port}`, `This gateway listens there, on ${serving.hostname}`);
  try {
    const serving = await platform.serve({
      hostname,
      port,
      handler: () => Promise.resolve(new Response(null, { status: 503 })),
      onListen() {},
      onError: () => new Response(null, { status: 500 }),
      areWasted: () => false,
      onRenew() {},
      say() {},
    });
    await serving.shutdown();
    return well("port", subject, `It is free on ${hostname}`);
  } catch (error) {
    const { code = "", message } = error as { code?: string; message: string };
    if (code === "EADDRINUSE") return await whoListens(hostname, port, platform.fetch);
    const cure = LISTEN_CURES[code] ?? "Choose another address with --hostname and --port";
    return problem("error", "port-unusable", subject, `Cannot listen on ${hostname}: ${message}`, cure);
  }
}

const LOOK_MS = 2_000;

/** Finds out who uses the port. It may be a running gateway, which is fine. */
async function whoListens(hostname: string, port: number, fetch: typeof globalThis.fetch): Promise<Finding> {
  const subject = `port ${port}`;
  const name = { "0.0.0.0": "127.0.0.1", "::": "::1" }[hostname] ?? hostname;
  const url = `http://${name.includes(":") ? `[${name}]` : name}:${port}/`;
  try {
    const headers = { accept: "application/json" };
    const signal = AbortSignal.timeout(LOOK_MS);
    const ask = async (at: string) =>
      await (await fetch(`${url}${at}`, { headers, redirect: "manual", signal })).json();
    const { lanes } = await ask("");
    const { warning } = Array.isArray(lanes) ? await ask("readyz") : {};
    if (warning !== undefined) {
      const message = `The gateway that runs there (${url}) has lost its store's file since it was started`;
      const cure = "Find out who removes it. To bring it back, stop the gateway and restore the file from a backup";
      return problem("warning", "store-file-removed", subject, message, cure);
    }
    if (Array.isArray(lanes)) return well("port", subject, `A gateway is already running there (${url})`);
  } catch {
    // Another program uses the port.
  }
  const cure = "Stop that program, or choose another port with --port";
  return problem("error", "port-taken", subject, `Another program is listening on ${hostname}`, cure);
}

async function checkStore(examined: Examined): Promise<Finding[]> {
  const use = await checkUse(examined);
  return use.level === "ok" ? [use, ...await checkRisks(examined)] : [use];
}

async function checkRisks({ config, platform }: Examined): Promise<Finding[]> {
  try {
    const risks = await risksOfStore(config, platform, platform.env);
    return risks.map(({ name, message, cure }) => problem("warning", name, "store", message, cure));
  } catch (error) {
    const message = `Whether the server may lose what it is given is unknown: ${(error as Error).message}`;
    return [{ level: "skipped", check: "store-risks", subject: "store", message }];
  }
}

/** Writes one entry, reads it and deletes it. */
async function checkUse({ config, platform, now, store: open }: Examined): Promise<Finding> {
  const { env } = platform;
  const place = placeOfStore(config.store, platform, env);
  if (place === "memory") {
    const message = "Conversations are kept in memory and are lost when the gateway stops";
    if (!storeKind(config.store.kind).isLasting) return well("store", "store", message);
    const cure = 'Set "store": { "path": "..." }: this process has no home folder';
    return problem("warning", "store-in-memory", "store", message, cure);
  }
  const store = open ?? createStore(config, platform, env, now);
  const key = ["doctor", crypto.randomUUID()];
  try {
    await store.add([[key, 1]], now() + 60_000);
    const value = await store.get(key);
    await store.delete(key);
    if (value !== 1) throw new Error("what was written could not be read");
    return well("store", "store", `Conversations are stored ${describePlace(place)}`);
  } catch (error) {
    const message = `Cannot use the store ${describePlace(place)}: ${(error as Error).message}`;
    const cure = storeKind(config.store.kind).isShared
      ? "Start the server, let it accept connections from other machines, or correct the URL in the variable that store.url names"
      : 'Make the folder writable for this user, or set another "store": { "path": "..." }';
    return problem("error", "store-unusable", "store", message, cure);
  } finally {
    if (!open) store.close();
  }
}

async function checkDescriptors({ config, descriptors }: Examined): Promise<Finding[]> {
  const line = await scarcityLine(descriptors, config.limits.concurrentRequests);
  if (line === undefined) return [];
  const [message, cure] = line.split(/\. (?=Raise )/);
  return [problem("warning", "descriptors-few", "open files", message!.replace("Open files: ", ""), cure!)];
}
