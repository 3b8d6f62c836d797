/**
 * Runs in a gateway before its program, and takes chance and the calendar from it: the clock stands, random bytes and numbers
 * are constant, and a new id says which request it was made for and how many were made before. So two gateways that get the
 * same request answer it with the same ids, whatever else they serve at the time.
 */
import { AsyncLocalStorage } from "node:async_hooks";
import process from "node:process";

/** The header that names a request. It means nothing to the gateway. */
const NAMED = "x-compare-request";

interface Named {
  name: string;
  ids: number;
}

const current = new AsyncLocalStorage<Named>();
const outside: Named = { name: "0", ids: 0 };

function newId(): ReturnType<typeof crypto.randomUUID> {
  const of = current.getStore() ?? outside;
  const name = of.name.padStart(12, "0");
  return `${name.slice(0, 8)}-${name.slice(8)}-4000-8000-${String(of.ids++).padStart(12, "0")}`;
}

const NOW = 1_800_000_000_000;
const NodeCrypto = process.getBuiltinModule("node:crypto") as unknown as Record<string, unknown>;

crypto.randomUUID = newId;
NodeCrypto.randomUUID = newId;
NodeCrypto.randomBytes = (size: number) => process.getBuiltinModule("node:buffer").Buffer.alloc(size, 7);
crypto.getRandomValues = <T extends ArrayBufferView | null>(array: T): T => {
  if (array) new Uint8Array(array.buffer, array.byteOffset, array.byteLength).fill(7);
  return array;
};
Math.random = () => 0.5;
Date.now = () => NOW;

const serve = Deno.serve as unknown as (options: object, handler: Deno.ServeHandler) => Deno.HttpServer;

Deno.serve = ((options: object, handler: Deno.ServeHandler) =>
  serve(options, (request, info) => {
    const name = request.headers.get(NAMED);
    return name === null ? handler(request, info) : current.run({ name, ids: 0 }, () => handler(request, info));
  })) as typeof Deno.serve;
