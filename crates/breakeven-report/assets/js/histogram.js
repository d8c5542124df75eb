// How the times of an operation are distributed, a row per run. The report
// computes the counts; this only draws them.

function histogram(found, width) {
  const step = (found.to - found.from) / found.bins;
  const factor = (found.to / found.from) ** (1 / found.bins);
  const edge = (bin) => found.log ? found.from * factor ** bin : found.from + step * bin;
  // All samples are the same: a bin needs some width to be seen.
  const flat = found.to === found.from;
  const bars = found.runs.flatMap((counts, run) => counts.map((count, bin) => ({
    run, count,
    from: flat ? found.from * 0.995 : edge(bin),
    to: flat ? found.from * 1.005 || 1 : edge(bin + 1),
    text: flat ? `${count} samples of ${timeText(found.from)}`
      : `${count} samples from ${timeText(edge(bin))} to ${timeText(edge(bin + 1))}`,
  }))).filter((bar) => bar.count > 0);
  const drawing = plot({
    width,
    height: found.runs.length * 46 + 60,
    marginLeft: 52,
    x: {
      type: found.log ? "log" : "linear", label: "time of a call", tickFormat: tick,
      ticks: Math.max(2, Math.floor(width / 110)),
    },
    y: { axis: null },
    fy: { label: null, tickFormat: (run) => `run ${run + 1}`, padding: 0.15, axis: "left" },
    marks: [
      Plot.ruleY([0], { stroke: "var(--line)" }),
      Plot.rectY(bars, {
        x1: "from", x2: "to", y: "count", fy: "run", fill: "var(--series-0)", inset: 0.5, ...tooltip,
      }),
    ],
  });
  return element("figure", {},
    element("div", { role: "img", "aria-label": found.finding }, drawing),
    element("figcaption", {}, found.finding));
}
