import type { z } from "zod";

/** A query parameter or a header of a request. Without a schema it is text. */
export interface DescribedParameter {
  in: "query" | "header";
  description: string;
  schema?: z.ZodType;
  isRequired?: true;
}

/** A library with which programs call an endpoint, in two languages. */
export interface ClientLibrary {
  /** The end of the endpoint's URL, which the library adds to its base URL. */
  path: string;
  /** The header in which it sends the key, in lower case. */
  keyHeader: string;
  /** Other headers that it sends by itself, in lower case. */
  headers?: readonly string[];
  /** The fields of the body that its method knows. Others have to be passed in another way. */
  fields: readonly string[];
  python: LibraryCode;
  typescript: LibraryCode;
}

/** The parts of a program. */
export interface LibraryCode {
  /** The command that installs it. */
  install: string;
  import: string;
  /** Creates the client. `$base` and `$key` stand for expressions. */
  client: string;
  /** The method that sends the request. */
  call: string;
  /** Lines that show the answer, which is in `answer`. */
  whole: string;
  /** Like `whole`, for a streamed answer. */
  stream: string;
  /** In TypeScript, the types of a body, for one with fields that the library does not know. */
  body?: { whole: string; stream: string };
}

/** An endpoint's purpose, input and output, for the gateway's own API description. */
export interface EndpointDescription {
  /** A few words, without a full stop. */
  summary: string;
  /** Whole sentences in Markdown. */
  description?: string;
  /** Which requests for its path it serves, if other endpoints serve the rest: `with the header x-version`. */
  when?: string;
  /** The body that clients send. For a form, its fields, with files as `z.file()`. */
  request?: z.ZodType;
  parameters?: Readonly<Record<string, DescribedParameter>>;
  /** The whole answer by media type. `undefined` stands for text or bytes. */
  answer: Readonly<Record<string, z.ZodType | undefined>>;
  /** The data of one event, or one line, of a streamed answer. */
  event?: z.ZodType;
  /** The library of the API's vendor. */
  library?: ClientLibrary;
}

/** The answer of an endpoint that returns only JSON. */
export function jsonAnswer(schema: z.ZodType): EndpointDescription["answer"] {
  return { "application/json": schema };
}
