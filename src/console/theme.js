// @ts-check
/// <reference lib="dom" />
/** What a person chose for all pages, set before the first one is drawn, so that nothing flickers. */
try {
  const theme = localStorage.getItem("laneway.theme");
  if (theme === "light" || theme === "dark") document.documentElement.dataset.theme = theme;
  if (localStorage.getItem("laneway.sidebar") === "small") document.documentElement.dataset.sidebar = "small";
} catch {
  // A browser that keeps nothing for this page shows it as the system asks.
}
