/** As much of protobuf's wire format as it takes to read what OpenTelemetry exports. */

export type Field = number | bigint | Uint8Array;
export type Fields = Map<number, Field[]>;

/** The fields of a message by their numbers: varints and numbers of 64 bits as `bigint`, of 32 bits as `number`, all else as bytes. */
export function readMessage(bytes: Uint8Array): Fields {
  const fields: Fields = new Map();
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  let at = 0;
  const varint = () => {
    let value = 0n;
    for (let shift = 0n;; shift += 7n) {
      const byte = bytes[at++];
      if (byte === undefined) throw new RangeError("The message ends within a number");
      value |= BigInt(byte & 127) << shift;
      if (byte < 128) return value;
    }
  };
  const read = (kind: number): Field => {
    switch (kind) {
      case 0:
        return varint();
      case 1:
        return view.getBigUint64((at += 8) - 8, true);
      case 2: {
        const length = Number(varint());
        if (at + length > bytes.length) throw new RangeError("The message ends within a field");
        return bytes.subarray(at, at += length);
      }
      case 5:
        return view.getUint32((at += 4) - 4, true);
      default:
        throw new RangeError(`There is no kind ${kind} of field`);
    }
  };
  while (at < bytes.length) {
    const tag = Number(varint());
    const values = fields.get(tag >> 3) ?? [];
    fields.set(tag >> 3, values);
    values.push(read(tag & 7));
  }
  return fields;
}

export function messages(fields: Fields, number: number): Fields[] {
  return (fields.get(number) ?? []).map((field) => readMessage(field as Uint8Array));
}

export function text(fields: Fields, number: number): string {
  return new TextDecoder().decode(fields.get(number)?.[0] as Uint8Array | undefined);
}

export function hex(fields: Fields, number: number): string {
  return (fields.get(number)?.[0] as Uint8Array | undefined)?.toHex() ?? "";
}

export function whole(fields: Fields, number: number): number {
  return Number(fields.get(number)?.[0] ?? 0);
}

/** A number with a fraction. */
export function double(field: Field | undefined): number {
  return new Float64Array(BigUint64Array.of(field as bigint ?? 0n).buffer)[0]!;
}

/** Numbers of 64 bits in a row, as `double` or whole. */
export function packed(fields: Fields, number: number, as: "double" | "whole"): number[] {
  const { buffer } = new Uint8Array(fields.get(number)?.[0] as Uint8Array | undefined ?? []);
  return as === "double" ? [...new Float64Array(buffer)] : Array.from(new BigUint64Array(buffer), Number);
}
