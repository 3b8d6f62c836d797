/** A gateway without keys behind a proxy on the same machine: who calls the proxy is not this machine. */
import { assertEquals, assertStringIncludes } from "@std/assert";
import { withProxy } from "../support/behind_proxy.ts";
import { newApp } from "../support/app.ts";
import { withFolder } from "../support/process.ts";
import { needs } from "../support/programs.ts";
import { freePort } from "../support/redis_server.ts";

interface Proxy {
  program: string;
  what: string;
  args(path: string, folder: string): string[];
  config(port: number, gateway: string, folder: string): string;
  /** What a client sends, besides a host name that is not this machine's. */
  headers?: Record<string, string>;
  /** The header that tells. */
  header: string;
}

function nginx(port: number, gateway: string, folder: string, more = ""): string {
  const folders = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"].map((name) =>
    `${name}_temp_path ${folder}/${name};`
  );
  return `worker_processes 1; pid ${folder}/pid; events {}
    http { access_log off; ${folders.join(" ")}
      server { listen 127.0.0.1:${port}; location / { proxy_pass ${gateway}; ${more} } }
    }`;
}

const nginxArgs = (
  path: string,
  folder: string,
) => ["-c", path, "-p", folder, "-e", `${folder}/error.log`, "-g", "daemon off;"];

const PROXIES: readonly Proxy[] = [
  {
    program: "nginx",
    what: "with the address of the client",
    args: nginxArgs,
    config: (port, gateway, folder) =>
      nginx(port, gateway, folder, "proxy_set_header X-Forwarded-For $proxy_add_x_forwarded_for;"),
    header: "x-forwarded-for",
  },
  {
    program: "nginx",
    what: "which adds nothing, for a page that it serves",
    args: nginxArgs,
    config: nginx,
    headers: { referer: "http://gateway.example/console/" },
    header: "referer",
  },
  {
    program: "apache2",
    what: "as it is",
    args: (path) => ["-f", path, "-DFOREGROUND"],
    config: (port, gateway, folder) =>
      [
        ...["mpm_event", "authz_core", "proxy", "proxy_http"].map((name) =>
          `LoadModule ${name}_module /usr/lib/apache2/modules/mod_${name}.so`
        ),
        `ServerRoot ${folder}`,
        `Listen 127.0.0.1:${port}`,
        `PidFile ${folder}/pid`,
        `ErrorLog ${folder}/error.log`,
        "ServerName gateway.example",
        `ProxyPass / ${gateway}/`,
      ].join("\n"),
    header: "x-forwarded-for",
  },
];

for (const { program, what, args, config, headers, header } of PROXIES) {
  const { ignore, why } = needs(program);
  Deno.test({
    name:
      `without keys, who comes through a proxy on this machine is refused, and is told how to set a key · ${program} ${what}${why}`,
    ignore,
    fn: () =>
      withFolder(async (folder) => {
        await Deno.chmod(folder, 0o755);
        const app = newApp();
        const server = Deno.serve(
          { hostname: "127.0.0.1", port: 0, onListen() {} },
          (request, info) => app.fetch(request, info),
        );
        const [port, gateway] = [freePort(), `http://127.0.0.1:${server.addr.port}`];
        try {
          await Deno.writeTextFile(`${folder}/proxy.conf`, config(port, gateway, folder));
          await withProxy(program, args(`${folder}/proxy.conf`, folder), port, {}, async () => {
            for (const path of ["/console/api/status", "/metrics", "/oss/v1/models"]) {
              const own = await fetch(`${gateway}${path}`);
              assertEquals(own.status, 200, await own.text());
              const response = await fetch(`http://127.0.0.1:${port}${path}`, { headers });
              const text = await response.text();
              assertEquals(response.status, 401, text);
              assertStringIncludes(text, header);
              assertStringIncludes(text, '"keys": [{ \\"name\\"'.replace('"keys"', '\\"keys\\"'));
            }
          });
        } finally {
          await server.shutdown();
          await app.close();
        }
      }),
  });
}
