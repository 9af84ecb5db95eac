// Draws Plotly charts from their JSON with the theme's colours, makes their points reachable by keyboard, moves r, and
// draws again when the data's version, the theme, the width or the chosen problem changes. A frame has its own address
// (data-src), or takes its figure by its key (data-chart) from one answer that all frames of the page share.
"use strict";
(() => {
  const frames = [...document.querySelectorAll("figure.frame[data-src], figure.frame[data-chart]")];
  if (!frames.length) return;
  // Plotly is large: figures are asked for while the browser still reads it.
  const script = document.querySelector("script[src*=plotly]");
  const plotly = window.Plotly ? Promise.resolve() : new Promise((done) => script.addEventListener("load", done));
  const shared = document.querySelector("[data-charts-src]");
  const config = { displayModeBar: false, responsive: true, scrollZoom: false, doubleClick: false, showTips: false };
  const NARROW = 560;

  const probe = document.createElement("span");
  probe.hidden = true;
  document.body.append(probe);
  const colours = new Map();
  function colour(token) {
    if (!colours.has(token)) {
      probe.style.color = `var(${token})`;
      const found = token === "--sans" ? getComputedStyle(document.body).fontFamily : getComputedStyle(probe).color;
      colours.set(token, found);
    }
    return colours.get(token);
  }
  const signs = { "&": "&amp;", "<": "&lt;", ">": "&gt;" };
  const escaped = (text) => text.replace(/[&<>]/g, (sign) => signs[sign]);
  function themed(value) {
    if (typeof value === "string") return value.startsWith("--") ? colour(value) : value;
    if (Array.isArray(value)) return typeof value[0] === "number" ? value : value.map(themed);
    if (!value || typeof value !== "object") return value;
    const found = {};
    for (const [key, one] of Object.entries(value)) {
      // Sentences hold names that others wrote: Plotly would read markup in them.
      found[key] = key === "customdata" && one ? one.map(([to, says]) => [to, escaped(says)]) : themed(one);
    }
    return found;
  }
  function laid(under, over) {
    for (const [key, one] of Object.entries(over || {})) {
      const deep = one && typeof one === "object" && !Array.isArray(one) && under[key];
      under[key] = deep ? laid({ ...under[key] }, one) : one;
    }
    return under;
  }

  class Chart {
    constructor(frame) {
      this.frame = frame;
      this.plot = frame.querySelector(".plot");
      this.figure = null;
      this.points = [];
    }
    get narrow() {
      return this.frame.clientWidth < NARROW;
    }
    layout() {
      const layout = structuredClone(this.figure.layout);
      const notes = (layout.annotations || []).filter((note) => !(this.narrow && note.narrow === false));
      for (const note of notes) {
        if (this.narrow) Object.assign(note, note.narrow);
        delete note.narrow;
      }
      layout.annotations = notes;
      return themed(this.narrow ? laid(layout, this.figure.narrow) : layout);
    }
    async draw() {
      if (!this.figure) return;
      this.drawnNarrow = this.narrow;
      const layout = this.layout();
      this.frame.style.height = `${layout.height}px`;
      await Plotly.react(this.plot, themed(this.figure.data), layout, config);
      this.frame.dataset.drawn = this.figure.data.length;
      this.reachable();
      if (this.wired) return;
      this.wired = true;
      this.plot.on("plotly_click", (e) => this.open(e.points[0]?.curveNumber, e.points[0]?.pointNumber));
      this.plot.addEventListener("keydown", (e) => this.key(e));
      this.plot.addEventListener("focusin", (e) => this.name(e.target));
      this.plot.addEventListener("focusout", () => Plotly.Fx.unhover(this.plot));
    }
    open(curve, index) {
      const to = this.figure.data[curve]?.customdata?.[index]?.[0];
      if (to) location.assign(to);
    }
    // One tab stop a chart; arrow keys go on from there, in the order of an axis.
    reachable() {
      const kept = this.points.findIndex((point) => point.el === document.activeElement);
      this.points = [];
      for (const trace of this.plot.querySelectorAll(".scatterlayer .trace")) {
        const curve = trace.__data__?.[0]?.trace?.index;
        const data = this.figure.data[curve];
        if (!data?.customdata) continue;
        for (const el of trace.querySelectorAll(".point")) {
          const index = el.__data__?.i;
          const [to, says] = data.customdata[index] || [];
          if (!to) continue;
          el.setAttribute("role", "link");
          el.setAttribute("aria-label", says);
          el.setAttribute("tabindex", "-1");
          this.points.push({ el, curve, index, x: data.x[index], y: data.y[index] });
        }
      }
      const first = this.points[Math.max(kept, 0)];
      first?.el.setAttribute("tabindex", "0");
      if (kept >= 0) first?.el.focus();
    }
    name(el) {
      const point = this.points.find((one) => one.el === el);
      if (point) Plotly.Fx.hover(this.plot, [{ curveNumber: point.curve, pointNumber: point.index }]);
    }
    key(e) {
      const here = this.points.find((point) => point.el === document.activeElement);
      if (!here || e.ctrlKey || e.metaKey || e.altKey) return;
      if (e.key === "Enter") return void this.open(here.curve, here.index);
      const range = this.figure.layout.yaxis.range;
      const up = range && range[0] > range[1] ? -1 : 1;
      const along = { ArrowRight: ["x", 1], ArrowLeft: ["x", -1], ArrowUp: ["y", up], ArrowDown: ["y", -up] }[e.key];
      if (!along && e.key !== "Home" && e.key !== "End") return;
      const [axis, way] = along || ["x", 0];
      const other = axis === "x" ? "y" : "x";
      const order = [...this.points].sort((a, b) => a[axis] - b[axis] || a[other] - b[other]);
      const at = { Home: 0, End: order.length - 1 }[e.key] ?? order.indexOf(here) + way;
      const next = order[at];
      e.preventDefault();
      if (!next || next === here) return;
      here.el.setAttribute("tabindex", "-1");
      next.el.setAttribute("tabindex", "0");
      next.el.focus();
    }
  }

  const charts = frames.map((frame) => new Chart(frame));
  const drawAll = async () => {
    for (const chart of charts) await chart.draw();
  };
  async function asked(address) {
    try {
      const answer = await fetch(address, { headers: { Accept: "application/json" } });
      return answer.ok ? await answer.json() : null;
    } catch {
      return null; // the connection is lost: the page says so, the charts stay
    }
  }
  let count = 0;
  async function load() {
    const mine = ++count;
    for (const chart of charts.filter((one) => one.frame.dataset.src)) {
      const { src, problem } = chart.frame.dataset;
      const found = await asked(src + (problem ? `?problem=${encodeURIComponent(problem)}` : ""));
      if (found && mine === count) chart.figure = found;
    }
    if (shared) {
      performance.mark("charts-asked");
      const found = await asked(shared.dataset.chartsSrc);
      if (!found || mine !== count) return;
      performance.mark("charts-answered");
      for (const chart of charts) chart.figure = found[chart.frame.dataset.chart] || chart.figure;
    }
    await plotly;
    if (mine !== count) return;
    performance.mark("charts-ready");
    if (slider && slider.value !== slider.defaultValue) move(false);
    await drawAll();
    performance.mark("charts-drawn");
  }

  // --- r, the speedup that Fast_p is read at -----------------------------------------------------------------------
  const slider = document.getElementById("r");
  const ratio = (value) => `${value >= 100 ? value.toFixed(0) : value >= 10 ? value.toFixed(1) : value.toFixed(2)}×`;
  const percent = (share) => `${Number((share * 100).toFixed(1))}\u202f%`;
  const named = (list, name) => list.find((one) => one.name === name);
  function shareAt(figure, r) {
    const { speedups, of, ends } = figure.reach;
    const reached = speedups.filter((value) => value >= r).length;
    const dot = named(figure.data, "at r");
    const rule = named(figure.layout.shapes, "r");
    const note = named(figure.layout.annotations, "r");
    if (!dot || !rule || !note) return "";
    Object.assign(dot, { x: [r], y: [reached / of] });
    Object.assign(rule, { x0: r, x1: r });
    const words = `Fast_p(${ratio(r)}) = ${percent(reached / of)}, ${reached} of ${of}`;
    const right = Math.log2(r) > (ends[0] + ends[1]) / 2;
    Object.assign(note, { text: `<b>${words}</b>`, x: Math.log10(r), xanchor: right ? "right" : "left" });
    return words;
  }
  function attemptsAt(figure, r) {
    const { rises, of, attempts } = figure.reach;
    const line = named(figure.data, "reached");
    const note = named(figure.layout.annotations, "r");
    if (!line || !note) return;
    const first = rises.map((rise) => rise.find(([, speedup]) => speedup >= r)?.[0]).filter(Boolean);
    line.x = Array.from({ length: attempts + 1 }, (_, k) => k);
    line.y = line.x.map((k) => first.filter((at) => at <= k).length / of);
    note.text = `<b>${first.length} of ${of} reached ${ratio(r)}</b>`;
  }
  function move(draw = true) {
    const r = 2 ** Number(slider.value);
    let words = "";
    for (const chart of charts) {
      if (!chart.figure?.reach) continue;
      if (chart.figure.reach.speedups) words = shareAt(chart.figure, r);
      else attemptsAt(chart.figure, r);
      if (draw) chart.draw();
    }
    if (!words) return;
    slider.setAttribute("aria-valuetext", words);
    document.getElementById("r-said").textContent = words;
  }
  if (slider) {
    slider.closest("[hidden]")?.removeAttribute("hidden");
    slider.addEventListener("input", () => move());
  }

  // --- what makes them draw again ----------------------------------------------------------------------------------
  const recoloured = () => {
    colours.clear();
    drawAll();
  };
  document.addEventListener("theme-changed", recoloured);
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", recoloured);
  document.addEventListener("chart-changed", load);
  addEventListener("resize", () => {
    for (const chart of charts) if (chart.figure && chart.drawnNarrow !== chart.narrow) chart.draw();
  });
  const form = document.querySelector("[data-chart-form]");
  form?.addEventListener("change", () => {
    charts[0].frame.dataset.problem = new FormData(form).get("problem") || "";
    load();
  });
  document.addEventListener("click", (e) => {
    const button = e.target.closest("[data-png]");
    const chart = button && charts.find((one) => one.frame.id === button.dataset.png);
    if (!chart?.figure) return;
    const { height } = chart.figure.layout;
    const size = { width: 1200, height: Math.max(420, height) };
    Plotly.downloadImage(chart.plot, { format: "png", ...size, filename: chart.frame.dataset.name });
  });
  load();
})();
