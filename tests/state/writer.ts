/**
 * A process that writes to a store until it is killed or has written as often as it is told: `writer.ts <kind>
 * <file> <name> [<times>]`. It prints the number of each write once it is done.
 */
import { FILE_STORES } from "./file_stores.ts";
import { LATER, writtenValue } from "./written_value.ts";
import { put } from "./put.ts";

const [kind, file, name, times = "Infinity"] = Deno.args as [string, string, string, string?];
const store = FILE_STORES[kind]!.open(file, { now: () => Date.now() });
for (let number = 0; number < Number(times); number++) {
  const value = writtenValue(name, number);
  await put(store, [name, String(number)], value, LATER);
  if (value.fill.length < 500_000) await store.update(["shared"], () => value);
  Deno.stdout.writeSync(new TextEncoder().encode(`${number}\n`));
}
store.close();
