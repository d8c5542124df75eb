// The verdicts: each change with its interval, over the band of changes below the threshold.

const TONE = {
  REGRESSION: "var(--bad)", IMPROVEMENT: "var(--good)", INCONCLUSIVE: "var(--warning)",
};

// Changes that an axis may name, as ratios; as many of them as there is room for.
function changes(low, high, most) {
  const percents = [0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 50];
  const more = [2, 3, 5, 10, 30, 100, 300, 1000];
  const slower = [...percents.map((percent) => 1 + percent / 100), ...more];
  const faster = [...percents.map((percent) => 1 - percent / 100), ...more.slice(1).map((by) => 1 / by)];
  for (let first = 0; first < slower.length; first += 1) {
    const above = slower.slice(first).filter((ratio) => ratio <= high);
    const below = faster.slice(first).filter((ratio) => ratio >= low);
    const ticks = [...below.reverse(), 1, ...above];
    // No closer to each other than the available height allows.
    const apart = Math.log(high / low) / most;
    const near = (ratio, index) => index > 0 && Math.log(ratio / ticks[index - 1]) < apart;
    if (!ticks.some(near)) return ticks;
  }
  return [1];
}

painters.forest = (rows, _, width) => {
  const label = names(width, rows.map((row) => row.name));
  const y = (_, index) => index;
  const ends = rows.flatMap((row) => [
    row.ratio, ...(row.interval ?? []), 1 + row.threshold, 1 / (1 + row.threshold),
  ]).filter((ratio) => ratio > 0);
  // An extreme change is drawn at the edge; its text has the figure.
  const low = Math.max(Math.min(...ends) / 1.03, 1e-3);
  const high = Math.min(Math.max(...ends) * 1.03, 1e3);
  const inside = (ratio) => Math.min(Math.max(ratio, low), high);
  const color = (row) => TONE[row.verdict] ?? "var(--muted)";
  const tested = rows.map((row, index) => ({ ...row, index })).filter((row) => row.interval);
  const verdicts = new Set(rows.map((row) => row.verdict));
  const marks = Object.entries(TONE).filter(([verdict]) => verdicts.has(verdict))
    .map(([verdict, color]) => ["", color, verdict]);
  if (rows.some((row) => !row.interval)) marks.push(["diamond", "var(--muted)", "not tested"]);
  const drawing = plot({
    width,
    height: rows.length * 22 + 66,
    marginLeft: label.room,
    marginRight: 24,
    x: {
      type: "log", domain: [low, high], label: "← faster, slower →", labelAnchor: "center",
      labelArrow: "none", grid: true,
      ticks: changes(low, high, (width - label.room) / 48), tickFormat: changeTick,
    },
    y: { label: null, domain: rows.map((_, index) => index), tickFormat: label.text, tickSize: 0 },
    marks: [
      Plot.barX(rows, {
        x1: (row) => inside(1 / (1 + row.threshold)), x2: (row) => inside(1 + row.threshold), y,
        fill: "var(--band)", insetTop: -1, insetBottom: -1,
      }),
      Plot.ruleX([1], { stroke: "var(--muted)" }),
      Plot.ruleY(tested, {
        x1: (row) => inside(row.interval[0]), x2: (row) => inside(row.interval[1]), y: "index",
        stroke: color, strokeWidth: 2.5,
      }),
      Plot.dot(rows, {
        x: (row) => inside(row.ratio), y, r: 4.5, fill: color,
        symbol: (row) => row.interval ? "circle" : "diamond", ...tooltip,
      }),
    ],
    symbol: { type: "identity" },
    color: { type: "identity" },
  });
  const band = ["band", "var(--band)", "below the threshold: no change that counts"];
  return element("div", {}, key([], ...marks, band), drawing);
};
