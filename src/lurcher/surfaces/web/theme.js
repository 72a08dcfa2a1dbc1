// Runs before the first paint, so that a page in the dark does not flash.
(() => {
  let kept = null;
  try { kept = localStorage.getItem("lurcher-theme"); } catch { /* a browser that keeps nothing */ }
  if (kept === "dark" || kept === "light") document.documentElement.dataset.theme = kept;
})();
