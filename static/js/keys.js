// Keys: / ? Esc, g r, g k, g p, g f, g t, n, j k Enter Space, d. Off inside fields, and off altogether where a reader says so.
"use strict";
(() => {
  const to = { r: "/runs/", k: "/kernels/", p: "/problems/", f: "/fleet/", t: "/triage/" };
  const dialog = document.getElementById("keys");
  const choice = document.getElementById("keys-on");
  let at = -1;
  let after = 0;

  function on() {
    try {
      return localStorage.getItem("keys") !== "off";
    } catch {
      return true;
    }
  }
  if (choice) {
    choice.checked = on();
    choice.addEventListener("change", () => {
      try {
        localStorage.setItem("keys", choice.checked ? "on" : "off");
      } catch {
        // storage is off: keys stay on
      }
    });
  }
  const rows = () => [...document.querySelectorAll("[data-rows] tbody tr, .picklist tbody tr")].filter((r) => r.offsetParent);

  function move(step) {
    const direct = document.querySelector(`a[data-key="${step > 0 ? "j" : "k"}"]`);
    if (direct) return void direct.click();
    if (document.querySelector("[data-key]")) return undefined;
    const all = rows();
    if (!all.length) return undefined;
    const current = all.findIndex((r) => r.classList.contains("at") || r.contains(document.activeElement));
    at = Math.min(all.length - 1, Math.max(0, current + step));
    for (const r of all) r.classList.toggle("at", r === all[at]);
    (all[at].querySelector("input, a") || all[at]).focus({ preventScroll: true });
    all[at].scrollIntoView({ block: "nearest" });
    return undefined;
  }

  function difference() {
    const part = document.getElementById("difference");
    if (!part) return;
    part.scrollIntoView({ block: "start" });
    part.focus({ preventScroll: true });
  }

  document.addEventListener("keydown", (e) => {
    if ((e.ctrlKey || e.metaKey) && e.key === "Enter") {
      const form = document.getElementById("launch");
      if (form) form.requestSubmit();
      return;
    }
    const field = e.target.closest("input:not([type=checkbox]):not([type=radio]), select, textarea, dialog");
    if (e.ctrlKey || e.metaKey || e.altKey || field || !on()) return;
    const second = Date.now() - after < 1200;
    after = 0;
    if (second && to[e.key]) location.assign(to[e.key]);
    else if (e.key === "g") after = Date.now();
    else if (e.key === "/") document.getElementById("pick-find")?.focus() ?? document.getElementById("find")?.focus();
    else if (e.key === "?") dialog?.showModal();
    else if (e.key === "n") location.assign("/runs/new/");
    else if (e.key === "j") move(1);
    else if (e.key === "k") move(-1);
    else if (e.key === "d") difference();
    else return;
    e.preventDefault();
  });
  document.addEventListener("click", (e) => {
    if (e.target.closest("[data-open=keys]")) dialog?.showModal();
  });
})();
