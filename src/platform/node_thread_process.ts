/**
 * Defines `self` in a process that stands in for a thread. It is loaded before the module. The process ends with the one that
 * started it.
 */
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
