/** The signatures of `@std/http/negotiation` (1.0) that are used. */

/** The media type that the client prefers; of several, the first. `undefined` where it wants none of them. */
export function accepts<T extends string>(request: Pick<Request, "headers">, ...types: T[]): T | undefined;

/** The content-coding that the client prefers; of several, the one that it names first. `undefined` where it wants none. */
export function acceptsEncodings<T extends string>(request: Pick<Request, "headers">, ...encodings: T[]): T | undefined;
