/** Pictures of all pages of a gateway that is in use, wide and narrow, light and dark. Nothing on them is cut off. */
import { assertEquals } from "@std/assert";
import type { Page } from "playwright-core";
import type { TestApp } from "../support/app.ts";
import { type Case, type Desk, logIn, openPage } from "./desk.ts";
import { served } from "./served.ts";

/** The folder that pictures are kept in, for people to look at. */
const PHOTOS = Deno.env.get("LANEWAY_PHOTOS");

/** Takes a picture of the whole page. */
export async function photograph(page: Page, name: string): Promise<Uint8Array> {
  const path = PHOTOS && `${PHOTOS}/${name}.png`;
  return await page.screenshot({ fullPage: true, animations: "disabled", ...path && { path } });
}

/** The pages, and what is on each once it is drawn. */
const PAGES: readonly [name: string, seen: string][] = [
  ["Live", ".chart canvas"],
  ["Inspect", "tbody tr"],
  ["Sessions", "tbody tr"],
  ["Usage", ".chart canvas"],
  ["Playground", "datalist option"],
  ["Upstreams", "tbody tr"],
  ["Models", "tbody tr"],
  ["Clients", "dl"],
  ["Keys and teams", "tbody tr"],
  ["Budgets", ".budgets li"],
  ["Configuration", "textarea"],
  // Its tables take the gateway seconds where the machine is busy.
  ["Fidelity", "select option"],
  ["Health", ".findings li"],
];

async function all(desk: Desk): Promise<void> {
  const { page, complaints } = desk;
  await logIn(desk);
  await fill();
  complaints.length = 0;
  const open = async (name: string, seen: string) => {
    await openPage(page, name);
    await page.getByRole("heading", { name, level: 1 }).waitFor();
    await page.locator(seen).first().waitFor({ state: "attached" });
  };
  for (const width of [1440, 390]) {
    await page.setViewportSize({ width, height: 900 });
    for (const colorScheme of ["light", "dark"] as const) {
      await page.emulateMedia({ colorScheme });
      const take = async (name: string) => {
        await photograph(page, `${name.toLowerCase()}-${width}-${colorScheme}`);
        const over = await page.evaluate(
          "document.documentElement.scrollWidth - document.documentElement.clientWidth",
        );
        assertEquals(over, 0, `${name} is wider than a window of ${width}`);
      };
      for (const [name, seen] of PAGES) {
        await open(name, seen);
        await take(name);
      }
      await open("Inspect", "tbody tr");
      await page.getByRole("link", { name: /^Request at/ }).first().click();
      await page.getByRole("heading", { name: "Timeline" }).waitFor();
      await take("Request");
      await open("Sessions", "tbody tr");
      await page.getByRole("link", { name: /^Session of/ }).first().click();
      await page.locator(".turn .markdown").first().waitFor();
      await take("Session");
    }
  }
  assertEquals(complaints, []);
}
let fill: () => Promise<void>;

const app = (): TestApp => {
  const rig = served();
  fill = rig.fill;
  return rig.app;
};

export const photoCases: readonly Case[] = [
  { name: "photos: every page fits, wide and narrow, light and dark", app, run: all },
];
