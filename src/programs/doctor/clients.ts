/** Checks whether clients that were connected from this machine still call this gateway. */
import { clients } from "../../../plugins/programs/clients/mod.ts";
import { readReceipt, type Receipt } from "../connect/receipt.ts";
import { dataFolder } from "../connect/machine.ts";
import { restored } from "../connect/undo.ts";
import type { Examined } from "./examination.ts";
import { type Finding, problem, well } from "./finding.ts";
import { isNotPermitted } from "../../platform/not_permitted.ts";

const LOOPBACK = /^(127\.\d+\.\d+\.\d+|localhost|\[::1\])$/;

/** One finding for each client that the command `connect` has set up. */
export function checkClients(examined: Examined): Finding[] {
  const folder = dataFolder(examined.platform);
  if (folder === undefined) return [];
  return clients.flatMap(({ name, title }) => {
    const subject = `client ${title}`;
    try {
      const receipt = readReceipt({ folder, os: examined.platform.os }, name);
      return receipt ? [judge(receipt, subject, examined)] : [];
    } catch (error) {
      // Without the launcher there is no permission to read these files.
      if (isNotPermitted(error)) return [];
      const cure = `Check its settings by hand, or connect it again: connect ${name}`;
      return [problem("warning", "client-unreadable", subject, (error as Error).message, cure)];
    }
  });
}

function judge({ client, to, files }: Receipt, subject: string, { config }: Examined): Finding {
  const cure = `Connect it again: connect ${client}; or undo: connect ${client} --undo`;
  const warn = (check: string, message: string) => problem("warning", check, subject, message, cure);
  const changed = files.map(restored).find(({ now, left }) => now === undefined || left.length > 0);
  if (changed) {
    return warn("client-changed", `Its settings in ${changed.file.path} have changed since connect wrote them`);
  }
  const { hostname, port, pathname } = new URL(to);
  const { listen: { port: own }, lanes } = config;
  const lane = decodeURIComponent(pathname.slice(1));
  // It is unknown which gateway another host name leads to.
  if (!LOOPBACK.test(hostname)) return well("client", subject, `It calls ${to}`);
  if (own !== 0 && Number(port || 80) !== own) {
    return warn("client-elsewhere", `It calls ${to}, and this gateway listens on port ${own}`);
  }
  if (!Object.hasOwn(lanes, lane)) {
    return warn("client-elsewhere", `It calls ${to}, and this gateway has no lane "${lane}"`);
  }
  return well("client", subject, `It calls ${to}`);
}
