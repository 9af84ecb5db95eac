// Chooses kernels, attempts or runs to compare, two to six, and keeps the choice while filters and pages change;
// x compares, Enter on a row's box opens the row. Without this the form sends what is ticked on its page.
"use strict";
(() => {
  const form = document.querySelector("form[data-choose]");
  const bar = form?.querySelector("[data-compare]");
  if (!bar) return;
  const MOST = 6;
  // Candidates are chosen together from every list that has them; runs apart from them.
  const name = form.dataset.choose || "c";
  const store = name === "c" ? "compare" : `compare-${name}`;
  const said = bar.querySelector(".cmp-said");
  const clear = bar.querySelector("[data-compare-clear]");
  const button = bar.querySelector(".btn.pri");
  const hint = said.textContent;
  const boxes = [...form.querySelectorAll(`input[name=${name}]`)];

  function read() {
    try {
      const kept = JSON.parse(sessionStorage.getItem(store) || "[]");
      return Array.isArray(kept) ? kept : [];
    } catch {
      return [];
    }
  }
  let chosen = read();
  // A page may come with boxes ticked: they are chosen too, and stay so on the lists.
  for (const box of boxes) {
    if (box.defaultChecked && !chosen.some(([key]) => key === box.value)) chosen.push([box.value, box.dataset.label]);
  }
  function write() {
    try {
      sessionStorage.setItem(store, JSON.stringify(chosen));
    } catch {
      // storage is off: the choice holds for this page
    }
  }
  function show(note = "") {
    const keys = new Set(chosen.map(([key]) => key));
    for (const box of boxes) box.checked = keys.has(box.value);
    said.textContent = note || (chosen.length ? `${chosen.length} chosen: ${chosen.map(([, label]) => label).join(", ")}` : hint);
    clear.hidden = !chosen.length;
    button.firstChild.textContent = chosen.length > 1 ? `Compare ${chosen.length} ` : "Compare ";
    button.disabled = chosen.length < 2;
  }
  function compare() {
    if (chosen.length < 2) return void show("Choose one more to compare");
    const query = new URLSearchParams(chosen.map(([key]) => [name, key]));
    location.assign(`${form.action.split("?")[0]}?${query}`);
  }
  form.addEventListener("change", (e) => {
    const box = e.target.closest(`input[name=${name}]`);
    if (!box) return;
    const others = chosen.filter(([key]) => key !== box.value);
    if (box.checked && others.length >= MOST) return void show(`${MOST} are the most: take one away first`);
    chosen = box.checked ? [...others, [box.value, box.dataset.label]] : others;
    write();
    show();
  });
  clear.addEventListener("click", () => {
    chosen = [];
    write();
    show();
  });
  form.addEventListener("submit", (e) => {
    e.preventDefault();
    compare();
  });
  function on() {
    try {
      return localStorage.getItem("keys") !== "off";
    } catch {
      return true;
    }
  }
  document.addEventListener("keydown", (e) => {
    if (e.ctrlKey || e.metaKey || e.altKey) return;
    if (e.key === "Enter" && e.target.matches(`input[name=${name}]`)) {
      e.preventDefault();
      e.target.closest("tr").querySelector(".name a")?.click();
    } else if (e.key === "x" && on() && !e.target.closest("input:not([type=checkbox]), select, textarea, dialog")) {
      e.preventDefault();
      compare();
    }
  });
  addEventListener("pageshow", (e) => {
    if (e.persisted) chosen = read();
    show();
  });
  write();
  show();
})();
