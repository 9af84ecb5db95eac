// The list of problems to choose from: find, show chosen ones alone, choose all that are shown, count.
"use strict";
(() => {
  const find = document.getElementById("pick-find");
  const only = document.getElementById("pick-only");
  const all = document.getElementById("pick-all");
  const count = document.getElementById("count");
  const shown = document.getElementById("pick-shown");
  const rows = [...document.querySelectorAll(".pick tbody tr")];
  if (!find) return;
  const box = (row) => row.querySelector("input");

  function update() {
    const words = find.value.toLowerCase().split(/\s+/).filter(Boolean);
    for (const row of rows) {
      const has = words.every((w) => row.dataset.words.includes(w));
      row.hidden = !has || (only.checked && !box(row).checked);
    }
    const seen = rows.filter((r) => !r.hidden);
    const chosen = rows.filter((r) => box(r).checked);
    count.textContent = `${chosen.length} of ${rows.length} chosen`;
    shown.textContent = seen.length < rows.length ? `${seen.length} of ${rows.length} shown` : "";
    all.checked = seen.length > 0 && seen.every((r) => box(r).checked);
    all.indeterminate = !all.checked && seen.some((r) => box(r).checked);
  }
  find.addEventListener("input", update);
  find.addEventListener("keydown", (e) => {
    if (e.key === "Enter") e.preventDefault();
  });
  only.addEventListener("change", update);
  all.addEventListener("change", () => {
    for (const row of rows) if (!row.hidden) box(row).checked = all.checked;
    update();
  });
  document.querySelector(".pick").addEventListener("change", update);
  update();
})();
