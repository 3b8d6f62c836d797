// deno-lint-ignore-file no-console -- an experiment prints its numbers
/**
 * Claim: two gateways on two cores answer as many times what one does as two bare servers: nothing that they share holds them up.
 * The CPU of their main threads counts, and not that of the load. What is left to 2 is the machine's. `deno run -A` prints it
 * (Linux).
 */
const ROOT = new URL("../../../", import.meta.url);
const BARE =
  `Deno.serve({ port: 0, onListen: ({ port }) => console.error("serves http://127.0.0.1:" + port) }, async (request) =>
  Response.json(await request.json()))`;
const BODY = JSON.stringify({ model: "sandbox", messages: [{ role: "user", content: "Hello" }] });
const PROGRAMS = {
  bare: ["eval", BARE],
  gateway: ["run", "-A", "--cached-only", "src/main.ts", "--config", "gateway.default.json", "--port", "0"],
};

async function begin(args: string[]) {
  const child = new Deno.Command(Deno.execPath(), { args, cwd: ROOT, stdout: "null", stderr: "piped" }).spawn();
  for await (const text of child.stderr.pipeThrough(new TextDecoderStream()).values({ preventCancel: true })) {
    const url = text.match(/serves (\S+)/)?.[1];
    if (url) return { child, url: `${url}/oss/v1/chat/completions` };
  }
  throw new Error("It did not start");
}

/** The CPU that a request took, in milliseconds. */
async function cost({ child, url }: Awaited<ReturnType<typeof begin>>, count: number): Promise<number> {
  const cpu = () => Number(Deno.readTextFileSync(`/proc/${child.pid}/schedstat`).split(" ")[0]) / 1e6;
  const before = cpu();
  const headers = { "content-type": "application/json" };
  const client = async () => {
    for (let i = 0; i < count / 8; i++) await (await fetch(url, { method: "POST", headers, body: BODY })).text();
  };
  await Promise.all(Array.from({ length: 8 }, client));
  return (cpu() - before) / count;
}

const perSecond = (costs: number[]) => costs.reduce((sum, ms) => sum + 1_000 / ms, 0);
for (const [name, args] of Object.entries(PROGRAMS)) {
  const pair = [await begin(args), await begin(args)];
  for (const one of pair) await cost(one, 2_000);
  const ratios: number[] = [];
  for (let round = 0; round < 15; round++) {
    const alone = [await cost(pair[0]!, 800), await cost(pair[1]!, 800)];
    const together = await Promise.all(pair.map((one) => cost(one, 800)));
    ratios.push(perSecond(together) / (perSecond(alone) / 2));
  }
  console.log(`${name}: two answer ${ratios.sort((a, b) => a - b)[7]!.toFixed(2)} times what one does (median of 15)`);
  for (const { child } of pair) child.kill("SIGKILL");
}
Deno.exit(0);
