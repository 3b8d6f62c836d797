/**
 * The chart by Helm, its manifests by Kubernetes' own types, Envoy's file by Envoy's and Compose's by Compose's. All of them are
 * programs of Go, whose modules come from its proxy. `LANEWAY_UPDATE_GOLDEN=1` writes the plain manifests anew.
 */
import { assert, assertEquals, assertRejects, assertStringIncludes } from "@std/assert";
import { parseDocuments, readText, readYaml, ROOT } from "../../support/deploy.ts";
import { assertFits, gatewayConfig, ofKind } from "../../support/kubernetes.ts";
import { needs, pathOf, printed } from "../../support/programs.ts";

const HELM = "helm.sh/helm/v3/cmd/helm@v3.19.0";
const CHART = "deploy/helm/laneway";
const ROUTE = ["--set-json", 'route={"enabled":true,"parentRefs":[{"name":"gateway","namespace":"gateways"}]}'];
const folder = new URL("go/", import.meta.url);

/** Why these tests cannot run here, if they cannot. */
async function obstacle(): Promise<string> {
  const { why } = needs("go");
  if (why !== "") return why;
  for (const [args, cwd] of [[["run", HELM, "version"], ROOT], [["build", "./..."], folder]] as const) {
    try {
      await printed("go", args, { cwd });
    } catch (error) {
      const text = (error as Error).message;
      if (!/dial tcp|no such host|i\/o timeout|connection refused|proxyconnect/.test(text)) throw error;
      return " (skipped: Go's modules cannot be reached)";
    }
  }
  return "";
}

const why = await obstacle();

function test(name: string, fn: () => Promise<void>): void {
  Deno.test({ name: `${name}${why}`, ignore: why !== "", fn });
}

function helm(...args: string[]): Promise<string> {
  return printed("go", ["run", HELM, ...args], { cwd: ROOT });
}

function template(...args: string[]): Promise<string> {
  return helm("template", "laneway", CHART, "--kube-version", "1.31", ...args);
}

/** Runs a program of ours with a text. Its output, and whether it was content. */
async function check(program: string, input: string, args: readonly string[] = []): Promise<[boolean, string]> {
  const child = new Deno.Command(pathOf("go")!, {
    args: ["run", `./${program}`, ...args],
    cwd: folder,
    stdin: "piped",
    stdout: "piped",
    stderr: "null",
  }).spawn();
  const writer = child.stdin.getWriter();
  await writer.write(new TextEncoder().encode(input));
  await writer.close();
  const { success, stdout } = await child.output();
  return [success, new TextDecoder().decode(stdout)];
}

async function assertTypes(manifests: string): Promise<void> {
  const [isGood, text] = await check("kubernetes", manifests);
  assert(isGood, text);
  assertEquals(text.trim().split("\n").length, parseDocuments(manifests).length);
}

test("chart: Helm finds nothing wrong with it", async () => {
  assertStringIncludes(await helm("lint", "--strict", CHART), "0 chart(s) failed");
});

/** Values with which the chart is rendered, by what is to be seen of them. */
const VARIANTS: Record<string, string[]> = {
  "as it is": [],
  "with all that it has": ["--set", "fetcher.enabled=true", ...ROUTE],
  "without what can be left out": ["--set", "autoscaling.enabled=false,networkPolicy.enabled=false"],
  "with a fetcher of pages inside": [
    "--set",
    "fetcher.enabled=true",
    "--set-json",
    'fetcher.allow=["http://wiki:8080"]',
  ],
};

for (const [name, args] of Object.entries(VARIANTS)) {
  test(`chart: ${name}, it is what Kubernetes reads, and fits`, async () => {
    const text = await template(...args);
    await assertTypes(text);
    assertFits(parseDocuments(text));
  });
}

test("chart: values of the user's own reach the gateway", async () => {
  const config = {
    limits: { bodyBytes: 31_457_281 },
    upstreams: { vllm: { driver: "chat", baseUrl: "http://vllm:8000/v1" } },
    listen: { port: 1 },
    stop: { drainMs: 1 },
  };
  const text = await template(
    ...["--set-json", `config=${JSON.stringify(config)}`, "--set", "stop.noticeSeconds=20,stop.drainSeconds=900"],
    ...["--set", "autoscaling.enabled=false,replicas=5,existingSecret=mine,resources.limits.memory=4Gi"],
  );
  await assertTypes(text);
  const documents = parseDocuments(text);
  assertFits(documents);
  const { limits, upstreams, replicas, stop, listen, store } = gatewayConfig(documents);
  assertEquals([limits.bodyBytes, replicas, listen.port], [31_457_281, 5, 8000]);
  assertEquals([stop, store.kind], [{ noticeMs: 20_000, drainMs: 900_000 }, "redis"]);
  assert(upstreams.vllm && upstreams.router);
  const { spec } = ofKind(documents, "Deployment").laneway;
  assertEquals([spec.replicas, spec.template.spec.terminationGracePeriodSeconds], [5, 935]);
  assertEquals(spec.template.spec.containers[0].envFrom, [{ secretRef: { name: "mine" } }]);
});

test("chart: a value that it does not know is an error", async () => {
  for (const wrong of ["autoscaling.enable=true", "replica=3", "replicas=0", "route.enabled=maybe"]) {
    await assertRejects(() => template("--set", wrong), Error, wrong.split(/[.=]/)[0]!);
  }
});

/** What Helm says of itself, which is not true of manifests that nobody gives to Helm. */
function plain(text: string, header: string): string {
  const lines = text.split("\n").filter((line) =>
    !/^# Source: |helm\.sh\/chart:|managed-by: Helm|checksum\/config:/.test(line)
  );
  return `${header}\n\n${lines.join("\n").replace("---\n", "")}`;
}

const HEADER = `# The chart of deploy/helm with its default values and the fetcher, for those who use no Helm.
#
#   kubectl create namespace laneway
#   kubectl -n laneway create secret generic laneway --from-literal=LANEWAY_KEY=... --from-literal=REDIS_URL=redis://... \\
#     --from-literal=FETCHER_TOKEN=... --from-literal=HF_TOKEN=...
#   kubectl -n laneway apply -f deploy/kubernetes/laneway.yaml`;
const ROUTE_HEADER = "# A route of the Gateway API to the gateways of laneway.yaml, for streams of any length.";

test("kubernetes: the plain manifests are the chart's, and what Kubernetes reads", async () => {
  const files = {
    "laneway.yaml": plain(await template("--set", "fetcher.enabled=true"), HEADER),
    "httproute.yaml": plain(await template("--show-only", "templates/httproute.yaml", ...ROUTE), ROUTE_HEADER),
  };
  for (const [name, text] of Object.entries(files)) {
    await assertTypes(text);
    const path = `deploy/kubernetes/${name}`;
    if (Deno.env.get("LANEWAY_UPDATE_GOLDEN")) await Deno.writeTextFile(new URL(path, ROOT), text);
    assertEquals(readText(path), text, `${name} is not what the chart gives; write it anew`);
  }
});

test("kubernetes: what is wrong with a manifest is found", async () => {
  const text = await template();
  for (const [right, wrong] of [["readinessProbe:", "readynessProbe:"], ["maxUnavailable: 1", "maxUnavailable: [1]"]]) {
    const [isGood] = await check("kubernetes", text.replace(right!, wrong!));
    assert(!isGood, wrong);
  }
});

test("envoy: the example is what Envoy reads", async () => {
  const example = readYaml("deploy/proxies/envoy.yaml");
  assertEquals(await check("envoy", JSON.stringify(example)), [
    true,
    "listener clients\ncluster gateways\ncluster gateways_websocket\n",
  ]);
  example.static_resources.clusters[0].lb_policy = "LEAST_CONNECTIONS";
  assert(!(await check("envoy", JSON.stringify(example)))[0]);
});

test("compose: the file is what Compose reads, and says what must be set", async () => {
  const path = new URL("deploy/compose.yaml", ROOT).pathname;
  const variables = ["LANEWAY_KEY=a", "FETCHER_TOKEN=b", "GRAFANA_PASSWORD=c", "STORE_PASSWORD=d"];
  assertEquals(await check("compose", "", [path, ...variables]), [
    true,
    "fetcher\ngateway\ngrafana\nprometheus\nstore\n",
  ]);
  for (const name of ["LANEWAY_KEY", "STORE_PASSWORD"]) {
    const [isGood, text] = await check("compose", "", [path, ...variables.filter((one) => !one.startsWith(name))]);
    assert(!isGood);
    assertStringIncludes(text, `${name} is missing a value: Set it in deploy/.env`);
  }
});
