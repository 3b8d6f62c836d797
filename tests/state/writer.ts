/**
 * A process that writes to a store until it is killed or has written as often as it is told: `writer.ts <file> <name>
 * [<times>]`. It prints the number of each write once it is done.
 */
import { openKvFile } from "../../src/state/kv_file.ts";
import { createKvStore } from "../../src/state/kv_store.ts";
import { LATER, writtenValue } from "./written_value.ts";
import { put } from "./put.ts";

const [file, name, times = "Infinity"] = Deno.args as [string, string, string?];
const store = createKvStore({ open: () => openKvFile(file), now: () => Date.now() });
for (let number = 0; number < Number(times); number++) {
  const value = writtenValue(name, number);
  await put(store, [name, String(number)], value, LATER);
  if (value.fill.length < 500_000) await store.update(["shared"], () => value);
  Deno.stdout.writeSync(new TextEncoder().encode(`${number}\n`));
}
store.close();
