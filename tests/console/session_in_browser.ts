/** The session of a browser, in all of its tabs. */
import { assertEquals } from "@std/assert";
import { CONFIG, type ConfigInput, newApp } from "../support/app.ts";
import { startLoginProvider } from "../support/oidc_provider.ts";
import { type Case, type Desk, faultsOf, logIn } from "./desk.ts";

const KEYED: ConfigInput = { ...CONFIG, keys: [{ name: "ops", secret: { env: "TEAM_KEY" }, operator: true }] };

/** Whichever tab logged in, each offers to log out, and each shows the form after that. */
async function everyTab(desk: Desk): Promise<void> {
  const { page, url } = desk;
  const waiting = await page.context().newPage();
  await waiting.goto(`${url}/console`);
  await waiting.getByLabel("Operator key").waitFor();
  await logIn(desk);
  const other = await page.context().newPage();
  await other.goto(`${url}/console/#upstreams`);
  await other.getByRole("heading", { name: "Upstreams" }).waitFor();
  await waiting.evaluate("dispatchEvent(new Event('focus'))");
  for (const tab of [page, waiting, other]) await tab.getByRole("button", { name: "Log out" }).waitFor();
  assertEquals(await faultsOf(other), []);
  await other.reload();
  await other.getByRole("button", { name: "Log out" }).click();
  await page.getByText("Your session has ended.").waitFor();
  for (const tab of [page, other]) {
    await tab.getByLabel("Operator key").waitFor();
    await tab.getByRole("button", { name: "Log out" }).waitFor({ state: "hidden" });
  }
}

/** Over plain HTTP from another machine the key can be read on its way. */
async function saysReadable({ page, url }: Desk): Promise<void> {
  const note = page.getByText("This connection is not encrypted");
  for (const [host, shown] of [[url, 0], [url.replace("127.0.0.1", "gateway.test"), 1]] as const) {
    await page.goto(`${host}/console`);
    await page.getByLabel("Operator key").waitFor();
    assertEquals(await note.count(), shown, host);
    assertEquals(await faultsOf(page), []);
  }
}

/** Who has no session has none to end: without keys this machine is let in. */
async function withoutKeys({ page, url }: Desk): Promise<void> {
  const asked = page.waitForResponse(/\/ways$/);
  await page.goto(`${url}/console`);
  assertEquals(await (await asked).json(), { oidc: false, session: false });
  await page.getByRole("heading", { name: "Live" }).waitFor();
  assertEquals(await page.getByRole("button", { name: "Log out" }).count(), 0);
}

let issuer = "";
const atProvider = () => {
  const oidc = {
    issuer,
    audience: ["laneway"],
    groups: [{ name: "operators", operator: true }],
    console: { clientId: "console", url: `${place}/console` },
  };
  const config = issuer ? { ...KEYED, oidc } : KEYED;
  return newApp({ config, fetch, now: Date.now, monotonic: () => performance.now() });
};
let place = "";

/** Who has logged in at the provider, and logs out, comes to where the provider ends its own session. */
async function providersEnd(desk: Desk): Promise<void> {
  const { page, url } = desk;
  const client = { id: "console", redirect: `${url}/console/callback` };
  await using provider = await startLoginProvider(client, () => ["operators"]);
  [issuer, place] = [provider.issuer, url];
  await desk.stop();
  desk.start();
  await page.route((address) => address.hostname !== "127.0.0.1", (route) => route.abort());
  await page.goto(`${url}/console`);
  await page.getByRole("link", { name: "Log in with your identity provider" }).click();
  await page.locator('input[name="login"]').fill("olga");
  await page.locator('input[name="password"]').fill("x");
  await page.locator('button[type="submit"]').click();
  await page.locator('button[type="submit"]').filter({ hasText: "Continue" }).click();
  await page.getByRole("heading", { name: "Live" }).waitFor();
  await page.getByRole("button", { name: "Log out" }).click();
  await page.waitForURL(`${issuer}/session/end?client_id=console`);
  await page.getByRole("button", { name: "Yes, sign me out" }).click();
  await page.getByText("Sign-out Success").waitFor();
  await page.goto(`${url}/console`);
  await page.getByLabel("Operator key").waitFor();
}

export const sessionCases: Case[] = [
  {
    name: "every tab of a browser that has logged in can log out",
    app: () => newApp({ config: KEYED, now: Date.now }),
    run: everyTab,
  },
  {
    name: "the login page says where a key can be read on its way",
    app: () => newApp({ config: KEYED, now: Date.now }),
    run: saysReadable,
  },
  { name: "logging out leads to the provider, whose session ends, too", app: atProvider, run: providersEnd },
  {
    name: "without keys nobody logs out",
    app: () => newApp({ config: { ...CONFIG, keys: [] }, now: Date.now }),
    run: withoutKeys,
  },
];
