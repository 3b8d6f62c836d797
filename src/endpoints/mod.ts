/** Every operation that clients can ask for, and its handler. */
import { type Handler, openExchange, type ServedOperation } from "../inference/incoming.ts";
import { infer } from "../inference/stages.ts";
import { connect } from "../socket/connect.ts";
import { conversation } from "./conversation.ts";
import { countTokens } from "./count_tokens.ts";
import { getModel, listModels } from "./models.ts";
import { cancelResponse, deleteResponse, getResponse } from "./stored_responses.ts";

export const OPERATIONS: { readonly [K in ServedOperation]: Handler<K> } = {
  generate: infer,
  complete: infer,
  decide: infer,
  countTokens,
  embed: infer,
  rerank: infer,
  speak: infer,
  transcribe: infer,
  draw: infer,
  listModels,
  getModel,
  getResponse,
  deleteResponse,
  cancelResponse,
  conversation,
  files: async (incoming) => await (await import("./files.ts")).files(incoming),
  connect,
  ping: (incoming) => Promise.resolve(incoming.protocol.serialize({}, openExchange(incoming, incoming.input))),
};
