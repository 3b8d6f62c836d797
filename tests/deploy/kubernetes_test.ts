/** What can be seen of the manifests and the chart without Kubernetes' own types and Helm; `deno task test:deploy` has both. */
import { Ajv2020 } from "ajv/2020";
import { assert, assertEquals } from "@std/assert";
import manifest from "../../deno.json" with { type: "json" };
import { createMemoryStore } from "../../src/state/memory_store.ts";
import { newApp } from "../support/app.ts";
import { type Data, parseDocuments, readText, readYaml } from "../support/deploy.ts";
import { assertFits, ofKind, SECRET } from "../support/kubernetes.ts";

const manifests = ["laneway.yaml", "httproute.yaml"].flatMap((name) =>
  parseDocuments(readText(`deploy/kubernetes/${name}`))
);

Deno.test("kubernetes: the manifests fit together, the configuration, the code and the image", () => {
  const kinds = ["ConfigMap", "ServiceAccount", "Deployment", "Service", "PodDisruptionBudget", "NetworkPolicy"];
  for (const kind of [...kinds, "HorizontalPodAutoscaler", "HTTPRoute"]) {
    assert(Object.keys(ofKind(manifests, kind)).length > 0, kind);
  }
  assertFits(manifests);
  const { laneway } = ofKind(manifests, "ServiceAccount");
  assertEquals(laneway.automountServiceAccountToken, false);
});

Deno.test("kubernetes: replicas grow by what a gateway shows in its metrics", async () => {
  const { laneway: { spec } } = ofKind(manifests, "HorizontalPodAutoscaler");
  const app = newApp({});
  try {
    const page = await (await app.get("/metrics")).text();
    const [{ pods: { metric } }] = spec.metrics;
    assert(page.includes(`\n${metric.name} 0\n`), metric.name);
  } finally {
    await app.close();
  }
});

Deno.test("kubernetes: no probe asks the store", async () => {
  const asked: PropertyKey[] = [];
  const store = new Proxy(createMemoryStore({ now: () => 0, limitBytes: 1_000 }), {
    get(target, name) {
      asked.push(name);
      return Reflect.get(target, name);
    },
  });
  const app = newApp({ store });
  try {
    asked.length = 0;
    for (const path of ["/healthz", "/readyz"]) assertEquals((await app.get(path)).status, 200);
    assertEquals(asked, []);
  } finally {
    await app.close();
  }
});

Deno.test("kubernetes: the chart has the version of the program, and the secret that it waits for is said", () => {
  const { version, appVersion } = readYaml("deploy/helm/laneway/Chart.yaml");
  assertEquals([version, appVersion], [manifest.version, manifest.version]);
  const values = readYaml("deploy/helm/laneway/values.yaml");
  const schema = JSON.parse(readText("deploy/helm/laneway/values.schema.json"));
  const validate = new Ajv2020({ strict: false }).compile<Data>({ ...schema, $schema: undefined });
  assert(validate(values), JSON.stringify(validate.errors));
  assertEquals(Object.keys(schema.properties).filter((name) => name !== "global").sort(), Object.keys(values).sort());
  const header = readText("deploy/kubernetes/laneway.yaml");
  for (const name of Object.keys(SECRET)) assert(header.includes(`--from-literal=${name}=`), name);
  assert(header.includes(`create secret generic ${values.existingSecret} `));
  assertEquals([values.stop.noticeSeconds, values.stop.drainSeconds], [10, 600]);
});
