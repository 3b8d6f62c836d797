import type { z } from "zod";

/** A query parameter or a header of a request. Without a schema it is a text. */
export interface DescribedParameter {
  in: "query" | "header";
  description: string;
  schema?: z.ZodType;
  isRequired?: true;
}

/** What an endpoint is for, and what goes in and out: for the gateway's own description of its API. */
export interface EndpointDescription {
  /** In a few words, without a full stop. */
  summary: string;
  /** In sentences, as Markdown. */
  description?: string;
  /** Which of the requests for its path it answers, where others answer the rest: `with the header x-version`. */
  when?: string;
  /** The body as clients send it; of a form its fields, files as `z.file()`. */
  request?: z.ZodType;
  parameters?: Readonly<Record<string, DescribedParameter>>;
  /** The whole answer, by its media type; nothing stands for a text or bytes. */
  answer: Readonly<Record<string, z.ZodType | undefined>>;
  /** The data of one event, or one line, of a streamed answer. */
  event?: z.ZodType;
}

/** The answer of an endpoint that has only JSON. */
export function jsonAnswer(schema: z.ZodType): EndpointDescription["answer"] {
  return { "application/json": schema };
}
