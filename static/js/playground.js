// The editor: line numbers, Tab, the way from an error or a generated line to its place in the text and back.
"use strict";
(() => {
  const source = document.getElementById("source");
  const gutter = document.getElementById("gutter");
  const result = document.getElementById("result");
  const said = document.getElementById("said");
  if (!source || !result) return;
  let leaving = false;

  function number() {
    const count = source.value.split("\n").length;
    while (gutter.children.length > count) gutter.lastChild.remove();
    for (let n = gutter.children.length + 1; n <= count; n += 1) {
      const line = document.createElement("span");
      line.className = "l";
      line.id = `M${n}`;
      line.textContent = n;
      gutter.append(line);
    }
    gutter.scrollTop = source.scrollTop;
  }
  function go(line, column) {
    const lines = source.value.split("\n");
    const row = Math.min(line, lines.length);
    const before = lines.slice(0, row - 1).reduce((sum, text) => sum + text.length + 1, 0);
    const at = before + Math.min(column - 1, lines[row - 1].length);
    source.focus();
    source.setSelectionRange(at, at);
    const top = (row - 1) * 18;
    if (top < source.scrollTop || top > source.scrollTop + source.clientHeight - 36) {
      source.scrollTop = Math.max(0, top - source.clientHeight / 3);
    }
  }
  function read() {
    const bad = new Set([...result.querySelectorAll("[data-goto]")].map((a) => a.dataset.goto.split(":")[0]));
    for (const line of gutter.children) line.classList.toggle("chg", bad.has(line.textContent));
    const words = result.querySelector("[data-said]")?.dataset.said || "";
    if (said.textContent !== words) said.textContent = words;
    follow();
  }
  function follow() {
    const line = source.value.slice(0, source.selectionStart).split("\n").length;
    for (const l of document.querySelectorAll("#result .l.held, #gutter .l.held")) l.classList.remove("held");
    const own = [...result.querySelectorAll(".l[data-to]")].filter((l) => l.dataset.to.split(" ").includes(`M${line}`));
    for (const l of own) l.classList.add("held");
    if (own.length) gutter.children[line - 1]?.classList.add("held");
  }

  source.addEventListener("input", number);
  source.addEventListener("scroll", () => (gutter.scrollTop = source.scrollTop));
  source.addEventListener("keydown", (e) => {
    if (e.key === "Enter" && (e.ctrlKey || e.metaKey)) {
      e.preventDefault();
      document.getElementById("go")?.click();
    } else if (e.key === "Tab" && !e.shiftKey && !leaving) {
      e.preventDefault();
      // execCommand keeps the step undoable; where it is gone, the text still comes in.
      if (!document.execCommand?.("insertText", false, "  ")) {
        source.setRangeText("  ", source.selectionStart, source.selectionEnd, "end");
        source.dispatchEvent(new Event("input", { bubbles: true }));
      }
    }
    if (e.key !== "Shift") leaving = e.key === "Escape";
  });
  // Another language wants another text: a new one where nothing was typed yet, else the one there stays.
  document.getElementById("language")?.addEventListener("change", () => {
    if (source.value === source.defaultValue) document.getElementById("fresh")?.click();
  });
  document.addEventListener("selectionchange", () => document.activeElement === source && follow());
  result.addEventListener("click", (e) => {
    const place = e.target.closest("[data-goto]");
    if (place) {
      e.preventDefault();
      go(...place.dataset.goto.split(":").map(Number));
      return;
    }
    const line = e.target.closest(".l[data-to]");
    if (line && !getSelection().toString()) go(Number(line.dataset.to.split(" ")[0].slice(1)), 1);
  });
  document.body.addEventListener("htmx:afterSwap", (e) => e.detail.target === result && read());
  for (const failure of ["htmx:responseError", "htmx:sendError"]) {
    document.body.addEventListener(failure, () => {
      said.textContent = "";
      let note = document.getElementById("unchecked");
      if (!note) {
        note = document.createElement("p");
        note.id = "unchecked";
        note.className = "note";
        result.prepend(note);
      }
      note.textContent = "The text as it stands has not been checked: the server did not answer, or refused its length.";
    });
  }
  // After "back" the browser brings the edited text again, and beside it the answer to the first one.
  addEventListener("pageshow", () => {
    number();
    read();
    if (source.value !== source.defaultValue) source.dispatchEvent(new Event("input", { bubbles: true }));
  });
})();
