/** Runs a Worker with the options in its argument, and prints its address. It ends with its standard input. */
import { readdirSync, readFileSync } from "node:fs";

// It is in a folder of its own, not among the packages of the tests.
const library = "miniflare";
const { Log, LogLevel, Miniflare } = await import(library);

const { folder, main, ...options } = JSON.parse(process.argv[2]);
const names = readdirSync(folder).filter((name) => name !== main);
const module = (name) => ({
  type: "ESModule",
  path: `${folder}/${name}`,
  contents: readFileSync(`${folder}/${name}`, "utf8"),
});

const worker = new Miniflare({
  ...options,
  log: new Log(LogLevel.NONE),
  // Otherwise it asks a host of the internet where it is.
  cf: false,
  modulesRoot: folder,
  modules: [main, ...names].map(module),
  // The server in front of the Worker does not pass on that a client has left.
  unsafeDirectSockets: [{ host: "127.0.0.1", port: 0 }],
  handleRuntimeStdio: (stdout, stderr) => {
    stdout.pipe(process.stdout);
    stderr.pipe(process.stderr);
  },
});
await worker.ready;
process.stdout.write(`${await worker.unsafeGetDirectURL()}\n`);
process.stdin.resume().once("end", () => worker.dispose());
