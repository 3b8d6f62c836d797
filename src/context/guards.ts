import type { Input, ModelOperation } from "../canonical/operations.ts";
import type { Price } from "../canonical/price.ts";
import type { Target } from "../contract/driver.ts";
import type { Admission } from "../http/admission.ts";
import type { Authenticate, Caller } from "../http/auth.ts";
import type { KeptText } from "../http/body_memory.ts";
import type { LoadLimits, LoadShedder } from "../http/load_shedding.ts";
import type { SizeLimits } from "../http/size.ts";
import type { Uploads } from "../http/uploads.ts";
import type { BudgetState } from "../state/budget/budget.ts";
import type { Reservation } from "../state/budget/period_ledger.ts";
import type { Reserving, Wanted } from "../state/budget/wanted.ts";
import type { RunLimits } from "../state/runs.ts";

/** The parts that decide whether a request is admitted, and how much it may use. */
export interface Guards {
  authenticate: Authenticate;
  admission: Admission;
  /** Absent if no budgets are configured. */
  budgets?: BudgetBook;
  loadShedder: LoadShedder;
  /** Reads request bodies within the limits. */
  uploads: Uploads;
  /** Keeps requests as text until their answers are complete, if these may go on. */
  kept: {
    /** `mostBytes`: the room for the texts of all requests. */
    keep(text: string, mostBytes: number): KeptText;
    release(kept: KeptText): void;
  };
  limits: Limits;
  /** Whether there can be several callers, so that each gets only its share of what has a limit (`util/shares.ts`). */
  hasSeveralCallers: boolean;
}

export interface Limits extends LoadLimits, SizeLimits, RunLimits {
  headerBytes: number;
  bodyBytes: number;
  sendStallMs: number;
  sockets?: number;
  socketBytes: number;
}

/** The budgets that pay for a request. */
export interface Payer {
  /** Whether it may not use targets without a price. */
  refusesUnpriced: boolean;
  /**
   * How much to reserve for an answer. It is a member of the payer because its code is loaded with the first budget
   * that is spent from.
   */
  reservingFor<K extends ModelOperation>(
    operation: K,
    input: Input<K>,
    inputTokens: number,
    price: Price,
    target: Pick<Target, "answerRoom" | "defaultMaxTokens">,
  ): Reserving | undefined;
  /**
   * Reserves an amount, synchronously if no other process must be asked. Throws `budget_exceeded`, or `unavailable` if
   * the remaining amount is unknown.
   */
  reserve(wanted: Wanted): Reservation | Promise<Reservation>;
}

export interface BudgetBook {
  /** Resolves to `undefined` if the caller's spending is not limited. */
  payerOf(caller: Caller): Promise<Payer | undefined>;
  /** The state of the caller's budgets, or of all budgets, as far as this process knows it. */
  known(caller?: Caller): BudgetState[];
  /** The state of the caller's own budgets, or of all budgets, from the store. */
  read(caller?: Caller): Promise<BudgetState[]>;
  /** Resolves once everything is written to the store, or has failed. */
  close(): Promise<void>;
}
