/** The signatures of `@std/http/etag` (1.0) that are used. */

/** Throws if the platform has no `crypto.subtle`. */
export function eTag(entity: string | Uint8Array, options?: { weak?: boolean }): Promise<string>;

/** Whether the client has something else. Its time is quadratic in the spaces of `value`. */
export function ifNoneMatch(value: string | null, etag: string | undefined): boolean;
