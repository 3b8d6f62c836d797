/** The signatures of `@std/yaml` (1.0) that the tests use. */
export function parse(content: string): unknown;
export function parseAll(content: string): unknown;
