// Runs before the first paint, so that a dark page does not flash white.
(() => {
  let stored = null;
  try { stored = localStorage.getItem("lurcher-theme"); } catch { /* storage is disabled */ }
  if (stored === "dark" || stored === "light") document.documentElement.dataset.theme = stored;
})();
