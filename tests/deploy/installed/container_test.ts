/** The image, built without a network from the file that people build it from, and run as a container. */
import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { buildImage, type Image, inContainer, type RunOptions } from "../../support/container.ts";
import { withSite } from "../../support/fetcher.ts";
import { withFolder } from "../../support/process.ts";
import { needs } from "../../support/programs.ts";
import { freePort } from "../../support/redis_server.ts";
import { within } from "../../support/wait.ts";

const MB = 1_000_000;
const PROGRAMS = ["buildah", "umoci", "bwrap", "setpriv", "ldd"];
const KEY = "a-key-for-this-test";
const { ignore, why } = needs(...PROGRAMS);
const isRoot = Deno.build.os === "linux" && Deno.uid() === 0;
const reason = ignore ? why : isRoot ? "" : " (skipped: only root can build here)";

interface Running {
  /** Resolves to all of stderr, once there is `text` in it. */
  said(text: string): Promise<string>;
  /** The exit code of the container's own process after SIGTERM. */
  terminate(): Promise<number>;
}

async function withContainer(
  image: Image,
  args: readonly string[],
  options: RunOptions,
  use: (running: Running) => Promise<void>,
): Promise<void> {
  const child = inContainer(image, [...image.process.args, ...args], options).spawn();
  const log = child.stdout.text();
  let [text, isOver] = ["", false];
  let more = Promise.withResolvers<void>();
  const reading = (async () => {
    for await (const piece of child.stderr.pipeThrough(new TextDecoderStream())) {
      text += piece;
      more.resolve();
      more = Promise.withResolvers();
    }
    isOver = true;
    more.resolve();
  })();
  try {
    await use({
      async said(wanted) {
        while (!text.includes(wanted)) {
          if (isOver) throw new Error(`It never said "${wanted}": ${text}`);
          await within(more.promise);
        }
        return text;
      },
      async terminate() {
        Deno.kill(await firstProcess(child.pid), "SIGTERM");
        const { code } = await within(child.status);
        await Promise.all([reading, log]);
        return code;
      },
    });
  } finally {
    try {
      child.kill("SIGKILL");
    } catch { /* it has ended */ }
    await Promise.all([child.status, reading, log]);
  }
}

/** The container's first process, which its runtime would signal: the one child of what made the container. */
async function firstProcess(pid: number): Promise<number> {
  return Number((await Deno.readTextFile(`/proc/${pid}/task/${pid}/children`)).trim().split(" ")[0]);
}

function run(image: Image, args: readonly string[], options: RunOptions): Promise<Deno.CommandOutput> {
  return inContainer(image, [...image.process.args, ...args], options).output();
}

/** What a new volume is: a folder of the same owner as the image's. */
async function storeIn(folder: string, { rootfs }: Image): Promise<Record<string, string>> {
  const { uid, gid } = await Deno.stat(`${rootfs}/var/lib/laneway`);
  await Deno.mkdir(`${folder}/store`);
  await Deno.chown(`${folder}/store`, uid, gid);
  await Deno.chmod(folder, 0o755);
  return { "/var/lib/laneway": `${folder}/store` };
}

function respond(url: string, fields: object): Promise<Response> {
  return fetch(`${url}/oss/v1/responses`, {
    method: "POST",
    headers: { "content-type": "application/json", authorization: `Bearer ${KEY}` },
    body: JSON.stringify({ model: "sandbox", input: "Hello", ...fields }),
  });
}

Deno.test({
  name: `container: the image${reason}`,
  ignore: ignore || !isRoot,
  fn: (t) =>
    withFolder(async (folder) => {
      const image = await buildImage(folder);

      await t.step("is small, has no shell, and is for a user without rights", () => {
        assert(image.bytes < 120 * MB, `${image.bytes} bytes`);
        assertEquals([...Deno.readDirSync(`${image.rootfs}/bin`)].map(({ name }) => name), ["deno"]);
        const { uid, gid } = image.process.user;
        assertEquals([uid, gid], [65532, 65532]);
      });

      await t.step("has every package, with all that it imports", async () => {
        for (const folder of ["/app", "/app/src/fetcher"]) {
          const { imports } = JSON.parse(await Deno.readTextFile(`${image.rootfs}${folder}/deno.json`));
          const text = Object.keys(imports).map((name) => `await import(${JSON.stringify(name)});`).join("\n");
          const args = ["/bin/deno", "eval", "--cached-only", "--config", `${folder}/deno.json`, text];
          const { code, stderr } = await inContainer(image, args, {}).output();
          assertEquals([code, new TextDecoder().decode(stderr)], [0, ""]);
        }
      });

      await t.step("serves, keeps conversations in its volume, is found ready, and ends with 0 at SIGTERM", () =>
        withFolder(async (folder) => {
          const port = String(freePort());
          const options = { env: { LANEWAY_KEY: KEY }, mounts: await storeIn(folder, image) };
          const url = `http://127.0.0.1:${port}`;
          assertEquals((await run(image, ["--port", port, "health"], options)).code, 1);
          let first = "";
          await withContainer(image, ["--port", port], options, async ({ said, terminate }) => {
            await said("Keys: one is required (default)");
            assertEquals((await run(image, ["--port", port, "health"], options)).code, 0);
            // What people type in a container that runs.
            const typed = ["/bin/deno", "task", "start", "--port", port, "health"];
            assertEquals((await inContainer(image, typed, options).output()).code, 0);
            const response = await respond(url, {});
            assertEquals(response.status, 200);
            first = (await response.json()).id;
            assertEquals(await terminate(), 0);
          });
          // Another container with the same volume goes on.
          await withContainer(image, ["--port", port], options, async ({ said, terminate }) => {
            await said("Keys: ");
            const response = await respond(url, { previous_response_id: first });
            assertEquals([response.status, (await response.json()).previous_response_id], [200, first]);
            assertEquals(await terminate(), 0);
          });
        }));

      await t.step("takes a configuration that a cluster mounts, and changes of it", () =>
        withFolder(async (folder) => {
          const port = freePort();
          const write = async (place: string, lanes: object) => {
            await Deno.mkdir(`${folder}/${place}`);
            const config = {
              listen: { hostname: "0.0.0.0", port },
              keys: [{ name: "a", secret: { env: "LANEWAY_KEY" } }],
            };
            const upstreams = { sandbox: { driver: "sandbox" } };
            const text = JSON.stringify({ ...config, store: { kind: "memory" }, upstreams, lanes });
            await Deno.writeTextFile(`${folder}/${place}/gateway.json`, text);
          };
          const lane = { models: { sandbox: { task: "chat", targets: [{ upstream: "sandbox", model: "sandbox" }] } } };
          // As Kubernetes does it: the file is a link into a folder that is a link, which is replaced.
          await write("..1", { oss: lane });
          await Deno.symlink("..1", `${folder}/..data`);
          await Deno.symlink("..data/gateway.json", `${folder}/gateway.json`);
          await Deno.chmod(folder, 0o755);
          const options = { env: { LANEWAY_KEY: KEY }, mounts: { "/etc/laneway": folder } };
          await withContainer(image, [], options, async ({ said, terminate }) => {
            await said("Keys: ");
            await write("..2", { oss: lane, second: lane });
            await Deno.symlink("..2", `${folder}/..data_tmp`);
            await Deno.rename(`${folder}/..data_tmp`, `${folder}/..data`);
            await said("Serving with the new configuration");
            assertEquals(await terminate(), 0);
          });
        }));

      await t.step("is the fetcher, too", () =>
        withSite(() =>
          new Response("<p>A page of words", { headers: { "content-type": "text/html" } }), async (site) => {
          await withFolder(async (folder) => {
            const port = freePort();
            const webFetch = {
              url: `http://pages:${port}`,
              secret: { env: "FETCHER_TOKEN" },
              allow: [site.origin],
            };
            await Deno.writeTextFile(`${folder}/gateway.json`, JSON.stringify({ hostedTools: { webFetch } }));
            await Deno.chmod(folder, 0o755);
            const options = { env: { FETCHER_TOKEN: "a token of the fetcher" }, mounts: { "/etc/laneway": folder } };
            await withContainer(image, ["fetcher", "--hostname", "0.0.0.0"], options, async ({ said, terminate }) => {
              await said("Fetcher: ");
              assertEquals((await run(image, ["health", "fetcher"], options)).code, 0);
              const response = await fetch(`http://127.0.0.1:${port}/fetch`, {
                method: "POST",
                headers: { authorization: "Bearer a token of the fetcher" },
                body: JSON.stringify({ url: `${site.origin}/`, maxCharacters: 1_000 }),
              });
              assertStringIncludes(await response.text(), "A page of words");
              assertEquals(await terminate(), 0);
            });
          });
        }));
    }),
});
