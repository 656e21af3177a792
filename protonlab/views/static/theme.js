// Light and dark: figures come in light colours, and are drawn in those of the page.

const darkMedia = globalThis.matchMedia?.("(prefers-color-scheme: dark)");

function isDark() {
  const { jpThemeLight } = document.body.dataset; // JupyterLab's; other pages follow the system
  return jpThemeLight === undefined ? (darkMedia?.matches ?? false) : jpThemeLight === "false";
}

// Paints anew when the page's theme changes.
function followTheme(repaint) {
  const ofTheme = { attributeFilter: ["data-jp-theme-light"] };
  new MutationObserver(repaint).observe(document.body, ofTheme);
  darkMedia?.addEventListener("change", repaint);
}

// A copy of a figure's JSON with each of our light colours replaced; a person's own colours stay.
function recolour(value, twins, key = "") {
  if (typeof value === "string") return key.endsWith("color") ? (twins[value] ?? value) : value;
  if (value === null || typeof value !== "object") return value;
  if (Array.isArray(value)) {
    const isData = typeof value[0] !== "object" && !key.endsWith("color");
    return isData ? value : value.map((item) => recolour(item, twins, key));
  }
  const twin = ([name, item]) => [name, recolour(item, twins, name)];
  return Object.fromEntries(Object.entries(value).map(twin));
}
