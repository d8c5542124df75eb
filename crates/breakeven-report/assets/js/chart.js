// Draws charts when they come into view, before printing, and again when their width changes.

// By kind: a function (section's data, index, width, figure) => node.
const painters = {};

// The section that has the data of a kind of chart.
const PART_OF = { shares: "overview", forest: "verdicts", curves: "break-even" };

const PAPER = 680;

function paint(figure, given) {
  const kind = figure.dataset.chart;
  const width = Math.max(280, Math.floor(given ?? figure.clientWidth));
  if (figure.dataset.width === String(width)) return;
  figure.dataset.width = String(width);
  const caption = figure.querySelector("figcaption");
  const index = Number(figure.dataset.index ?? 0);
  const node = painters[kind](data(PART_OF[kind] ?? kind), index, width, figure);
  figure.querySelector(".drawing")?.remove();
  const drawing = element("div", { class: "drawing" }, node);
  if (!node.matches(".surface, .operable")) {
    drawing.setAttribute("role", "img");
    drawing.setAttribute("aria-label", caption.textContent);
  }
  figure.append(drawing);
}

function startCharts() {
  const figures = [...document.querySelectorAll("figure.chart[data-chart]")];
  const known = figures.filter((figure) => painters[figure.dataset.chart]);
  const widths = new ResizeObserver((entries) => {
    requestAnimationFrame(() => {
      for (const { target } of entries) if (target.dataset.width) paint(target);
    });
  });
  const views = new IntersectionObserver((entries) => {
    for (const { target, isIntersecting } of entries) {
      if (!isIntersecting) continue;
      views.unobserve(target);
      paint(target);
      widths.observe(target);
    }
  }, { rootMargin: "300px" });
  for (const figure of known) views.observe(figure);
  // Uses the width of a paper page for printing, and restores the width afterwards.
  addEventListener("beforeprint", () => known.forEach((figure) => paint(figure, PAPER)));
  addEventListener("afterprint", () => known.forEach((figure) => paint(figure)));
}

// A chart of Observable Plot in the page's style.
function plot(options) {
  return Plot.plot({
    className: "plot",
    marginBottom: 44,
    ...options,
    style: { background: "transparent", fontSize: "12px", overflow: "visible" },
  });
}

// The tooltip of a mark: its `text`.
const tooltip = { title: "text", tip: { fill: "var(--bg)", stroke: "var(--muted)", lineWidth: 30 } };

// Names on the left of rows, and how much room they take.
function names(width, texts) {
  const longest = Math.max(4, ...texts.map((text) => text.length));
  const room = Math.min(longest * 6.8 + 12, width * 0.42);
  return { room, text: (index) => cutInside(texts[index], room - 10) };
}

// The legend: a colour and a name per series, then other marks: `[kind, color, name]`, the kind a
// class of swatch such as `line`.
function key(labels, ...marks) {
  const named = labels.map((label, index) => ["", series(index), label]);
  const items = [...named, ...marks].map(([kind, color, label]) => element("li", {},
    element("span", { class: `swatch ${kind}`, style: { color } }), label));
  return element("ul", { class: "key" }, ...items);
}
