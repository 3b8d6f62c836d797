/** The signatures of `@std/http/negotiation` (1.0) that are used. */

/** The media type that the client prefers, or the first one of several. `undefined` if it accepts none. */
export function accepts<T extends string>(request: Pick<Request, "headers">, ...types: T[]): T | undefined;

/** The content-coding that the client prefers, or the one that it names first. `undefined` if it accepts none. */
export function acceptsEncodings<T extends string>(request: Pick<Request, "headers">, ...encodings: T[]): T | undefined;
