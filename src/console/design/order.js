// @ts-check
/** The order of a table, as an address has it. */

/** @typedef {{ by: string, isUp: boolean } | undefined} Order */

/** An order as an address has it: `cost-down`. @param {Order} order */
export function textOf(order) {
  return order && `${order.by}-${order.isUp ? "up" : "down"}`;
}

/** @param {string | undefined} text @returns {Order} */
export function orderIn(text) {
  const [, by, way] = text?.match(/^([\w-]+)-(up|down)$/) ?? [];
  return by === undefined ? undefined : { by, isUp: way === "up" };
}
