/** What `writer.ts` writes: values of several sizes that show whether they are whole. */
export const LATER = Date.now() + 86_400_000;

const SIZES = [10, 70_000, 300_000, 5_000, 1_500_000];

export interface WrittenValue {
  [field: string]: string | number;
  writer: string;
  number: number;
  fill: string;
}

export function writtenValue(writer: string, number: number): WrittenValue {
  return { writer, number, fill: String(number % 10).repeat(SIZES[number % SIZES.length]!) };
}
