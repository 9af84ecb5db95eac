// A candidate's page: c remarks on the line under the pointer, held or named in the address; y copies a link to it;
// [ and ] go from section to section. The form works without any of this.
"use strict";
(() => {
  const form = document.getElementById("say");
  let over = null;

  function on() {
    try {
      return localStorage.getItem("keys") !== "off";
    } catch {
      return true;
    }
  }
  document.addEventListener("mouseover", (e) => {
    over = e.target.closest("pre.code .l[id]");
  });
  const named = () => (/^#[ML]\d+$/.test(location.hash) ? document.querySelector(location.hash) : null);
  const line = () => over || document.querySelector("pre.code .l.held[id]") || named();

  function remark() {
    if (!form) return;
    const at = line();
    document.querySelectorAll(".code .l.picked").forEach((l) => l.classList.remove("picked"));
    if (at) {
      at.classList.add("picked");
      form.elements.line.value = at.id.slice(1);
      const chosen = document.querySelector("#code select[name=unit]")?.value;
      const first = [...form.elements.unit.options].find((o) => o.value)?.value || "";
      form.elements.unit.value = at.id[0] === "M" ? "" : chosen || first;
    }
    form.scrollIntoView({ block: "center" });
    form.elements.text.focus({ preventScroll: true });
  }
  function copyLink() {
    const at = line();
    const link = new URL(location.href);
    if (at) link.hash = at.id;
    const unit = document.querySelector("#code select[name=unit]")?.value;
    if (at?.id[0] === "L" && unit) link.searchParams.set("unit", unit);
    navigator.clipboard?.writeText(link.href);
    if (at) history.replaceState(null, "", link.href);
  }
  function section(step) {
    const tops = [...document.querySelectorAll("nav.tabs a")]
      .map((a) => document.getElementById(a.hash.slice(1)))
      .filter((part) => part?.offsetParent)
      .sort((a, b) => a.getBoundingClientRect().top - b.getBoundingClientRect().top);
    const place = (part) => part.getBoundingClientRect().top;
    const next = step > 0 ? tops.find((part) => place(part) > 60) : [...tops].reverse().find((part) => place(part) < 40);
    next?.scrollIntoView({ block: "start" });
  }
  document.addEventListener("keydown", (e) => {
    const field = e.target.closest("input, select, textarea, dialog");
    if (e.key === "Escape" && field && form?.contains(field)) return void field.blur();
    if (e.ctrlKey || e.metaKey || e.altKey || field || !on()) return;
    if (e.key === "c") remark();
    else if (e.key === "y") copyLink();
    else if (e.key === "]") section(1);
    else if (e.key === "[") section(-1);
    else return;
    e.preventDefault();
  });
})();
