/** Conditions that all manifests of the gateway must meet, written by hand or generated. */
import { assert, assertEquals } from "@std/assert";
import { checkedConfig, containerSteps, type Data, variablesIn } from "./deploy.ts";

/** Everything that a configuration may name here. */
export const SECRET = {
  LANEWAY_KEY: "a-key-of-this-test",
  REDIS_URL: "redis://store:6379/0",
  FETCHER_TOKEN: "a-token-of-this-test",
  HF_TOKEN: "a-token-of-the-hub",
};

/** The documents of one kind, by their names. */
export function ofKind(documents: readonly Data[], kind: string): Record<string, Data> {
  return Object.fromEntries(documents.filter((one) => one.kind === kind).map((one) => [one.metadata.name, one]));
}

function isSelected(labels: Record<string, string>, selector: Record<string, string>): boolean {
  return Object.entries(selector).every(([name, value]) => labels[name] === value);
}

export function gatewayConfig(documents: readonly Data[]) {
  return checkedConfig(ofKind(documents, "ConfigMap").laneway.data["gateway.json"], SECRET);
}

/** The paths that a pod's probes ask, and the ports, resolved. */
function probesOf(container: Data): string[] {
  const ports = Object.fromEntries(container.ports.map(({ name, containerPort }: Data) => [name, containerPort]));
  return ["startupProbe", "livenessProbe", "readinessProbe"].map((probe) => {
    const { path, port } = container[probe].httpGet;
    return `${ports[port]}${path}`;
  });
}

/** Throws where manifests do not fit together, the configuration, the code or the image. */
export function assertFits(documents: readonly Data[]): void {
  const deployments = ofKind(documents, "Deployment");
  const config = gatewayConfig(documents);
  assertGateway(deployments.laneway, config);
  const pods = Object.values(deployments).map(({ spec }) => spec.template.metadata.labels);
  for (const { spec } of Object.values(deployments)) assertPod(spec);
  const services = ofKind(documents, "Service");
  for (const { spec } of Object.values(services)) {
    assertEquals(pods.filter((labels) => isSelected(labels, spec.selector)).length, 1);
  }
  for (const kind of ["PodDisruptionBudget", "NetworkPolicy"]) {
    for (const { metadata, spec } of Object.values(ofKind(documents, kind))) {
      const { matchLabels } = spec.selector ?? spec.podSelector;
      assert(isSelected(deployments[metadata.name].spec.template.metadata.labels, matchLabels), metadata.name);
      assertEquals(pods.filter((labels) => isSelected(labels, matchLabels)).length, 1);
    }
  }
  for (const { spec } of Object.values(ofKind(documents, "HorizontalPodAutoscaler"))) {
    assertEquals([spec.scaleTargetRef.name, deployments.laneway.spec.replicas], ["laneway", undefined]);
    assertEquals(config.replicas, spec.minReplicas);
  }
  assertFetcher(documents, config.hostedTools.webFetch?.url);
  for (const { spec } of Object.values(ofKind(documents, "HTTPRoute"))) {
    const ports: number[] = services.laneway.spec.ports.map(({ port }: Data) => port);
    for (const { timeouts, backendRefs: [{ name, port }] } of spec.rules) {
      assertEquals([timeouts, name, ports.includes(port)], [{ request: "0s", backendRequest: "0s" }, "laneway", true]);
    }
  }
}

function assertGateway({ spec }: Data, config: ReturnType<typeof checkedConfig>): void {
  const { containers: [container], terminationGracePeriodSeconds } = spec.template.spec;
  const { listen, stop, observe } = config;
  assertEquals(listen.hostname, "0.0.0.0");
  assertEquals(container.ports.map(({ containerPort }: Data) => containerPort), [
    listen.port,
    Number(Object(observe.metrics).listen.split(":")[1]),
  ]);
  // `/readyz` is the only one that may turn: no probe that ends the process may fail while it stops.
  assertEquals(probesOf(container), [`${listen.port}/healthz`, `${listen.port}/healthz`, `${listen.port}/readyz`]);
  assert(terminationGracePeriodSeconds * 1_000 > stop.noticeMs + stop.drainMs);
  const { readinessProbe: { periodSeconds, failureThreshold } } = container;
  assert(stop.noticeMs > periodSeconds * failureThreshold * 1_000, "Balancers are told for too short a time");
  const [memory] = container.env.filter(({ name }: Data) => name === "LANEWAY_MEMORY_LIMIT");
  assertEquals(memory.valueFrom.resourceFieldRef, { containerName: container.name, resource: "limits.memory" });
  assert(container.resources.limits.memory);
  const { annotations } = spec.template.metadata;
  assertEquals(annotations["prometheus.io/port"], String(container.ports[1].containerPort));
}

/** Checks that a pod runs the image as the image describes itself. */
function assertPod({ selector, template }: Data): void {
  assert(isSelected(template.metadata.labels, selector.matchLabels));
  const { containers: [container], securityContext, automountServiceAccountToken, volumes } = template.spec;
  const steps = containerSteps();
  const [, user] = /^USER (\d+):/.exec(steps.find((step) => step.startsWith("USER"))!)!;
  assertEquals([securityContext.runAsUser, securityContext.runAsNonRoot], [Number(user), true]);
  assertEquals([automountServiceAccountToken, container.securityContext], [false, {
    allowPrivilegeEscalation: false,
    readOnlyRootFilesystem: true,
    capabilities: { drop: ["ALL"] },
  }]);
  const mounts: string[] = container.volumeMounts.map(({ mountPath }: Data) => mountPath);
  assert(steps.some((step) => step.includes(`LANEWAY_CONFIG=${mounts[0]}/gateway.json`)));
  if (mounts[1] !== undefined) assert(steps.includes(`VOLUME ${mounts[1]}`));
  assertEquals(volumes.map(({ name }: Data) => name), container.volumeMounts.map(({ name }: Data) => name));
}

/** It is where the gateway looks for it, knows no other secret, and is asked by gateways alone. */
function assertFetcher(documents: readonly Data[], url: string | undefined): void {
  const { "laneway-fetcher": fetcher } = ofKind(documents, "Deployment");
  if (!fetcher) return assertEquals(url, undefined);
  const { hostname, port } = new URL(url!);
  const service = ofKind(documents, "Service")[hostname];
  const [container] = fetcher.spec.template.spec.containers;
  assertEquals([String(service.spec.ports[0].port), String(container.ports[0].containerPort)], [port, port]);
  assertEquals([...new Set(probesOf(container))], [`${port}/healthz`]);
  assertEquals([container.envFrom, container.env.map(({ name }: Data) => name)], [undefined, ["FETCHER_TOKEN"]]);
  const policy = ofKind(documents, "NetworkPolicy")[hostname];
  if (!policy) return;
  const [{ from: [{ podSelector }] }] = policy.spec.ingress;
  assertEquals(podSelector.matchLabels["app.kubernetes.io/component"], "gateway");
  const written = ofKind(documents, "ConfigMap").laneway.data["gateway.json"];
  assert(variablesIn(JSON.parse(written)).includes("FETCHER_TOKEN"));
}
