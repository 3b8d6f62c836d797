// @ts-check
/// <reference lib="dom" />
/** Sets a person's choices for all pages before the first one is drawn, so that nothing flickers. */
try {
  const theme = localStorage.getItem("laneway.theme");
  if (theme === "light" || theme === "dark") document.documentElement.dataset.theme = theme;
  if (localStorage.getItem("laneway.sidebar") === "small") document.documentElement.dataset.sidebar = "small";
} catch {
  // A browser that keeps nothing for this page shows it as the system asks.
}
