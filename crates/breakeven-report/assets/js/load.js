// The machine's load over time: a plot per unit, one above the other, on one axis of time.

painters.load = (all, index, width) => {
  const { plots, limited } = all[index];
  const every = plots.flatMap(({ lines }) => lines.flatMap(({ points }) => points));
  const ends = [...every.map((point) => point.s), ...limited.flat()];
  const domain = [0, Math.max(...ends, 1e-9)];
  const legend = [];
  if (every.some(({ low, high }) => low < high)) {
    legend.push(["range", "var(--muted)", "least to greatest reading"]);
  }
  if (limited.length) legend.push(["band", "var(--band)", "throttled clocks"]);
  const drawings = plots.flatMap(({ axis, lines }, place) => {
    const points = lines.flatMap((line, at) => line.points.map((point) => ({ ...point, at })));
    const label = place === plots.length - 1 ? "seconds since the recording began" : null;
    return [key(lines.map((line) => line.name), ...legend), plot({
      width,
      height: 150,
      marginLeft: 64,
      marginRight: 24,
      x: { label, domain },
      y: {
        label: axis, grid: true, ticks: 4, nice: true, zero: axis.endsWith("%"),
        tickFormat: (value) => String(Number(value.toPrecision(3))),
      },
      color: { type: "identity" },
      marks: [
        Plot.rectX(limited, { x1: (span) => span[0], x2: (span) => span[1], fill: "var(--band)" }),
        Plot.areaY(points, {
          x: "s", y1: "low", y2: "high", z: "at", fill: (point) => series(point.at), fillOpacity: 0.2,
        }),
        Plot.line(points, { x: "s", y: "value", z: "at", stroke: (point) => series(point.at) }),
        Plot.dot(points, { x: "s", y: "value", fill: (point) => series(point.at), r: 2 }),
      ],
    })];
  });
  return element("div", {}, ...drawings);
};
