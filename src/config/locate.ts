/** Where a text that is not JSON goes wrong; the platform's own error does not always tell. Lines and columns from 1. */
export function locateFault(text: string): { line: number; column: number } {
  const before = text.slice(0, faultOffset(text)).split("\n");
  return { line: before.length, column: before.at(-1)!.length + 1 };
}

function faultOffset(text: string): number {
  let offset = 0;
  const take = (token: RegExp): boolean => {
    const found = new RegExp(`[ \\t\\r\\n]*(?:${token.source})`, "y");
    found.lastIndex = offset;
    if (!found.test(text)) return false;
    offset = found.lastIndex;
    return true;
  };
  const string = () => take(/"(?:[ !#-[\]-\uffff]|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))*"/);
  const scalar = () => string() || take(/-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?|true|false|null/);
  const list = (close: RegExp, item: () => boolean): boolean => {
    if (take(close)) return true;
    do {
      if (!item()) return false;
    } while (take(/,/));
    return take(close);
  };
  const value = (): boolean => {
    if (take(/\{/)) return list(/\}/, () => string() && take(/:/) && value());
    if (take(/\[/)) return list(/\]/, value);
    return scalar();
  };
  value();
  take(/(?:)/);
  return offset;
}
