/** Kinds of content that cannot be read here. */
export const MEDIA = ["image", "audio", "video", "document", "tokens"] as const;
export type Medium = typeof MEDIA[number];

/** The kinds of personal data that can be recognized. */
export type PersonalKind = "emails" | "phones" | "creditCards" | "ibans" | "ipAddresses";

export interface RedactOptions extends Record<PersonalKind, boolean> {
  secrets: boolean;
  /** The kinds of content that may pass although they cannot be read. */
  unreadable: Medium[];
  /** The names of search services and tool servers that receive the originals. */
  restoreFor: string[];
}
