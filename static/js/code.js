// Two panes of code: pointing at a line marks its partners in the other; a press holds the mark and brings them into
// view; arrow keys go from linked line to linked line. Copies a pane without its numbers.
"use strict";
(() => {
  let held = null;
  const partners = (line) => (line.dataset.to || "").split(" ").map((id) => document.getElementById(id)).filter(Boolean);
  const clear = (name) => document.querySelectorAll(`.code .l.${name}`).forEach((l) => l.classList.remove(name));

  function mark(line, name) {
    clear(name);
    if (!line) return;
    for (const l of [line, ...partners(line)]) l.classList.add(name);
  }
  function show(line) {
    const first = partners(line)[0];
    const pane = first?.closest("pre");
    if (!pane) return;
    const at = first.offsetTop - pane.offsetTop;
    if (at < pane.scrollTop || at > pane.scrollTop + pane.clientHeight - 24) {
      pane.scrollTop = at - pane.clientHeight / 3;
    }
  }
  function hold(line) {
    held = held === line ? null : line;
    mark(held, "held");
    if (held) show(held);
  }
  document.addEventListener("mouseover", (e) => mark(e.target.closest(".code .l[data-to]"), "on"));
  document.addEventListener("click", (e) => {
    const line = e.target.closest(".code .l[data-to]");
    if (line && !getSelection().toString()) hold(line);
    const copy = e.target.closest("[data-copy]");
    if (copy) {
      const lines = document.querySelectorAll(`#${copy.dataset.copy} .l code`);
      const text = [...lines].map((c) => c.textContent.replace(/\u200b/g, "")).join("\n");
      navigator.clipboard?.writeText(text).then(() => {
        copy.textContent = "Copied";
        setTimeout(() => (copy.textContent = "Copy"), 1500);
      });
    }
  });
  document.addEventListener("keydown", (e) => {
    const pane = e.target.closest?.("pre.code");
    if (!pane || !["ArrowDown", "ArrowUp"].includes(e.key)) return;
    const lines = [...pane.querySelectorAll(".l[data-to]")];
    if (!lines.length) return;
    const now = lines.indexOf(held);
    const next = lines[Math.min(lines.length - 1, Math.max(0, now + (e.key === "ArrowDown" ? 1 : -1)))];
    held = null;
    hold(next);
    next.scrollIntoView({ block: "nearest" });
    e.preventDefault();
  });
  const named = location.hash.match(/^#[ML]\d+$/) && document.querySelector(location.hash);
  if (named?.dataset.to) hold(named);
})();
