/** A process that stands in for a thread: it runs the module that its argument names. It ends with the process that started it. */
const [, , module] = process.argv;

process.once("disconnect", () => process.exit());

Object.assign(globalThis, {
  self: {
    postMessage: (data: unknown) => void process.send!(data),
    // Messages wait for the first listener.
    set onmessage(run: (event: { data: unknown }) => void) {
      process.on("message", (data) => run({ data }));
    },
  },
});

await import(module!);
