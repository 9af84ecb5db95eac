// The run page while it is live: polls rest in a hidden tab, a lost connection is said, nothing moves under the
// reader's pointer, and what is new shows itself once.
"use strict";
(() => {
  const stream = () => document.getElementById("stream");
  const held = document.getElementById("held");
  let waiting = null;
  let lost = null;
  let spoken = 0;
  let version = document.getElementById("chart-note")?.dataset.version;

  const inside = () => stream()?.matches(":hover") || stream()?.contains(document.activeElement);
  const keys = (list) => new Set([...list.querySelectorAll("li[id]")].map((li) => li.id));

  function put(fresh) {
    const old = stream();
    const seen = keys(old);
    const bare = !seen.size;
    for (const li of fresh.querySelectorAll("li[id]")) li.classList.toggle("new", !bare && !seen.has(li.id));
    fresh.removeAttribute("hx-swap-oob");
    old.replaceWith(fresh);
    document.dispatchEvent(new CustomEvent("htmx:afterSettle"));
  }
  function release() {
    if (waiting) put(waiting);
    waiting = null;
    held.hidden = true;
  }
  function hold(fresh) {
    waiting = fresh;
    const seen = keys(stream());
    const count = [...keys(fresh)].filter((key) => !seen.has(key)).length;
    held.textContent = `${count} newer held`;
    held.hidden = !count;
  }
  function sorted() {
    const gaps = [...document.querySelectorAll("#rows tr[data-gap]")].map((r) => Number(r.dataset.gap || -1));
    const link = document.getElementById("resort");
    if (link) link.hidden = gaps.every((g, i) => !i || g <= gaps[i - 1] + 1e-9);
  }
  function say(on) {
    const tag = document.querySelector("#run-state .tag");
    if (!tag) return;
    let note = document.getElementById("not-live");
    if (on) {
      note?.remove();
      lost = null;
      return;
    }
    lost ??= new Date();
    if (!note) {
      note = Object.assign(document.createElement("span"), { id: "not-live", className: "tag" });
      document.getElementById("run-state").after(note);
    }
    const two = (n) => String(n).padStart(2, "0");
    note.textContent = `not live since ${two(lost.getHours())}:${two(lost.getMinutes())}`;
  }

  document.addEventListener("htmx:beforeRequest", (e) => {
    if (e.target.id === "poll" && document.hidden) e.preventDefault();
  });
  document.addEventListener("htmx:oobBeforeSwap", (e) => {
    const { target, fragment } = e.detail;
    const fresh = fragment.firstElementChild;
    if (!fresh) return;
    if (target.id === "run-acts" && target.dataset.key === fresh.dataset.key) {
      // The same buttons: what is open or half done among them stays as it is.
      e.detail.shouldSwap = false;
    } else if (target.id === "stream") {
      e.detail.shouldSwap = false;
      if (inside()) hold(fresh);
      else {
        waiting = null;
        held.hidden = true;
        put(fresh);
      }
    } else if (target.id === "said") {
      if (Date.now() - spoken < 10000 || target.textContent === fresh.textContent) e.detail.shouldSwap = false;
      else spoken = Date.now();
    }
  });
  document.addEventListener("htmx:afterRequest", (e) => {
    if (e.target.id !== "poll" && e.detail.pathInfo?.requestPath?.includes("/live/") !== true) return;
    const status = e.detail.xhr.status;
    say(status > 0 && status < 500);
  });
  document.addEventListener("htmx:sendError", (e) => {
    if (e.target.id === "poll") say(false);
  });
  document.addEventListener("htmx:afterSettle", () => {
    const now = document.getElementById("chart-note")?.dataset.version;
    if (now && now !== version) {
      version = now;
      document.dispatchEvent(new CustomEvent("chart-changed"));
    }
    sorted();
  });
  held?.addEventListener("click", release);
  document.addEventListener("mouseout", (e) => {
    if (waiting && stream() && !stream().contains(e.relatedTarget) && !inside()) release();
  });
})();
