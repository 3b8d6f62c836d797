/** Serves as the gateway does on Node, by the module in its argument. Prints what it notices, one JSON text per line. */
import { subscribe } from "node:diagnostics_channel";

const { serve } = await import(process.argv[2]);

/** The requests that Node has read, those that wait for their turn, too. */
let arrived = 0;
subscribe("http.server.request.start", () => arrived++);

const say = (event) => process.stdout.write(`${JSON.stringify(event)}\n`);
const piece = new Uint8Array(65_536).fill(90);

/** A body of `count` pieces, as fast as they are read. */
function pieces(count, name) {
  let given = 0;
  return new ReadableStream({
    pull(controller) {
      if (given === count) return controller.close();
      given++;
      if (given % 10 === 0) say({ given, name });
      controller.enqueue(piece);
    },
    cancel: () => say({ cancelled: name }),
  }, { highWaterMark: 0 });
}

const ANSWERS = {
  "/arrived": () => new Response(String(arrived)),
  "/open": () =>
    new Response(String(process.getActiveResourcesInfo().filter((name) => name === "TCPSocketWrap").length)),
  "/echo": async (request) => {
    const text = await request.text().catch((error) => say({ broken: String(error) }));
    return Response.json({ text: String(text) });
  },
  "/ignore": () => new Response("ignored"),
  "/refuse": () => new Response("too large", { status: 413 }),
  "/silent": (request) =>
    new Promise((resolve) =>
      request.signal.addEventListener("abort", () => {
        say({ left: "/silent" });
        resolve(new Response("late"));
      })
    ),
  "/wait": (request) => {
    request.signal.addEventListener("abort", () => say({ left: "/wait" }));
    return new Response(
      new ReadableStream({
        start: (controller) => controller.enqueue(new TextEncoder().encode("begun")),
        cancel: () => say({ cancelled: "/wait" }),
      }),
    );
  },
  "/large": () => new Response(pieces(1_000, "/large")),
  "/few": () => new Response(pieces(20, "/few")),
  "/break": () =>
    new Response(
      new ReadableStream({
        pull(controller) {
          controller.enqueue(new TextEncoder().encode("half"));
          controller.error(new Error("broken"));
        },
      }),
    ),
  "/throw": () => {
    throw new Error("thrown");
  },
};

await serve({
  hostname: "127.0.0.1",
  port: 0,
  async handler(request) {
    const { pathname: path } = new URL(request.url);
    say({ method: request.method, path });
    return await (ANSWERS[path] ?? (() => new Response("nothing", { status: 404 })))(request);
  },
  onListen: ({ port }) => say({ port }),
  onError: (thrown) => {
    say({ thrown: String(thrown) });
    return new Response("failed", { status: 500 });
  },
  areWasted: () => false,
  onRenew() {},
  say: (text) => say({ text }),
});
process.stdin.resume().once("end", () => process.exit(0));
process.on("uncaughtException", (error) => say({ uncaught: String(error) }));
process.on("unhandledRejection", (error) => say({ uncaught: String(error) }));
