/** The checks of uploads in pieces, and the errors about files. */
import { GatewayError } from "../errors.ts";
import { type Entry, sum } from "./file_records.ts";

export function checkPending({ isPending }: Entry): void {
  if (!isPending) throw new GatewayError("invalid_request", "The upload is complete already");
}

export function checkOrder(entry: Entry, order: readonly number[]): void {
  checkPending(entry);
  const { parts, bytes } = entry;
  // A number beyond the list, or of a piece that was not stored, is of no piece.
  if (new Set(order).size < order.length || order.some((part) => !parts[part])) {
    throw new GatewayError("invalid_request", "Expected ids of parts of this upload, each once at most", {
      param: "part_ids",
    });
  }
  const length = sum(order.map((part) => parts[part]!));
  if (length === bytes) return;
  const message = `The parts have ${length} bytes together, but ${bytes} were declared`;
  throw new GatewayError("invalid_request", message, { param: "part_ids" });
}

export function full(message: string): GatewayError {
  return new GatewayError("invalid_request", `${message}: delete some first`, { reason: "storage_quota_exceeded" });
}

/** Pieces that were sent at once: one before this could not be stored. */
export function lostPiece(): GatewayError {
  return new GatewayError("invalid_request", "A piece before this one could not be stored: ask how much has arrived");
}

export function badOffset(offset: number, received: number): GatewayError {
  return new GatewayError("invalid_request", `Expected the piece at offset ${received}, but got the one at ${offset}`);
}

/** An id of another key is answered like one that never existed. */
export function notFound(reason?: "file_expired"): GatewayError {
  const message = reason ? "The file has expired" : "Cannot find the file: none of yours has this id";
  return new GatewayError("not_found", message, { param: "id", ...(reason && { reason }) });
}
