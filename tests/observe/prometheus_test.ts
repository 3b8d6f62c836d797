/** The page of metrics as Prometheus itself reads it. Debian's package `prometheus` has the programs. */
import { assertEquals } from "@std/assert";
import { CHAT, chatBody, newApp } from "../support/app.ts";
import { answerWhole } from "../support/chat.ts";
import { until, within } from "../support/wait.ts";

function obstacle(): string | undefined {
  for (const name of ["promtool", "prometheus"]) {
    try {
      new Deno.Command(name, { args: ["--version"], stdout: "null", stderr: "null" }).outputSync();
    } catch {
      return `there is no ${name}`;
    }
  }
}

const missing = obstacle();
// deno-lint-ignore no-console -- whoever runs the tests is to know what they did not test
if (missing !== undefined) console.log(`Not tested: metrics with Prometheus, because ${missing}`);

/** A gateway that answers a whole request, a note's worth of others and one that fails. */
async function withMetrics(use: (gateway: { origin: string; logged: () => number }) => Promise<void>): Promise<void> {
  const app = newApp({ fetch: () => Promise.resolve(answerWhole()) });
  for (const more of [{}, { top_k: 3 }, { model: "unknown" }]) {
    await (await app.post(CHAT, chatBody(more))).text();
  }
  const server = Deno.serve({ hostname: "127.0.0.1", port: 0, onListen() {} }, app.fetch);
  try {
    await use({ origin: `127.0.0.1:${server.addr.port}`, logged: () => app.logs.length });
  } finally {
    await server.shutdown();
    await app.close();
  }
}

Deno.test({
  name: "prometheus: promtool finds nothing wrong with the page",
  ignore: missing !== undefined,
  fn: () =>
    withMetrics(async ({ origin }) => {
      const page = await (await fetch(`http://${origin}/metrics`)).bytes();
      const check = new Deno.Command("promtool", {
        args: ["check", "metrics"],
        stdin: "piped",
        stdout: "piped",
        stderr: "piped",
      }).spawn();
      const writer = check.stdin.getWriter();
      await writer.write(page);
      await writer.close();
      const { code, stdout, stderr } = await check.output();
      const said = new TextDecoder().decode(stdout) + new TextDecoder().decode(stderr);
      assertEquals({ code, said }, { code: 0, said: "" });
    }),
});

/** A port that was free a moment ago: Prometheus does not say which one it took. */
function freePort(): number {
  using listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  return listener.addr.port;
}

async function query(port: number, expression: string): Promise<number | undefined> {
  try {
    const response = await fetch(`http://127.0.0.1:${port}/api/v1/query?query=${encodeURIComponent(expression)}`);
    const { data } = await response.json();
    const value = data?.result?.[0]?.value?.[1];
    return value === undefined ? undefined : Number(value);
  } catch {
    return undefined; // it is still starting
  }
}

Deno.test({
  name: "prometheus: it scrapes the gateway, and its sums are those of the log",
  ignore: missing !== undefined,
  fn: () =>
    withMetrics(async ({ origin, logged }) => {
      const folder = await Deno.makeTempDir();
      const config = `scrape_configs:\n- job_name: laneway\n  scrape_interval: 200ms\n  scrape_timeout: 200ms\n` +
        `  static_configs:\n  - targets: ["${origin}"]\n`;
      await Deno.writeTextFile(`${folder}/prometheus.yml`, config);
      const port = freePort();
      const child = new Deno.Command("prometheus", {
        args: [
          `--config.file=${folder}/prometheus.yml`,
          `--storage.tsdb.path=${folder}/data`,
          `--web.listen-address=127.0.0.1:${port}`,
        ],
        stdout: "null",
        stderr: "null",
      }).spawn();
      try {
        await until(async () => await query(port, "sum(laneway_requests_total)") !== undefined);
        assertEquals(await query(port, "sum(laneway_requests_total)"), logged());
        assertEquals(await query(port, 'sum(laneway_requests_total{status="404"})'), 1);
        assertEquals(await query(port, 'sum(gen_ai_client_token_usage_sum{gen_ai_token_type="input"})'), 10);
      } finally {
        child.kill("SIGKILL");
        await within(child.status);
        await Deno.remove(folder, { recursive: true });
      }
    }),
});
