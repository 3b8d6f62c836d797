/** How the report tells of a figure. */
export interface Figure {
  label: string;
  unit: string;
  digits: number;
  /** Shown as what the subject adds to the direct call of the same round. */
  added?: true;
  /** Only some subjects have it. */
  some?: true;
}

/** Of each subject, in the order of the report. */
export const GATEWAY_FIGURES = {
  smallP50: { label: "unary 1 kB, p50", unit: "ms", digits: 2, added: true },
  smallP99: { label: "unary 1 kB, p99", unit: "ms", digits: 2, added: true },
  largeP50: { label: "unary 400 kB, p50", unit: "ms", digits: 2, added: true },
  largeP99: { label: "unary 400 kB, p99", unit: "ms", digits: 2, added: true },
  countP50: { label: "count of 100 kB by estimate, p50", unit: "ms", digits: 2, some: true },
  firstByteP50: { label: "first byte of a stream, p50", unit: "ms", digits: 2, added: true },
  firstByteP99: { label: "first byte of a stream, p99", unit: "ms", digits: 2, added: true },
  fastChunkCpu: { label: "CPU per chunk, 1 stream at full speed", unit: "µs", digits: 1 },
  fastChunks: { label: "chunks, 1 stream at full speed", unit: "1/s", digits: 0 },
  pacedChunkCpu: { label: "CPU per chunk, 50 streams, 50 chunks/s each", unit: "µs", digits: 1 },
  requests: { label: "requests, 32 connections", unit: "1/s", digits: 0 },
  requestCpu: { label: "CPU per request, 32 connections", unit: "µs", digits: 0 },
  openStreamMemory: { label: "memory per open stream, 500 streams", unit: "kB", digits: 1 },
  idleMemory: { label: "memory, idle", unit: "MB", digits: 1 },
  startUp: { label: "start-up", unit: "ms", digits: 0 },
} as const satisfies Record<string, Figure>;

/** Of each way to hold a conversation. */
export const CONVERSATION_FIGURES = {
  answerP50: { label: "unary 1 kB, p50", unit: "ms", digits: 2 },
  answerP99: { label: "unary 1 kB, p99", unit: "ms", digits: 2 },
  beginningP50: { label: "first byte of a stream, p50", unit: "ms", digits: 2 },
  beginningP99: { label: "first byte of a stream, p99", unit: "ms", digits: 2 },
  endingP50: { label: "upstream's last event to client's last event, p50", unit: "ms", digits: 2 },
  endingP99: { label: "upstream's last event to client's last event, p99", unit: "ms", digits: 2 },
  turn1P50: { label: "turn after 1 other, p50", unit: "ms", digits: 2 },
  turn1P99: { label: "turn after 1 other, p99", unit: "ms", digits: 2 },
  turn20P50: { label: "turn after 20 others, p50", unit: "ms", digits: 2 },
  turn20P99: { label: "turn after 20 others, p99", unit: "ms", digits: 2 },
  turn200P50: { label: "turn after 200 others, p50", unit: "ms", digits: 1 },
  turn200P99: { label: "turn after 200 others, p99", unit: "ms", digits: 1 },
} as const satisfies Record<string, Figure>;

/** Of the tasks beside chat. */
export const TASK_FIGURES = {
  embedFloat: { label: "2,048 × 1,024 embeddings, float", unit: "ms", digits: 0, added: true },
  embedBase64: { label: "2,048 × 1,024 embeddings, base64", unit: "ms", digits: 0, added: true },
  embedBatches: { label: "2,048 × 1,024 embeddings, float, from 64 calls", unit: "ms", digits: 0, added: true },
  soundP50: { label: "first byte of streamed speech, p50", unit: "ms", digits: 2, added: true },
  soundP99: { label: "first byte of streamed speech, p99", unit: "ms", digits: 2, added: true },
} as const satisfies Record<string, Figure>;

/** Of repairs that have nothing to do. */
export const REPAIR_FIGURES = {
  textChunk: { label: "reading a chunk of text (textForms)", unit: "µs", digits: 2 },
  callChunk: { label: "reading a chunk of arguments (repairArguments)", unit: "µs", digits: 2 },
  historyCall: { label: "a call and its result in the history (order, ids)", unit: "µs", digits: 2 },
} as const satisfies Record<string, Figure>;

/** Of the gateway with its safeguards and without. */
export const SAFEGUARD_FIGURES = {
  safeP50: { label: "unary 1 kB, p50", unit: "ms", digits: 3 },
  safeCpu: { label: "CPU per request, unary 1 kB", unit: "µs", digits: 0 },
  safeFirstByteP50: { label: "first byte of a stream, p50", unit: "ms", digits: 3 },
} as const satisfies Record<string, Figure>;

/** Of each way that an upload goes. */
export const UPLOAD_FIGURES = {
  uploadMemory: { label: "greatest memory above idle", unit: "MB", digits: 0 },
  uploadMultiple: { label: "the same ÷ the files", unit: "×", digits: 1 },
} as const satisfies Record<string, Figure>;

export type FigureName =
  | keyof typeof GATEWAY_FIGURES
  | keyof typeof CONVERSATION_FIGURES
  | keyof typeof TASK_FIGURES
  | keyof typeof REPAIR_FIGURES
  | keyof typeof SAFEGUARD_FIGURES
  | keyof typeof UPLOAD_FIGURES;

/** What one round found. A figure is absent where the platform does not tell it, or where the subject has none. */
export type Figures = Partial<Record<FigureName, number>>;

/** The value below which the part `q` of the numbers is. */
export function quantile(numbers: readonly number[], q: number): number {
  const sorted = numbers.toSorted((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * q))]!;
}
