// The fleet page while it is live: polls rest in a hidden tab and while a menu is open, and what is unfolded stays so.
"use strict";
(() => {
  const menuOpen = () => document.querySelector("#fleet-workers details.confirm[open]");

  document.addEventListener("htmx:beforeRequest", (e) => {
    if (e.target.id === "fleet-poll" && (document.hidden || menuOpen())) e.preventDefault();
  });
  document.addEventListener("htmx:oobBeforeSwap", (e) => {
    const { target, fragment } = e.detail;
    if (target.id === "fleet-workers" && menuOpen()) e.detail.shouldSwap = false;
    for (const open of target.querySelectorAll("details[id][open]")) {
      const fresh = fragment.querySelector(`#${CSS.escape(open.id)}`);
      if (fresh) fresh.open = true;
    }
    const at = document.activeElement?.closest("details[id]");
    if (at && target.contains(at)) {
      setTimeout(() => document.querySelector(`#${CSS.escape(at.id)} > summary`)?.focus({ preventScroll: true }));
    }
  });
})();
