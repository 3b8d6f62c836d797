/** The console behind the examples for nginx and HAProxy, over TLS as they have it: its cookie goes over HTTPS alone. */
import { assertEquals, assertMatch } from "@std/assert";
import { withProxy } from "../support/behind_proxy.ts";
import { CONFIG, ENV, newApp } from "../support/app.ts";
import { readText } from "../support/deploy.ts";
import { withFolder } from "../support/process.ts";
import { needs, printed } from "../support/programs.ts";
import { freePort } from "../support/redis_server.ts";

interface Proxy {
  program: string;
  file: string;
  args(path: string, folder: string): string[];
  local(text: string, port: number, folder: string): string;
}

const PROXIES: readonly Proxy[] = [
  {
    program: "nginx",
    file: "nginx.conf",
    args: (path, folder) => ["-c", path, "-p", folder, "-e", `${folder}/error.log`, "-g", "daemon off;"],
    local: (text, port, folder) =>
      text.replace("listen 443 ", `listen 127.0.0.1:${port} `)
        .replace("worker_processes auto;", `worker_processes 1; pid ${folder}/pid;`)
        .replace(
          "http {",
          `http { access_log off; ${
            ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"].map((name) => `${name}_temp_path ${folder}/${name};`)
              .join(" ")
          }`,
        ),
  },
  {
    program: "haproxy",
    file: "haproxy.cfg",
    args: (path) => ["-db", "-f", path],
    local: (text, port) => text.replace("bind :443 ", `bind 127.0.0.1:${port} `),
  },
];

async function makeCertificate(folder: string): Promise<void> {
  const [certificate, key] = [`${folder}/gateway.pem`, `${folder}/gateway.key`];
  const kind = ["-x509", "-newkey", "rsa:2048", "-nodes", "-days", "1", "-subj", "/CN=gateway.example.com"];
  await printed("openssl", ["req", ...kind, "-keyout", key, "-out", certificate]);
  await Deno.writeTextFile(certificate, await Deno.readTextFile(key), { append: true });
}

const HOST = "https://gateway.example.com";
const OWN = { origin: HOST, "sec-fetch-site": "same-origin" };
/** What a browser sends besides, and the cookie that it gets. A program sends none of it. */
const REACHED: readonly [headers: Record<string, string>, cookie: RegExp][] = [
  [{}, /^laneway_console=\w+; Secure; HttpOnly; Max-Age=\d+; SameSite=Strict$/],
  [
    { ...OWN, referer: `${HOST}/console/` },
    /^__Host-laneway_console=\w+; Secure; HttpOnly; Max-Age=\d+; SameSite=Strict; Path=\/$/,
  ],
  // A proxy in front of this one takes the path away.
  [{ ...OWN, referer: `${HOST}/ai/console/` }, /^laneway_console=\w+; Secure; HttpOnly; Max-Age=\d+; SameSite=Strict$/],
];

for (const { program, file, args, local } of PROXIES) {
  const { ignore, why } = needs(program, "openssl", "curl");
  Deno.test({
    name: `console: its cookie goes over HTTPS alone behind the example for ${program}${why}`,
    ignore,
    fn: () =>
      withFolder(async (folder) => {
        await Deno.chmod(folder, 0o755);
        await makeCertificate(folder);
        const app = newApp({
          config: { ...CONFIG, keys: [{ name: "ops", secret: { env: "TEAM_KEY" }, operator: true }] },
        });
        const server = Deno.serve(
          { hostname: "127.0.0.1", port: 0, onListen() {} },
          (request, info) => app.fetch(request, info),
        );
        const port = freePort();
        const text = local(readText(`deploy/proxies/${file}`), port, folder).replaceAll("/etc/ssl", folder)
          .replace(/10\.0\.0\.[78]:8000/g, `127.0.0.1:${server.addr.port}`);
        try {
          await Deno.writeTextFile(`${folder}/${file}`, text);
          await withProxy(program, args(`${folder}/${file}`, folder), port, {}, async () => {
            const curl = (path: string, headers: Record<string, string>, ...more: string[]) =>
              printed("curl", [
                ...["--silent", "--insecure", "--max-time", "20", "--include", "--http1.1"],
                ...["--resolve", `gateway.example.com:${port}:127.0.0.1`, ...more],
                ...Object.entries(headers).flatMap(([name, value]) => ["--header", `${name}: ${value}`]),
                `${HOST}:${port}${path}`,
              ]);
            for (const [headers, expected] of REACHED) {
              const answer = await curl("/console/login", headers, "--data", ENV.TEAM_KEY!);
              const cookie = /^set-cookie: (.*?)\r?$/im.exec(answer)?.[1] ?? answer;
              assertMatch(cookie, expected);
              const shown = await curl("/console/api/status", { cookie: cookie.split(";")[0]! });
              assertEquals(shown.split("\r\n")[0]!.split(" ")[1], "200", shown);
            }
          });
        } finally {
          await server.shutdown();
          await app.close();
        }
      }),
  });
}
