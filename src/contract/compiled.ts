/** Schemas that are in use get code of their own, from zod's compiler, while nobody asks. Until then zod interprets them. */
import { z } from "zod";

/** A plugin may make schemas without end. Those after so many are interpreted. */
const MOST_COMPILED = 200;

/** By schema, what checks a value against it: itself, or its compiled form. */
const checkers = new WeakMap<z.ZodType, z.ZodType>();
let compiler: Compiler | undefined;

/** Compiles each schema that is used from now on, as soon as `mayGoOn` resolves: a large one takes 20 ms. */
export function compileSchemas(mayGoOn: () => Promise<unknown>): Compiler {
  return compiler = new Compiler(mayGoOn);
}

/** What checks values against `schema`, with the same results and errors. */
export function checkerOf<T>(schema: z.ZodType<T>): z.ZodType<T> {
  const known = checkers.get(schema);
  if (known) return known as z.ZodType<T>;
  compiler?.add(schema);
  return schema;
}

class Compiler {
  readonly #mayGoOn: () => Promise<unknown>;
  #added = 0;
  /** One after the other, so that a client waits for one schema at most. */
  #done: Promise<void> = Promise.resolve();

  constructor(mayGoOn: () => Promise<unknown>) {
    this.#mayGoOn = mayGoOn;
  }

  add(schema: z.ZodType): void {
    if (++this.#added > MOST_COMPILED) return;
    checkers.set(schema, schema);
    this.#done = this.#done.then(() => this.#compile(schema)).catch(() => {});
  }

  /** Resolves once all schemas that were used so far are compiled. */
  get done(): Promise<void> {
    return this.#done;
  }

  async #compile(schema: z.ZodType): Promise<void> {
    await this.#mayGoOn();
    // Where no code may be made from text, this is the schema itself.
    const compiled = z.compile(schema);
    checkers.set(schema, compiled);
    // The engine reads the code when it first runs, which takes some milliseconds.
    compiled.safeParse(undefined);
  }
}
