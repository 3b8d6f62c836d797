/**
 * Writes the recording of the README: the commands of a first start, run here and now, as a picture that moves by itself. It needs
 * npm, because the last command proves itself with Claude Code.
 */
import { dirname } from "node:path";
import { CLAUDE_CODE, install } from "../clients/install.ts";
import { ROOT } from "../docs/documents.ts";
import { withFolder } from "../support/process.ts";
import { drawing, type Scene } from "./terminal.ts";

const FILE = new URL("docs/images/first-start.svg", ROOT);
const DENO = `npx -y deno@${Deno.version.deno}`;
const CALL = `curl http://127.0.0.1:8000/oss/v1/chat/completions -H 'content-type: application/json' \\
  -d '{"model":"sandbox","messages":[{"role":"user","content":"Hello"}]}'`;
const CONNECT = `${DENO} task -q laneway connect claude-code --model sandbox --yes`;

interface Running {
  /** Lines with the time at which each came, in milliseconds from the start. */
  lines: { at: number; text: string }[];
  said(text: string): Promise<void>;
  ended: Promise<void>;
  stop(): void;
}

function start(command: string, env: Record<string, string>): Running {
  const child = new Deno.Command("sh", {
    args: ["-c", `${command} 2>&1`],
    cwd: ROOT,
    env: { ...env, NO_COLOR: "1", HF_TOKEN: "", LANEWAY_CONFIG: "", LANEWAY_KEY: "" },
    stdin: "null",
    stdout: "piped",
    detached: true,
  }).spawn();
  const begun = performance.now();
  const lines: Running["lines"] = [];
  let more = Promise.withResolvers<void>();
  let text = "";
  const ended = (async () => {
    for await (const piece of child.stdout.pipeThrough(new TextDecoderStream())) {
      text += piece;
      const whole = text.split("\n");
      text = whole.pop()!;
      for (const line of whole) lines.push({ at: performance.now() - begun, text: line });
      more.resolve();
      more = Promise.withResolvers();
    }
    if (text !== "") lines.push({ at: performance.now() - begun, text });
    await child.status;
    more.resolve();
  })();
  const said = async (wanted: string) => {
    while (!lines.some((line) => line.text.includes(wanted))) await more.promise;
  };
  return { lines, said, ended, stop: () => Deno.kill(-child.pid, "SIGTERM") };
}

/** As it is on the reader's machine: the usual port, and a home of the reader's own. */
function usual(running: Running, url: string, home: string): Scene["lines"] {
  return running.lines.map(({ at, text }) => ({
    at,
    text: text.replaceAll(url, "http://127.0.0.1:8000").replaceAll(home, "~").replace(/ '--(port|url)' '\S+'$/, ""),
  }));
}

await withFolder(async (home) => {
  const installed = await install(CLAUDE_CODE, "claude");
  if ("reason" in installed) throw new Error(installed.reason);
  const PATH = [dirname(Deno.execPath()), dirname(installed.program), Deno.env.get("PATH")].join(":");
  const cache = Deno.env.get("DENO_DIR") ?? `${Deno.env.get("HOME")}/.cache/deno`;
  const env = { HOME: home, XDG_DATA_HOME: "", XDG_CONFIG_HOME: "", DENO_DIR: cache, PATH };
  const gateway = start("deno task -q laneway --port 0", env);
  await gateway.said("Try it");
  const url = /http:\/\/[\d.:]+/.exec(gateway.lines.map(({ text }) => text).join("\n"))![0];
  const call = start(`${CALL.replace("http://127.0.0.1:8000", url)} -sS`, env);
  await call.ended;
  const connect = start(`${CONNECT.replace(DENO, "deno")} --url ${url}`, env);
  await connect.ended;
  const shown = usual(gateway, url, home);
  const untilAdvice = shown.slice(0, shown.findIndex(({ text }) => text.startsWith("Try it")));
  gateway.stop();
  await gateway.ended;
  const scenes: Scene[] = [
    { command: `${DENO} task -q laneway`, lines: untilAdvice, title: "first terminal", hold: 2500 },
    { command: CALL, lines: usual(call, url, home), title: "second terminal", hold: 2000 },
    { command: CONNECT, lines: usual(connect, url, home), title: "second terminal", hold: 4000 },
  ];
  await Deno.writeTextFile(FILE, drawing(scenes));
});
