// Triage: 1 to 6 settle, with shift the whole group; u undo, c comment, a assign, Esc closes. The new case's heading
// gets the focus, and evidence and its lines mark each other. Every key presses a control that is there.
"use strict";
(() => {
  const one = (selector) => document.querySelector(selector);

  function on() {
    try {
      return localStorage.getItem("keys") !== "off";
    } catch {
      return true;
    }
  }
  function settle(key, group) {
    const button = one(`[data-verdict="${key}"]`);
    if (!button) return;
    const whole = one("[name=scope]:checked:not([value=one])") || one("[data-group]");
    if (group && whole) whole.checked = true;
    button.click();
  }
  function go(el) {
    if (!el) return;
    el.scrollIntoView({ block: "center" });
    el.focus({ preventScroll: true });
  }

  document.addEventListener("keydown", (e) => {
    if (e.key === "Shift") one(".verdicts")?.classList.add("whole");
    if (e.key === "Escape" && e.target.closest?.("#case input, #case select, #case textarea, #filters *")) {
      return void one("#case-h")?.focus({ preventScroll: true });
    }
    if (e.key === "Enter" && e.target.id === "give") {
      e.preventDefault();
      return void e.target.form.requestSubmit();
    }
    const field = e.target.closest?.("input:not([type=checkbox]):not([type=radio]), select, textarea, dialog");
    if (e.ctrlKey || e.metaKey || e.altKey || field || e.repeat || !on()) return;
    const digit = /^(?:Digit|Numpad)([1-6])$/.exec(e.code)?.[1] || (/^[1-6]$/.test(e.key) ? e.key : "");
    if (digit) settle(digit, e.shiftKey);
    else if (e.key === "u") one("[data-undo]")?.click();
    else if (e.key === "c") go(one("#say"));
    else if (e.key === "a") go(one("#give"));
    else return;
    e.preventDefault();
  });
  document.addEventListener("keyup", (e) => {
    if (e.key === "Shift") one(".verdicts")?.classList.remove("whole");
  });

  // one verdict at a time: a second press before the next case has come would settle that one unseen
  document.addEventListener("htmx:beforeRequest", (e) => {
    if (e.detail.target?.id !== "case") return;
    if (document.documentElement.dataset.moving) e.preventDefault();
    else document.documentElement.dataset.moving = "1";
  });
  document.addEventListener("htmx:afterRequest", (e) => {
    if (e.detail.target?.id === "case") delete document.documentElement.dataset.moving;
  });
  function lost(e, why) {
    const article = e.detail.target?.id === "case" && one("#case");
    if (!article) return;
    one("#not-taken")?.remove();
    const note = Object.assign(document.createElement("p"), { id: "not-taken", className: "note err", textContent: why });
    note.setAttribute("role", "alert");
    article.prepend(note);
    note.scrollIntoView({ block: "nearest" });
  }
  document.addEventListener("htmx:sendError", (e) => lost(e, "Nothing was changed: the server does not answer."));
  document.addEventListener("htmx:responseError", (e) => {
    const status = e.detail.xhr.status;
    const why = status === 403 ? "this takes a right that you do not have, or the page is too old" : `the server said ${status}`;
    lost(e, `Nothing was changed: ${why}. Load the page again.`);
  });
  document.addEventListener("htmx:afterSwap", (e) => {
    if (e.detail.requestConfig?.elt?.dataset?.stay) return void one(`#${e.detail.requestConfig.elt.dataset.stay}`)?.focus();
    if (e.detail.target?.id !== "case") return;
    const head = one("#case-h");
    if (!head) return;
    const top = one("#case").getBoundingClientRect().top;
    if (top < 0 || top > innerHeight / 2) one("#case").scrollIntoView({ block: "start" });
    head.focus({ preventScroll: true });
    document.title = `${head.textContent}, ${one("#case .who .mono").textContent} · Triage · μCUTLASS`;
  });
  document.addEventListener("htmx:afterSettle", () => {
    one("#inbox [aria-current=true]")?.scrollIntoView({ block: "nearest" });
  });

  function mark(el) {
    const numbers = (el?.dataset.e || "").split(" ").filter(Boolean);
    for (const other of document.querySelectorAll("#case [data-e]")) {
      other.classList.toggle("on", other.dataset.e.split(" ").some((n) => numbers.includes(n)));
    }
  }
  document.addEventListener("mouseover", (e) => mark(e.target.closest("#case [data-e]")));
  document.addEventListener("focusin", (e) => mark(e.target.closest("#case [data-e]")));
})();
