/** Which call of a tool a fragment of a stream belongs to, and what it adds to it. */
import { type Extra, extraOf, inside } from "../../src/canonical/extra.ts";
import { GrowingJson } from "../../src/canonical/growing_json.ts";
import { toJsonText } from "../../src/canonical/json.ts";
import type { ToolCallDelta } from "../../src/transforms/part_writer.ts";
import { type ToolCallFragment, WIRE } from "./wire.ts";

interface OpenCall {
  key: string;
  id: string | undefined;
  name: string | undefined;
  args: string;
  /** Its name came after arguments. */
  isNamedLate?: boolean;
  /** Reads the arguments, for an upstream that names the call more than once. */
  json?: GrowingJson;
}

/** The addition of a fragment to the call of that key. */
interface Added {
  key: string;
  delta: ToolCallDelta & { input: string };
}

/** The calls of one answer, as their fragments come in. */
export class OpenCalls {
  /** By the number and by the id that the upstream gives them, the latest of each. */
  readonly #numbered = new Map<number, OpenCall>();
  readonly #named = new Map<string, OpenCall>();
  #latest: OpenCall | undefined;
  /** By their place in the latest increment that had several. */
  readonly #placed: OpenCall[] = [];
  /** In the order in which they began. */
  readonly #begun: OpenCall[] = [];

  /** The addition of a fragment to its call. `undefined` if it is empty. `place`: its index in a list of several fragments. */
  read(fragment: ToolCallFragment, place?: number): Added | undefined {
    if (saysNothing(fragment)) return undefined;
    const said = saidIn(fragment);
    const call = this.#callOf(fragment, said, place);
    if (place !== undefined) this.#placed[place] = call;
    return this.#add(call, fragment, said);
  }

  /** The addition of a whole call to what its fragments said. `place`: in the list of all calls of the answer. */
  complete(whole: ToolCallFragment, place: number): Added | undefined {
    if (saysNothing(whole)) return undefined;
    const said = saidIn(whole);
    const { name, input } = said;
    const fits = (call: OpenCall | undefined) => call && (!name || !call.name || name === call.name) ? call : undefined;
    const named = whole.id ? this.#named.get(whole.id) : undefined;
    const placed = this.#begun[place];
    // Some servers give several calls one id.
    const call = fits(named && placed?.id !== whole.id ? named : placed) ?? fits(named);
    if (!call) return this.read({ ...whole, index: undefined });
    return this.#add(call, whole, { ...said, input: input.startsWith(call.args) ? input.slice(call.args.length) : "" });
  }

  #add(call: OpenCall, fragment: ToolCallFragment, { kind, name, input }: Saying): Added {
    if (fragment.id && !call.id) {
      call.id = fragment.id;
      this.#named.set(call.id, call);
    }
    if (name && call.name === undefined && call.args !== "") call.isNamedLate = true;
    call.name ??= name;
    call.args += input;
    call.json?.add(input);
    const extra = extraIn(fragment);
    return { key: call.key, delta: { kind, id: call.id, name, input, ...(extra && { extra }) } };
  }

  /**
   * The call that a fragment belongs to. Upstreams leave `index` out, or give every call 0, or a new id with every
   * fragment: a name, or arguments after complete ones, begin a call where the numbers do not tell. Where several
   * fragments say nothing of themselves, each goes on with the call that came in its place.
   */
  #callOf(
    { index, id }: ToolCallFragment,
    { name, input: added }: Saying,
    place: number | undefined,
  ): OpenCall {
    const placed = place !== undefined && !id ? this.#placed[place] : undefined;
    const known = typeof index === "number"
      ? this.#numbered.get(index)
      : (id ? this.#named.get(id) : undefined) ?? (name ? undefined : placed ?? this.#latest);
    if (known && !beginsAnother(known, id ?? undefined, name, added)) return known;
    const call: OpenCall = { key: String(this.#begun.length), id: undefined, name: undefined, args: "" };
    if (typeof index === "number") this.#numbered.set(index, call);
    this.#latest = call;
    this.#begun.push(call);
    return call;
  }
}

interface Saying {
  kind: "function" | "custom";
  name: string | undefined;
  input: string;
}

/** Some hosts write the empty form of the other kind beside a call (Snowflake): only what says something counts. */
function saidIn({ type, function: called, custom }: ToolCallFragment): Saying {
  const isCalled = Boolean(called?.name || called?.arguments);
  const isCustom = custom?.name || custom?.input ? !isCalled || type === "custom" : !isCalled && type === "custom";
  if (isCustom) return { kind: "custom", name: custom?.name || undefined, input: custom?.input ?? "" };
  const { name, arguments: args } = called ?? {};
  return { kind: "function", name: name || undefined, input: args ? toJsonText(args) : "" };
}

function extraIn(fragment: ToolCallFragment): Extra | undefined {
  const inner = extraOf(WIRE, fragment.function ?? {}, FUNCTION_KEYS);
  const outer = extraOf(WIRE, fragment, FRAGMENT_KEYS);
  return inner || outer ? { wire: WIRE, fields: { ...outer?.fields, ...inside("function", inner) } } : undefined;
}

/** Some hosts have an empty call where there is none (Snowflake), or in the last chunk of every stream. */
export function saysNothing(fragment: ToolCallFragment): boolean {
  const { id, function: called, custom } = fragment;
  if (id || called?.name || called?.arguments || custom?.name || custom?.input) return false;
  return extraOf(WIRE, fragment, FRAGMENT_KEYS) === undefined;
}

export const FRAGMENT_KEYS: ReadonlySet<string> = new Set(["index", "id", "type", "function", "custom"]);
export const FUNCTION_KEYS: ReadonlySet<string> = new Set(["name", "arguments"]);

function beginsAnother(call: OpenCall, id: string | undefined, name: string | undefined, added: string): boolean {
  const isOther = Boolean(id && call.id && id !== call.id);
  const isBlank = added.trim() === "";
  // Some servers give every fragment a new id. Only those that name calls late begin one without a name.
  const isEarly = call.name !== undefined && !call.isNamedLate;
  if (!name) return isOther && !isBlank && !isEarly && isComplete(call);
  if (isOther) return true;
  // The name of a call may come after its arguments, and with all of them once more.
  if (call.name === undefined && (isBlank || added === call.args)) return false;
  return !(name === call.name && isBlank) && isComplete(call);
}

function isComplete(call: OpenCall): boolean {
  return call.args !== "" && (call.json ??= GrowingJson.of(call.args)).isComplete(call.args);
}
