/* The search, the switch of colours, and the menu of small screens. Pages can be read without it. */
(() => {
  const root = document.documentElement;
  const byId = (id) => document.getElementById(id);
  const [menu, pages, colours, form, query, found] = ["menu", "pages", "colours", "search", "query", "found"].map(byId);

  menu.addEventListener("click", () => {
    const isOpen = pages.classList.toggle("open");
    menu.setAttribute("aria-expanded", String(isOpen));
  });

  const CHOICES = ["system", "light", "dark"];
  const showColours = () => colours.textContent = `Colours: ${root.dataset.colours ?? "system"}`;
  colours.hidden = false;
  showColours();
  colours.addEventListener("click", () => {
    const next = CHOICES[(CHOICES.indexOf(root.dataset.colours ?? "system") + 1) % CHOICES.length];
    if (next === "system") delete root.dataset.colours;
    else root.dataset.colours = next;
    try {
      if (next === "system") localStorage.removeItem("colours");
      else localStorage.setItem("colours", next);
    } catch { /* it holds for this page, then */ }
    showColours();
  });

  const load = (name) =>
    new Promise((resolve, reject) => {
      const script = document.createElement("script");
      script.src = root.dataset.root + name;
      script.onload = resolve;
      script.onerror = reject;
      document.head.append(script);
    });
  let index;
  const searched = () =>
    index ??= Promise.all([load("minisearch.js"), load("search.js")]).then(() => {
      const made = new MiniSearch({
        fields: ["heading", "page", "text"],
        storeFields: ["heading", "page", "text"],
        searchOptions: { boost: { heading: 4, page: 2 }, prefix: true, fuzzy: 0.15, combineWith: "AND" },
      });
      made.addAll(globalThis.lanewayPages);
      return made;
    });

  const excerpt = (text, terms) => {
    const places = terms.map((term) => text.toLowerCase().indexOf(term)).filter((at) => at >= 0);
    const from = places.length ? Math.max(0, Math.min(...places) - 40) : 0;
    return (from > 0 ? "…" : "") + text.slice(from, from + 160);
  };
  const item = ({ id, page, heading, text, terms }) => {
    const link = document.createElement("a");
    link.href = root.dataset.root + id;
    const title = document.createElement("strong");
    title.textContent = heading === page ? page : `${page} › ${heading}`;
    const words = document.createElement("span");
    words.textContent = excerpt(text, terms);
    link.append(title, words);
    const entry = document.createElement("li");
    entry.append(link);
    return entry;
  };
  const show = (results, words) => {
    const list = document.createElement("ul");
    list.append(...results.slice(0, 12).map(item));
    const none = document.createElement("p");
    none.textContent = `Nothing found for “${words}”.`;
    found.replaceChildren(results.length > 0 ? list : none);
    found.hidden = false;
  };
  const close = () => {
    found.hidden = true;
    found.replaceChildren();
  };
  form.hidden = false;
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    found.querySelector("a")?.click();
  });
  query.addEventListener("focus", searched);
  query.addEventListener("input", async () => {
    const words = query.value.trim();
    if (words === "") return close();
    const made = await searched();
    if (query.value.trim() === words) show(made.search(words), words);
  });
  found.addEventListener("click", (event) => {
    if (event.target.closest("a")) close();
  });
  document.addEventListener("keydown", (event) => {
    const isTyping = /^(INPUT|TEXTAREA|SELECT)$/.test(document.activeElement?.tagName ?? "");
    if (event.key === "/" && !isTyping) {
      event.preventDefault();
      query.focus();
    } else if (event.key === "Escape") {
      query.value = "";
      close();
    } else if (/^Arrow(Up|Down)$/.test(event.key) && !found.hidden) {
      const links = [...found.querySelectorAll("a")];
      const at = links.indexOf(document.activeElement) + (event.key === "ArrowDown" ? 1 : -1);
      event.preventDefault();
      (links[at] ?? query).focus();
    }
  });
})();
