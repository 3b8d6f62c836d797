/** The signatures of `@std/http/negotiation` (1.0) that are used. */

/** The media type that the client prefers. Of several, it returns the first one given. `undefined` if the client accepts none. */
export function accepts<T extends string>(request: Pick<Request, "headers">, ...types: T[]): T | undefined;

/** The content-coding that the client prefers. Of several, it returns the one that the client names first. `undefined` if it accepts none. */
export function acceptsEncodings<T extends string>(request: Pick<Request, "headers">, ...encodings: T[]): T | undefined;
