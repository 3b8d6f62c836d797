/** The dashboard asks for what the gateway shows, by labels that it has. */
import { assert, assertEquals } from "@std/assert";
import { createMetrics } from "../../src/observe/metrics.ts";
import { CHAT, chatBody, CONFIG, newApp } from "../support/app.ts";
import { answerStream, ENDING, word } from "../support/chat.ts";
import { needs, printed } from "../support/programs.ts";
import { readText, ROOT } from "../support/deploy.ts";

interface Panel {
  title: string;
  gridPos: { x: number; y: number; w: number; h: number };
  targets: { expr: string; legendFormat: string }[];
}

const { panels, templating }: { panels: Panel[]; templating: { list: { name: string }[] } } = JSON.parse(
  readText("deploy/dashboard.json"),
);
const targets = panels.flatMap(({ title, targets }) => targets.map((target) => ({ title, ...target })));
/** Prometheus adds the first two. */
const ADDED = ["job", "instance", "le"];

/** The labels of each series on a page of metrics. */
function seriesOf(page: string): Map<string, Set<string>> {
  const found = new Map<string, Set<string>>();
  for (const [, name, labels = ""] of page.matchAll(/^(\w+)(?:\{(.*)\})? \S+$/gm)) {
    const known = found.get(name!) ?? new Set();
    for (const [, label] of labels.matchAll(/(\w+)="/g)) known.add(label!);
    found.set(name!, known);
  }
  return found;
}

/** What a gateway shows that has done everything once. */
async function wholePage(): Promise<string> {
  const price = { input: 1, output: 1 };
  const { oss } = CONFIG.lanes;
  const app = newApp({
    config: {
      ...CONFIG,
      budget: { dollars: 7, period: "month" },
      upstreams: { ...CONFIG.upstreams, fake: { ...CONFIG.upstreams.fake, concurrency: { running: 4 } } },
      lanes: { oss: { models: { ...oss.models, model: { ...oss.models.model, price } } } },
    },
    fetch: () => Promise.resolve(answerStream([word("a"), word("b"), ENDING])),
  });
  const counted = createMetrics({ version: "1", operations: new Map(), names: () => new Set() });
  counted.count({ type: "attempt failed", upstream: "fake", code: "upstream_error", at: 0 });
  counted.count({ type: "hosted call", tool: "web_search", error: "unavailable" });
  counted.count({ type: "store", operation: "get", seconds: 1, failed: true });
  counted.count({ type: "shed" });
  counted.count({ type: "budget", budget: "gateway", what: "refused" });
  counted.count({ type: "loop delay", seconds: 1 });
  try {
    for (const more of [{ stream: true, top_k: 3 }, { model: "unknown" }]) {
      await (await app.post(CHAT, chatBody(more))).text();
    }
    return await (await app.get("/metrics")).text() + counted.render([]);
  } finally {
    await app.close();
  }
}

Deno.test("dashboard: every series that it asks for is on the page of metrics, with the labels that it names", async () => {
  const series = seriesOf(await wholePage());
  let count = 0;
  for (const { title, expr, legendFormat } of targets) {
    const names = [...expr.matchAll(/\b(?:laneway|gen_ai|process)_\w+(?=\{)/g)].map(([name]) => name);
    assert(names.length > 0, title);
    const labels = new Set([
      ...[...expr.matchAll(/by \(([^)]*)\)/g)].flatMap(([, list]) => list!.split(", ")),
      ...[...expr.matchAll(/[{,] *(\w+)(?:=|!=|=~|!~)"/g)].map(([, label]) => label!),
      ...[...legendFormat.matchAll(/\{\{(\w+)\}\}/g)].map(([, label]) => label!),
    ]);
    for (const name of names) {
      count++;
      const known = series.get(name);
      assert(known, `${title}: there is no ${name}`);
      assertEquals(
        [...labels].filter((label) => !known!.has(label) && !ADDED.includes(label)),
        [],
        `${title}: ${name}`,
      );
    }
  }
  assert(count > 25, "The queries were not found");
});

Deno.test("dashboard: its variables are there, and no panel lies over another", () => {
  const used = new Set([...readText("deploy/dashboard.json").matchAll(/\$\{?([a-z]+)\b/g)].map(([, name]) => name));
  assertEquals([...used].sort(), templating.list.map(({ name }) => name).sort());
  const places = panels.flatMap(({ gridPos: { x, y, w, h } }) =>
    Array.from({ length: w * h }, (_, at) => `${x + at % w} ${y + Math.floor(at / w)}`)
  );
  assertEquals(new Set(places).size, places.length);
  assert(panels.every(({ gridPos: { x, w } }) => x + w <= 24));
});

const { ignore, why } = needs("promtool");
Deno.test({
  name: `dashboard: Prometheus can read every query, and its configuration${why}`,
  ignore,
  async fn() {
    const rules = targets.map(({ expr }, at) => ({
      record: `query_${at}`,
      expr: expr.replaceAll("$__rate_interval", "1m").replaceAll("$job", ".*"),
    }));
    const path = await Deno.makeTempFile({ suffix: ".yaml" });
    try {
      await Deno.writeTextFile(path, JSON.stringify({ groups: [{ name: "dashboard", rules }] }));
      assert((await printed("promtool", ["check", "rules", path])).includes(`${rules.length} rules found`));
      await printed("promtool", ["check", "config", "deploy/compose/prometheus.yaml"], { cwd: ROOT });
    } finally {
      await Deno.remove(path);
    }
  },
});
