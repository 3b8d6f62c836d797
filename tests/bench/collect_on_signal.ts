/** Preloaded into the servers whose memory is measured (`--v8-flags=--expose-gc`): SIGUSR2 makes them collect their garbage. */
const { gc } = globalThis as { gc?: () => void };

Deno.addSignalListener("SIGUSR2", () => {
  // What the first collection finalizes lets go of more.
  gc?.();
  setTimeout(() => gc?.(), 50);
});
