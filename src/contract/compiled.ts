/** Compiles the schemas that are in use, with zod's compiler, while no client waits. Until then zod interprets them. */
import { z } from "zod";

/** The most schemas that are compiled. A plugin may make any number of them, and all others are interpreted. */
const MOST_COMPILED = 200;

/** The checker of each schema that is in use: the schema itself, or its compiled form. */
export const checkers: WeakMap<z.ZodType, z.ZodType> = new WeakMap();
/** Absent until schemas are compiled. */
export let compiler: Compiler | undefined;

/** Compiles each schema that is used from now on. A large one takes 20 ms, so each waits until `mayGoOn` resolves. */
export function compileSchemas(mayGoOn: () => Promise<unknown>): Compiler {
  return compiler = new Compiler(mayGoOn);
}

/** The checker of `schema`. Its results and errors are those of the schema itself. */
export function checkerOf<T>(schema: z.ZodType<T>): z.ZodType<T> {
  const known = checkers.get(schema);
  if (known) return known as z.ZodType<T>;
  compiler?.add(schema);
  return schema;
}

class Compiler {
  readonly #mayGoOn: () => Promise<unknown>;
  #added = 0;
  /** Schemas are compiled one after the other, so that a client waits for one at most. */
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
    // A runtime that forbids `new Function` gets the schema itself back.
    const compiled = z.compile(schema);
    checkers.set(schema, compiled);
    // The engine parses the code when it first runs. That takes some milliseconds, so it happens here.
    compiled.safeParse(undefined);
  }
}
