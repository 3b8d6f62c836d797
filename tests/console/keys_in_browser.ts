/** The page of keys in a browser. */
import { assert, assertEquals } from "@std/assert";
import { CONFIG, type ConfigInput, newApp } from "../support/app.ts";
import { answerWhole } from "../support/chat.ts";
import { type Case, type Desk, faultsOf, lastingStore, logIn, openPage, OPS } from "./desk.ts";

const NAME = `<img src=x onerror="document.title='broken'">`;
const KEYED: ConfigInput = {
  ...CONFIG,
  usage: {},
  storedKeys: true,
  store: { kind: "kv", path: "kept/in/memory/by/this/test" },
  teams: { blue: { budget: { dollars: 5, period: "month", unpriced: "allow" } } },
  keys: [{ name: "ops", secret: { env: "TEAM_KEY" }, operator: true }],
};

const BOUNDS = { bytesPerKey: 1_000_000, totalBytes: 2_000_000 };

const keyed = (config = KEYED) => () =>
  newApp({ config, now: Date.now, store: lastingStore(), fetch: () => Promise.resolve(answerWhole()) });

const statusWith = async ({ app }: Desk, key: string) => {
  const response = await app.get("/oss/v1/models", { "x-api-key": key });
  await response.body?.cancel();
  return response.status;
};

async function openKeys(desk: Desk): Promise<void> {
  await logIn(desk);
  await openPage(desk.page, "Keys and teams");
  await desk.page.getByRole("rowheader", { name: "ops" }).first().waitFor();
}

/** A key is made by its form, used, limited, and revoked, by the keyboard; a name is text; the key is shown once. */
async function wholeLife(desk: Desk): Promise<void> {
  const { page, complaints } = desk;
  await openKeys(desk);
  complaints.length = 0;
  assertEquals(await faultsOf(page), []);
  await page.getByRole("button", { name: "New key" }).press("Enter");
  await page.getByLabel("Name", { exact: true }).fill(NAME);
  await page.getByLabel("oss").check();
  await page.getByLabel("Tokens per day").fill("5000");
  await page.getByLabel("Budget in dollars").fill("2.5");
  await page.getByLabel("Budget period").selectOption("week");
  await page.getByLabel("Models without a price").selectOption("allow");
  await page.getByLabel("Team", { exact: true }).selectOption("blue");
  await page.getByLabel("Where broken answers go on").selectOption("at any target");
  assertEquals(await faultsOf(page), []);
  await page.getByRole("button", { name: "Create" }).press("Enter");
  const key = await page.getByLabel("copy it now").inputValue();
  assertEquals(await statusWith(desk, key), 200);
  const row = page.getByRole("row", { name: NAME });
  await row.getByText("tokens per day: 5,000").waitFor();
  await row.getByText("$2.50 of $2.50 left this week").waitFor();
  assertEquals([await page.locator("img").count(), await page.title()], [0, "Keys and teams · Laneway"]);
  await page.getByRole("button", { name: "Done" }).click();
  await page.reload();
  await row.waitFor();
  assert(!(await page.content()).includes(key), "It is shown once");

  await row.getByRole("button", { name: /^Edit/ }).click();
  assertEquals(await page.getByLabel("Budget in dollars").inputValue(), "2.5");
  assertEquals(await page.getByLabel("Models without a price").inputValue(), "allow");
  assertEquals(await page.getByLabel("Where broken answers go on").inputValue(), "any");
  await page.getByLabel("oss").uncheck();
  await page.getByLabel("Models, by name or with *").fill("other, another*");
  await page.getByRole("button", { name: "Save" }).click();
  await row.getByText("models other, another*").waitFor();
  await row.getByRole("button", { name: /^Rotate/ }).click();
  assertEquals(await faultsOf(page), []);
  await page.getByLabel("The former secret stays valid for").selectOption("It ends at once");
  await page.getByRole("button", { name: "Make a new secret" }).press("Enter");
  const next = await page.getByLabel("copy it now").inputValue();
  assert(next !== key);
  assertEquals([await statusWith(desk, next), await statusWith(desk, key)], [200, 401]);
  await page.getByRole("button", { name: "Done" }).click();
  await row.getByRole("button", { name: /^Revoke/ }).click();
  await page.getByRole("button", { name: "Cancel" }).press("Enter");
  await row.getByRole("button", { name: /^Revoke/ }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Revoke" }).click();
  await row.waitFor({ state: "detached" });
  assertEquals(complaints, []);
}

/** What cannot be is said in the form, which keeps what was written; on a phone nothing is cut off. */
async function refusals(desk: Desk): Promise<void> {
  const { page } = desk;
  await page.setViewportSize({ width: 360, height: 640 });
  await openKeys(desk);
  await page.getByRole("button", { name: "New key" }).click();
  await page.getByLabel("Name", { exact: true }).fill("ops");
  await page.getByRole("button", { name: "Create" }).click();
  await page.getByRole("dialog").getByText('Key "ops" already exists').waitFor();
  assertEquals(await page.getByLabel("Name", { exact: true }).inputValue(), "ops");
  assertEquals(await faultsOf(page), []);
  await page.keyboard.press("Escape");
  const overflow = await page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth");
  assertEquals(overflow, 0);
  await page.route(
    "**/console/api/keys",
    (route) => route.fulfill({ status: 503, json: { error: { message: "Nobody reads keys now" } } }),
  );
  await page.getByRole("button", { name: "New key" }).click();
  await page.getByLabel("Name", { exact: true }).fill("made all the same");
  await page.getByRole("button", { name: "Create" }).click();
  await page.getByText("Nobody reads keys now").first().waitFor();
  await page.getByLabel("copy it now").waitFor();
  await page.getByRole("dialog").waitFor({ state: "hidden" });
}

/** A key that is revoked between two pages of the list takes no other one's row, and gives none a second. */
async function revokedMeanwhile(desk: Desk): Promise<void> {
  const { page, app } = desk;
  const own = { "content-type": "application/json", "x-api-key": OPS };
  const names = Array.from({ length: 203 }, (_, index) => `key ${index}`);
  for (const name of names) await app.post("/console/api/keys/create", { name }, own);
  await openKeys(desk);
  const meanwhile = ["key 199", "key 200"];
  await page.route("**/console/api/keys?*", async (route) => {
    const name = meanwhile.shift();
    if (name !== undefined) await app.post("/console/api/keys/revoke", { name }, own);
    await route.continue();
  });
  const read = () => page.locator("table").first().locator("tbody th").allInnerTexts();
  await page.getByText("201 keys").waitFor();
  await page.getByRole("button", { name: "Show more" }).click();
  await page.getByRole("rowheader", { name: "key 202", exact: true }).waitFor();
  assertEquals(await read(), ["ops", ...names]);
  const row = page.getByRole("row", { name: /^key 1 / });
  await row.getByRole("button", { name: /^Revoke/ }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Revoke" }).click();
  await row.waitFor({ state: "detached" });
  assertEquals(await read(), ["ops", ...names.filter((name) => !["key 1", "key 199"].includes(name))]);
}

/** A team is in the configuration, so its form shows the change. */
async function newTeam(desk: Desk): Promise<void> {
  const { page } = desk;
  await openKeys(desk);
  await page.getByRole("button", { name: "New team" }).click();
  const dialog = page.getByRole("dialog");
  await dialog.getByLabel("Name").fill("blue");
  await dialog.getByLabel("Budget in dollars").fill("25");
  await dialog.getByLabel("Models without a price").selectOption("allow");
  assertEquals(await faultsOf(page), []);
  await dialog.getByRole("button", { name: "Show the change" }).click();
  await dialog.getByText("There is this team already.").waitFor();
  await dialog.getByLabel("Name").fill("research");
  await dialog.getByRole("button", { name: "Show the change" }).click();
  const shown = await dialog.locator("pre").first().innerText();
  assertEquals(JSON.parse(shown), {
    teams: { research: { budget: { dollars: 25, period: "month", unpriced: "allow" } } },
  });
}

/** Files that a key has uploaded are shown by name, which is text, and deleted. */
async function files(desk: Desk): Promise<void> {
  const { page, app, complaints } = desk;
  // A form cannot have quotes in names.
  const image = "<img src=x onerror=document.title=broken>";
  for (const name of [image, "notes.txt"]) {
    const form = new FormData();
    form.set("purpose", "user_data");
    form.set("file", new File(["x".repeat(100_000)], name));
    const init = { method: "POST", headers: { authorization: `Bearer ${OPS}` }, body: form };
    const made = await app.fetch(new Request("http://gateway/oss/v1/files", init));
    assertEquals(made.status, 200, await made.text());
  }
  await openKeys(desk);
  complaints.length = 0;
  await page.getByText("208 kB of 2 MB for all keys").waitFor();
  const row = page.getByRole("region", { name: "Files of keys" }).getByRole("row", { name: "ops" });
  await row.getByText("21 %").waitFor();
  await row.getByRole("button", { name: /^Files of/ }).press("Enter");
  const dialog = page.getByRole("dialog");
  await dialog.getByRole("rowheader", { name: image }).waitFor();
  assertEquals(await faultsOf(page), []);
  await page.setViewportSize({ width: 390, height: 800 });
  assertEquals(await faultsOf(page), []);
  const overflow = await page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth");
  assertEquals([overflow, await page.locator("img").count()], [0, 0]);
  await dialog.getByRole("button", { name: `Delete "notes.txt"` }).click();
  await dialog.getByRole("button", { name: `Delete "notes.txt" for good` }).press("Enter");
  await dialog.getByRole("rowheader", { name: "notes.txt" }).waitFor({ state: "detached" });
  await dialog.getByRole("button", { name: "Close", exact: true }).last().click();
  await row.getByText("104 kB").waitFor();
  assertEquals(complaints, []);
}

async function without(desk: Desk): Promise<void> {
  await openKeys(desk);
  await desk.page.getByRole("button", { name: "Create keys here" }).waitFor();
  assertEquals(await desk.page.getByRole("button", { name: "New key" }).count(), 0);
}

export const keyCases: Case[] = [
  { name: "a key is made, shown once, limited and revoked", app: keyed(), run: wholeLife },
  { name: "a key that cannot be is refused in its form", app: keyed(), run: refusals },
  { name: "a key that is revoked while the list is read doubles no row", app: keyed(), run: revokedMeanwhile },
  { name: "files of a key are listed and deleted", app: keyed({ ...KEYED, files: BOUNDS }), run: files },
  { name: "a team is made with its budget", app: keyed(), run: newTeam },
  { name: "without stored keys the page says what to do", app: keyed({ ...KEYED, storedKeys: false }), run: without },
];
