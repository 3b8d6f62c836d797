/** The types of documents, by their names. Clients often declare none, or `application/octet-stream`. */

const TYPE_OF: Readonly<Record<string, string>> = {
  pdf: "application/pdf",
  docx: "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
  xlsx: "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
  pptx: "application/vnd.openxmlformats-officedocument.presentationml.presentation",
  png: "image/png",
  jpg: "image/jpeg",
  jpeg: "image/jpeg",
  gif: "image/gif",
  webp: "image/webp",
  csv: "text/csv",
  tsv: "text/tab-separated-values",
  html: "text/html",
  htm: "text/html",
  md: "text/markdown",
  txt: "text/plain",
  json: "application/json",
  jsonl: "application/jsonl",
  xml: "application/xml",
  yaml: "application/yaml",
  yml: "application/yaml",
};

/** Endings of source code and other plain text without a type of its own. */
const CODE =
  /^(c|cc|cpp|cs|css|cfg|conf|diff|go|graphql|h|hpp|ini|java|js|jsx|kt|log|lua|mjs|patch|php|pl|proto|py|r|rb|rs|rst|scala|scss|sh|sql|swift|tex|toml|ts|tsx|vue|zig)$/;

/** The media type that a file's name tells. `undefined` if it tells none. */
export function typeByName(name: string): string | undefined {
  const ending = /\.([^./\\]+)$/.exec(name)?.[1]?.toLowerCase() ?? "";
  return Object.hasOwn(TYPE_OF, ending) ? TYPE_OF[ending] : CODE.test(ending) ? "text/plain" : undefined;
}

const TEXT =
  /^(text\/(?!rtf)|application\/(.*\+)?(json|jsonl|ndjson|x-ndjson|xml|yaml|x-yaml|toml|javascript|typescript|sql|x-sh|x-python|graphql)\b)/;

/** Whether a file of the type is text that a model can read as it is. */
export function isText(mediaType: string): boolean {
  return TEXT.test(mediaType);
}
