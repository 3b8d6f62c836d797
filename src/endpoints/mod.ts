/** Every operation that clients can ask for, and what answers it. */
import { cancelResponse } from "./cancel_response.ts";
import { connect } from "../socket/connect.ts";
import { conversation } from "./conversation.ts";
import { countTokens } from "./count_tokens.ts";
import { deleteResponse } from "./delete_response.ts";
import { embed } from "./embed.ts";
import { generate } from "../inference/generate.ts";
import { getModel } from "./get_model.ts";
import { getResponse } from "./get_response.ts";
import type { Handler, ServedOperation } from "../inference/incoming.ts";
import { listModels } from "./list_models.ts";
import { ping } from "./ping.ts";
import { rerank } from "./rerank.ts";
import { speak } from "./speak.ts";
import { transcribe } from "./transcribe.ts";

export const OPERATIONS: { readonly [K in ServedOperation]: Handler<K> } = {
  generate,
  countTokens,
  embed,
  rerank,
  speak,
  transcribe,
  listModels,
  getModel,
  getResponse,
  deleteResponse,
  cancelResponse,
  conversation,
  connect,
  ping,
};
