import type { z } from "zod";

/** A query parameter or a header of a request. Without a schema it is text. */
export interface DescribedParameter {
  in: "query" | "header";
  description: string;
  schema?: z.ZodType;
  isRequired?: true;
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
}

/** The answer of an endpoint that returns only JSON. */
export function jsonAnswer(schema: z.ZodType): EndpointDescription["answer"] {
  return { "application/json": schema };
}
