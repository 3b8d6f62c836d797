/**
 * Takes secrets and personal data out of what leaves the gateway, and puts them back into the answer. Upstreams see
 * placeholders.
 */
import { z } from "zod";
import type { Stage, StagePlugin } from "../../src/contract/stage.ts";
import { MEDIA, type RedactOptions } from "./options.ts";

const kind = (description: string) => z.boolean().default(false).meta({ description });

/** A misspelled name is reported with the names that there are. */
const unknownKeys = (issue: { code?: string; keys?: unknown }) =>
  issue.code === "unrecognized_keys"
    ? (issue.keys as string[]).map(() => `Unknown setting; known: ${Object.keys(shape).join(", ")}`).join("\n")
    : undefined;

const shape = {
  secrets: kind(
    "API keys and tokens of known forms, private keys, passwords that are assigned or part of a URL, bearer tokens, and " +
      "assigned values that look random.",
  ),
  emails: kind("E-mail addresses."),
  phones: kind("Phone numbers."),
  creditCards: kind("Numbers of payment cards, by their check digit."),
  ibans: kind("Bank accounts (IBAN), by their check digits."),
  ipAddresses: kind("IP addresses, except those of the machine itself."),
  unreadable: z.array(z.enum(MEDIA)).default([]).meta({
    description:
      "What may pass although it cannot be read: images, audio, video, other documents such as PDFs, and texts as token " +
      "ids. By default a request with any of these is refused.",
    examples: [["image"]],
  }),
  restoreFor: z.array(z.string().min(1)).default([]).meta({
    description:
      "Search services (by their backend, or server) and tool servers of this configuration that receive the originals. " +
      "Others receive placeholders.",
    examples: [["searxng"]],
  }),
};

export const redact: StagePlugin<RedactOptions> = {
  name: "redact",
  description:
    "Replaces secrets and personal data by placeholders in everything that leaves the gateway, and puts them back into " +
    "answers.",
  options: z.strictObject(shape, { error: unknownKeys }).refine(
    ({ unreadable: _, restoreFor: _names, ...kinds }) => Object.values(kinds).includes(true),
    'Expected at least one kind to redact, such as "secrets": true',
  ),
  create(options, host): Stage {
    let loading: Promise<Required<Pick<Stage, "request" | "outgoing">>> | undefined;
    let loaded: Required<Pick<Stage, "request" | "outgoing">> | undefined;
    // The code and the key are loaded with the first request. A store that fails is asked again by the next one.
    const load = () =>
      loading ??= Promise.all([import("./stage.ts"), host.key("redaction")]).then(
        ([{ createRedaction }, key]) => loaded = createRedaction(options, key),
        (failure) => {
          loading = undefined;
          throw failure;
        },
      );
    return {
      name: "redact",
      request: (input, about) => loaded ? loaded.request(input, about) : load().then((it) => it.request(input, about)),
      outgoing: (value, about, to) =>
        loaded ? loaded.outgoing(value, about, to) : load().then((it) => it.outgoing(value, about, to)),
    };
  },
};
