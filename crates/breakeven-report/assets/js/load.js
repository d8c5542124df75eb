// The machine's load over time: a plot per unit, one above the other, on one axis of time.

painters.load = (all, index, width) => {
  const { plots, limited } = all[index];
  const every = plots.flatMap(({ lines }) => lines.flatMap(({ points }) => points));
  const ends = [...every.map((point) => point.s), ...limited.flat()];
  const domain = [0, Math.max(...ends, 1e-9)];
  const drawings = plots.flatMap(({ axis, lines }) => {
    const points = lines.flatMap((line, at) => line.points.map((point) => ({ ...point, at })));
    const named = lines.length > 1 ? [key(lines.map((line) => line.name))] : [];
    return [...named, plot({
      width,
      height: 150,
      marginLeft: 64,
      marginRight: 24,
      x: { label: "seconds since the recording began", domain },
      y: { label: axis, grid: true, ticks: 4, nice: true, zero: axis.endsWith("%") },
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
