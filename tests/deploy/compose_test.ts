/** The services of `deploy/compose.yaml` fit together, and the file is one by the specification's own schema. */
import { Ajv2020 } from "ajv/2020";
import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import {
  checkedConfig,
  commandOf,
  containerSteps,
  type Data,
  readText,
  readYaml,
  ROOT,
  variablesIn,
} from "../support/deploy.ts";
import { withFolder } from "../support/process.ts";
import { isRedisMissing, startRedis } from "../support/redis_server.ts";

const compose = readYaml("deploy/compose.yaml");
const services: Record<string, Data> = compose.services;
const { gateway, fetcher, store, prometheus, grafana } = services;
const VARIABLES = {
  LANEWAY_KEY: "a-key-of-this-test",
  FETCHER_TOKEN: "a-token-of-this-test",
  REDIS_URL: "redis://:a-password-of-this-test@store:6379/0",
};
/** Compose puts the variable here, and starts nothing where it is empty or not set. */
const STORE_PASSWORD = "${STORE_PASSWORD:?Set it in deploy/.env}";
const config = checkedConfig(readText("deploy/compose/gateway.json"), VARIABLES);

/** Whether two services can reach each other. */
function meet(one: Data, other: Data): boolean {
  return one.networks.some((network: string) => other.networks.includes(network));
}

/** What a service sees at a path: the file of this repository. */
function mounted({ volumes }: Data, path: string): string | undefined {
  const volume = volumes.find((volume: string) => volume.split(":")[1] === path);
  return volume?.split(":")[0].replace(/^\.\//, "deploy/");
}

Deno.test("compose: the file is one by the schema of the specification", () => {
  const schema = JSON.parse(readText("tests/deploy/schemas/compose-spec.json"));
  const validate = new Ajv2020({ strict: false, validateFormats: false }).compile<Data>(schema);
  assert(validate(compose), JSON.stringify(validate.errors));
  const broken = structuredClone(compose);
  broken.services.gateway.readonly = true;
  assert(!validate(broken), "The schema takes anything");
});

Deno.test("compose: each file that a service is given is there", () => {
  const paths = Object.values(services).flatMap(({ volumes = [] }) => volumes).map((one: string) => one.split(":")[0]!)
    .filter((path) => path.startsWith("."));
  assert(paths.length > 4);
  for (const path of paths) Deno.statSync(new URL(`deploy/${path}`, ROOT));
  Deno.statSync(new URL(gateway.build.dockerfile, ROOT));
});

Deno.test("compose: the gateway has the variables that its configuration names, listens where it is asked, and is asked as its image says", () => {
  const written = JSON.parse(readText(mounted(gateway, "/etc/laneway/gateway.json")!));
  assertEquals(variablesIn(written).filter((name) => !Object.hasOwn(gateway.environment, name)), []);
  assert(gateway.ports.every((port: string) => port.endsWith(`:${config.listen.port}`)));
  const health = commandOf(containerSteps().find((step) => step.startsWith("HEALTHCHECK")));
  assertEquals(gateway.healthcheck.test, ["CMD", ...health]);
  assertEquals(fetcher.healthcheck.test, ["CMD", ...health, "fetcher"]);
  const patience = config.stop.noticeMs + config.stop.drainMs;
  assert(parseInt(gateway.stop_grace_period) * 1000 > patience);
});

Deno.test("compose: services find each other, and the fetcher, which opens strangers' pages, finds no store", () => {
  const { hostname, port } = new URL(config.hostedTools.webFetch!.url!);
  assertEquals([hostname, services[hostname], port], ["fetcher", fetcher, "8100"]);
  assertEquals(gateway.environment.REDIS_URL, `redis://:${STORE_PASSWORD}@store:6379/0`);
  assert(meet(gateway, fetcher) && meet(gateway, store) && meet(gateway, prometheus) && meet(prometheus, grafana));
  assert(!meet(fetcher, store) && !meet(fetcher, prometheus));
  assertEquals(Object.keys(fetcher.environment), ["FETCHER_TOKEN"]);
  for (const network of ["pages", "store", "metrics"]) assert(compose.networks[network].internal);
});

Deno.test("compose: Prometheus asks where the gateway serves metrics, and Grafana asks Prometheus", () => {
  const { scrape_configs } = readYaml(mounted(prometheus, "/etc/prometheus/prometheus.yaml")!);
  const [{ names, port }] = scrape_configs[0].dns_sd_configs;
  assertEquals([names, `0.0.0.0:${port}`], [["gateway"], Object(config.observe.metrics).listen]);
  const [source] = readYaml(mounted(grafana, "/etc/grafana/provisioning/datasources/laneway.yaml")!).datasources;
  assertEquals(source.url, "http://prometheus:9090");
  const [provider] = readYaml(mounted(grafana, "/etc/grafana/provisioning/dashboards/laneway.yaml")!).providers;
  assertEquals(mounted(grafana, `${provider.options.path}/dashboard.json`), "deploy/dashboard.json");
});

Deno.test("compose: nobody can write but to a volume, or gain rights; what must be set is in the example", () => {
  for (const [name, { read_only, cap_drop, security_opt }] of Object.entries(services)) {
    assertEquals([read_only, cap_drop, security_opt], [true, ["ALL"], ["no-new-privileges:true"]], name);
  }
  const needed = new Set([...readText("deploy/compose.yaml").matchAll(/\$\{(\w+):\?/g)].map(([, name]) => name));
  const given = [...readText("deploy/compose/example.env").matchAll(/^(\w+)=$/gm)].map(([, name]) => name);
  assertEquals([...needed].filter((name) => !given.includes(name)), []);
});

Deno.test({
  name: "compose: the store takes nobody without its password, keeps turns on the disk and forgets none early",
  ignore: isRedisMissing,
  fn: () =>
    withFolder(async (folder) => {
      const [, ...command] = store.command;
      assertEquals(command.splice(command.indexOf("--requirepass")), ["--requirepass", STORE_PASSWORD]);
      assertEquals(store.environment, { STORE_PASSWORD });
      assertStringIncludes(store.healthcheck.test[1], '-a "$$STORE_PASSWORD"');
      const server = await startRedis([...command, "--dir", folder]);
      try {
        for (
          const [name, value] of [["appendonly", "yes"], ["maxmemory-policy", "noeviction"]]
        ) {
          assertEquals((await server.ask("CONFIG", "GET", name!)).split("\r\n").at(-1), value, name);
        }
      } finally {
        await server.stop();
      }
    }),
});
