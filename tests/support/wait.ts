/** A time that is only exceeded by promises that never settle, even on a busy machine. */
const PATIENCE_MS = 60_000;

/** Fails where the promise never settles: a test that hangs tells nothing. */
export async function within<T>(promise: Promise<T>, ms = PATIENCE_MS): Promise<T> {
  const late = Promise.withResolvers<never>();
  const timer = setTimeout(() => late.reject(new Error(`It took longer than ${ms} ms`)), ms);
  try {
    return await Promise.race([promise, late.promise]);
  } finally {
    clearTimeout(timer);
  }
}

/** Waits until `condition` holds. Fails if it never does. */
export async function until(condition: () => boolean | Promise<boolean>): Promise<void> {
  const deadline = performance.now() + PATIENCE_MS;
  while (!await condition()) {
    if (performance.now() > deadline) throw new Error("It did not come to pass");
    await delay(5);
  }
}

export function delay(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}

/** In each turn the engine looks for what came over connections, which a busy machine does not do in each millisecond. */
export async function turns(count: number): Promise<void> {
  for (let turn = 0; turn < count; turn++) await delay(1);
}
