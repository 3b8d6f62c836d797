/** Keys for other purposes, derived from the key that seals. All gateways on the store have the same. */
import { GatewayError } from "../errors.ts";
import { builtin } from "../util/builtin.ts";
import { sealingKey, type SealingOptions } from "./seal.ts";
import { withStoreTimeout } from "./store_timeout.ts";

const KEY_BYTES = 32;

/** Derives the key of a purpose. A store that failed is asked again at the next call. */
export function createKeyDerivation(
  { secret, store, patienceMs }: Omit<SealingOptions, "now">,
): (purpose: string) => Promise<Uint8Array> {
  let loading: Promise<Uint8Array> | undefined;
  const load = () =>
    loading ??= sealingKey({ secret, store }).catch((failure) => {
      loading = undefined;
      throw failure;
    });
  return async (purpose) => {
    let key;
    try {
      key = await withStoreTimeout(patienceMs, load());
    } catch (cause) {
      throw new GatewayError("unavailable", "The store did not give the gateway's key", { own: true, cause });
    }
    const info = `laneway ${purpose}`;
    return new Uint8Array(builtin("node:crypto").hkdfSync("sha256", key, "", info, KEY_BYTES));
  };
}
