/** Python in a thread. Once it is loaded, the thread gives up even what it could read, because it runs code of strangers. */
import { giveUpPermissions, hideRuntime } from "../platform/give_up_permissions.ts";
import type { ContainerLimits, Order, Report } from "./protocol.ts";
import { type Python, startPython } from "./python.ts";

const scope = self as unknown as {
  postMessage(report: Report): void;
  onmessage: (event: MessageEvent<ContainerLimits | Order>) => void;
};
const post = scope.postMessage.bind(scope);

/** The id of the order that is carried out. */
let present = 0;
let python: Promise<Python> | undefined;
let last: Promise<void> = Promise.resolve();

scope.onmessage = ({ data }) => {
  if (!python) python = start(data as ContainerLimits);
  else last = last.then(async () => carryOut(data as Order, await python!));
};

async function start(limits: ContainerLimits): Promise<Python> {
  const started = await startPython(limits, () => post({ id: present, failed: true }));
  await giveUpPermissions();
  hideRuntime();
  post({ id: 0 });
  return started;
}

async function carryOut(order: Order, python: Python): Promise<void> {
  present = order.id;
  try {
    if (order.do === "put") python.put(order.files);
    post({ id: order.id, ...(order.do === "run" && { executed: await python.execute(order.code) }) });
  } catch {
    post({ id: order.id, failed: true });
  }
}
