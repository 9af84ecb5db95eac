// Draws the run's chart from its JSON with the theme's colours, makes its points reachable by keyboard, and draws it
// again when the data's version, the theme or the chosen problem changes.
"use strict";
(() => {
  const frame = document.getElementById("chart");
  if (!frame || !window.Plotly) return;
  const plot = frame.querySelector(".plot");
  const config = { displayModeBar: false, responsive: true, scrollZoom: false, doubleClick: false, showTips: false };
  let figure = null;
  let asked = 0;

  const probe = document.createElement("span");
  probe.hidden = true;
  document.body.append(probe);
  function colour(token) {
    if (token === "--sans") return getComputedStyle(document.body).fontFamily;
    probe.style.color = `var(${token})`;
    return getComputedStyle(probe).color;
  }
  function themed(value) {
    if (typeof value === "string") return value.startsWith("--") ? colour(value) : value;
    if (Array.isArray(value)) return value.map(themed);
    if (value && typeof value === "object") {
      return Object.fromEntries(Object.entries(value).map(([k, v]) => [k, themed(v)]));
    }
    return value;
  }

  function fit(layout) {
    if (frame.clientWidth >= 560) return layout;
    layout.margin = { ...layout.margin, l: 34, r: 12 };
    for (const note of layout.annotations) {
      if (note.xref !== "paper") Object.assign(note, { xanchor: "right", xshift: -6, yshift: 4 });
      else Object.assign(note, { xanchor: "right", xshift: 0, yanchor: note.text.startsWith("SOL") ? "top" : "bottom" });
    }
    layout.annotations = layout.annotations.filter((n) => !n.text.startsWith("near SOL"));
    return layout;
  }

  function reachable() {
    const traces = plot.querySelectorAll(".scatterlayer .trace");
    const shown = plot.data.filter((t) => t.visible !== false);
    traces.forEach((trace) => {
      const index = [...traces].indexOf(trace);
      const data = shown[index];
      if (!data || !data.customdata) return;
      trace.querySelectorAll(".point").forEach((point, i) => {
        const [address, sentence] = data.customdata[i] || [];
        if (!address) return;
        point.setAttribute("tabindex", "0");
        point.setAttribute("role", "link");
        point.setAttribute("aria-label", sentence);
        point.onkeydown = (e) => {
          if (e.key === "Enter") location.assign(address);
        };
      });
    });
  }

  async function draw() {
    if (!figure) return;
    const layout = fit(themed(structuredClone(figure.layout)));
    await Plotly.react(plot, themed(figure.data), layout, config);
    reachable();
  }

  async function load() {
    const mine = ++asked;
    const query = frame.dataset.problem ? `?problem=${encodeURIComponent(frame.dataset.problem)}` : "";
    try {
      const answer = await fetch(frame.dataset.src + query, { headers: { Accept: "application/json" } });
      if (!answer.ok || mine !== asked) return;
      figure = await answer.json();
    } catch {
      return; // the connection is lost: the page says so, the chart stays
    }
    await draw();
    if (!frame.dataset.wired) {
      frame.dataset.wired = "yes";
      plot.on("plotly_click", (e) => {
        const to = e.points[0]?.customdata?.[0];
        if (to) location.assign(to);
      });
    }
  }

  document.addEventListener("theme-changed", draw);
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", draw);
  document.addEventListener("chart-changed", load);
  let width = frame.clientWidth >= 560;
  addEventListener("resize", () => {
    if (width !== frame.clientWidth >= 560) {
      width = !width;
      draw();
    }
  });
  const form = document.querySelector("[data-chart-form]");
  form?.addEventListener("change", () => {
    frame.dataset.problem = new FormData(form).get("problem") || "";
    load();
  });
  document.addEventListener("click", (e) => {
    if (e.target.closest("[data-png]")) {
      Plotly.downloadImage(plot, { format: "png", width: 1200, height: 420, filename: frame.dataset.name });
    }
  });
  load();
})();
