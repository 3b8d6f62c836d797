/** Every operation that clients can ask for, and its handler. */
import { generate } from "../inference/generate.ts";
import { type Handler, openExchange, type ServedOperation } from "../inference/incoming.ts";
import { serveInputs } from "../inference/unary.ts";
import { connect } from "../socket/connect.ts";
import { conversation } from "./conversation.ts";
import { countTokens } from "./count_tokens.ts";
import { getModel, listModels } from "./models.ts";
import { speak } from "./speak.ts";
import { cancelResponse, deleteResponse, getResponse } from "./stored_responses.ts";
import { transcribe } from "./transcribe.ts";

export const OPERATIONS: { readonly [K in ServedOperation]: Handler<K> } = {
  generate,
  countTokens,
  embed: serveInputs,
  rerank: serveInputs,
  speak,
  transcribe,
  listModels,
  getModel,
  getResponse,
  deleteResponse,
  cancelResponse,
  conversation,
  connect,
  ping: (incoming) => Promise.resolve(incoming.protocol.serialize({}, openExchange(incoming, incoming.input))),
};
