// Sets a stored theme before the first paint. Nothing stored: the system's.
"use strict";
(() => {
  let stored = null;
  try {
    stored = localStorage.getItem("theme");
  } catch {
    // storage is off: follow the system
  }
  if (stored === "light" || stored === "dark") document.documentElement.dataset.theme = stored;
  document.documentElement.classList.add("scripted");
})();
