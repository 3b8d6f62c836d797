/** What can be seen of the image without building it. `deno task test:deploy` builds it, too. */
import { assert, assertEquals } from "@std/assert";
import { ENGINE } from "../../src/config/permissions.ts";
import manifest from "../../deno.json" with { type: "json" };
import { checkedConfig, commandOf, containerSteps, readText, ROOT } from "../support/deploy.ts";

const steps = containerSteps();
const last = steps.slice(steps.lastIndexOf("FROM scratch"));

Deno.test("container: it is built upon the Deno that the tests run with", () => {
  const [, version] = /^ARG DENO_IMAGE=\S+:([\d.]+)$/.exec(steps[0]!)!;
  assert(readText(".ci/run").includes(`deno@${version}`), version);
});

Deno.test("container: what runs has no shell, no rights and no writable place but its volume", () => {
  const words = last.map((step) => step.split(" ")[0]);
  assertEquals(words.filter((word) => word === "RUN" || word === "ADD"), []);
  assert(last.includes("USER 65532:65532"));
  assert(last.includes("VOLUME /var/lib/laneway"));
});

Deno.test("container: it starts what the task start does, and its health check is the same with a command", () => {
  const entry = commandOf(last.find((step) => step.startsWith("ENTRYPOINT")));
  // The engine options are for compiled code that is kept, for which the image has no place. It starts no other programs for a page.
  assertEquals(
    entry.map((word) => word.replace(/^\/(bin|app)\//, "")).join(" "),
    manifest.tasks.laneway.replace(/^(\w+=\S+ )+/, "").replace(`${ENGINE} `, "").replace(
      "--allow-net=127.0.0.1:0 ",
      "",
    ),
  );
  const health = commandOf(last.find((step) => step.startsWith("HEALTHCHECK")));
  assertEquals(health, [...entry, "health"]);
});

Deno.test("container: what it copies is there, and is let through to the builder", () => {
  const ignored = readText(".dockerignore").split("\n");
  const sources = steps.filter((step) => step.startsWith("COPY ") && !step.includes("--from"))
    .flatMap((step) => step.split(" ").slice(1, -1));
  assert(sources.length > 5);
  for (const source of sources) {
    Deno.statSync(new URL(source, ROOT));
    assert(ignored.some((line) => line.startsWith("!") && `${source}/`.startsWith(`${line.slice(1)}/`)), source);
  }
});

Deno.test("container: its own configuration serves others, who need a key, on the port that it names", () => {
  const config = checkedConfig(readText("deploy/container/gateway.json"), { LANEWAY_KEY: "a-key-of-this-test" });
  assertEquals([config.listen.hostname, last.includes(`EXPOSE ${config.listen.port}`)], ["0.0.0.0", true]);
  assertEquals(config.keys.map(({ secret }) => secret.env), ["LANEWAY_KEY"]);
  assert(Object.keys(config.lanes).length > 0);
});
