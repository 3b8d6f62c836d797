/** Python in a thread. Once it is loaded, the thread gives up even what it could read, because it runs code of strangers. */
import { giveUpPermissions, hideRuntime, provideConstants } from "../platform/give_up_permissions.ts";
import type { ContainerLimits, Order, Report } from "./protocol.ts";
import { startPython } from "./python.ts";

const scope = self as unknown as {
  postMessage(report: Report): void;
  onmessage: (event: MessageEvent<ContainerLimits | Order>) => void;
};
const post = scope.postMessage.bind(scope);

/** The id of the order that is carried out. */
let present = 0;

provideConstants();
// On Node a thread can read nothing more once it has its first message.
const python = await startPython(() => post({ id: present, failed: true }));
await giveUpPermissions();
hideRuntime();

let limits: ContainerLimits | undefined;
let last: Promise<void> = Promise.resolve();

scope.onmessage = ({ data }) => {
  if (!limits) limits = data as ContainerLimits;
  else last = last.then(() => carryOut(data as Order, limits!));
};
post({ id: 0 });

async function carryOut(order: Order, limits: ContainerLimits): Promise<void> {
  present = order.id;
  try {
    if (order.do === "put") python.put(order.files, order.onlyMissing);
    post({ id: order.id, ...(order.do === "run" && { executed: await python.execute(order.code, limits) }) });
  } catch {
    post({ id: order.id, failed: true });
  }
}
