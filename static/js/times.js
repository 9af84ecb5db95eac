// Writes moments in the reader's zone, and lets "since" figures go on. Also the theme choice and forms that send
// themselves. Runs again over whatever htmx brings in.
"use strict";
(() => {
  const two = (n) => String(n).padStart(2, "0");
  const clock = (d) => `${two(d.getHours())}:${two(d.getMinutes())}`;
  const day = new Intl.DateTimeFormat("en-GB", { day: "numeric", month: "short" });
  const full = new Intl.DateTimeFormat("en-GB", { dateStyle: "medium", timeStyle: "long" });

  function localise(root) {
    for (const el of root.querySelectorAll("time[datetime]:not([data-done])")) {
      const at = new Date(el.dateTime);
      if (Number.isNaN(at.getTime())) continue;
      el.dataset.done = "";
      el.title = full.format(at);
      const form = el.dataset.form;
      if (form === "second") el.textContent = `${clock(at)}:${two(at.getSeconds())}`;
      else if (form === "minute") el.textContent = clock(at);
      else el.textContent = `${day.format(at)} ${clock(at)}`;
    }
    for (const el of root.querySelectorAll(".js[hidden], .themes[hidden], [data-open][hidden]")) el.hidden = false;
  }

  function long(s) {
    if (s < 60) return `${Math.round(s)}\u202fs`;
    const minutes = Math.floor(s / 60);
    if (minutes < 10) return `${minutes}\u202fmin` + (Math.floor(s) % 60 ? ` ${Math.floor(s) % 60}\u202fs` : "");
    if (minutes < 60) return `${minutes}\u202fmin`;
    return `${Math.floor(minutes / 60)}\u202fh` + (minutes % 60 ? ` ${minutes % 60}\u202fmin` : "");
  }

  function tick() {
    if (document.hidden) return;
    for (const el of document.querySelectorAll("[data-since]")) {
      const s = Math.max(0, (Date.now() - new Date(el.dataset.since)) / 1000);
      const hours = Math.floor(s / 3600);
      const short = `${Math.floor(s / 60) % 60}:${two(Math.floor(s) % 60)}`;
      el.textContent = el.dataset.form === "clock" ? (hours ? `${hours}:${short.padStart(5, "0")}` : short) : long(s);
    }
  }

  function showTheme() {
    const now = document.documentElement.dataset.theme || "auto";
    for (const b of document.querySelectorAll("[data-theme-choice]")) {
      b.setAttribute("aria-pressed", String(b.dataset.themeChoice === now));
    }
  }

  document.addEventListener("click", (e) => {
    const button = e.target.closest("[data-theme-choice]");
    if (!button) {
      for (const open of document.querySelectorAll("details.me[open], details.confirm[open]")) {
        if (!open.contains(e.target)) open.open = false;
      }
      return;
    }
    const choice = button.dataset.themeChoice;
    if (choice === "auto") delete document.documentElement.dataset.theme;
    else document.documentElement.dataset.theme = choice;
    try {
      if (choice === "auto") localStorage.removeItem("theme");
      else localStorage.setItem("theme", choice);
    } catch {
      // storage is off: the choice holds for this page
    }
    showTheme();
    document.dispatchEvent(new CustomEvent("theme-changed"));
  });
  document.addEventListener("change", (e) => {
    if (e.target.matches("[data-autosubmit]")) e.target.form.requestSubmit();
  });
  document.addEventListener("htmx:load", (e) => localise(e.target.parentElement || document));
  document.addEventListener("htmx:afterSettle", () => localise(document));
  localise(document);
  showTheme();
  const fold = document.querySelector("details.fold");
  if (fold && matchMedia("(max-width: 1100px)").matches) fold.open = false;
  setInterval(tick, 1000);
})();
