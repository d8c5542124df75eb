// Charts of lines: rooflines, time over size, history.

painters.roofline = (devices, index, width) => {
  const { roofs, flops_per_s: peak, dots } = devices[index];
  const over = dots.map((dot) => dot.intensity);
  const ridges = roofs.map((roof) => peak / roof.bytes_per_s);
  const from = Math.min(...over, ...ridges) / 2;
  const to = Math.max(...over, ...ridges) * 4;
  const roofed = roofs.flatMap((roof, at) => [from, peak / roof.bytes_per_s, to].map((x) => ({
    x, y: Math.min(peak, x * roof.bytes_per_s), roof: at,
  })));
  const lowest = Math.min(...dots.map((dot) => dot.flops_per_s), ...roofed.map((point) => point.y));
  const drawing = plot({
    width,
    height: Math.min(440, Math.max(300, width * 0.55)),
    marginLeft: 64,
    marginRight: 24,
    x: {
      type: "log", domain: [from, to], label: "floating-point operations per byte", grid: true,
      tickFormat: prefixed, ticks: Math.max(3, Math.floor(width / 120)),
    },
    y: {
      type: "log", domain: [lowest / 2, peak * 2], label: "FLOP/s", grid: true, ticks: 6,
      tickFormat: prefixed,
    },
    color: { type: "identity" },
    marks: [
      Plot.line(roofed, { x: "x", y: "y", z: "roof", stroke: (point) => series(point.roof), strokeWidth: 2 }),
      Plot.dot(dots, {
        x: "intensity", y: "flops_per_s", r: 5, fill: "var(--fg)", fillOpacity: 0.75,
        stroke: "var(--bg)", ...tooltip,
      }),
      Plot.text(apart(dots, [from, to], [lowest / 2, peak * 2], width), {
        x: "intensity", y: "flops_per_s", text: (dot) => cutInside(dot.name, width / 4), dy: -11,
        fill: "var(--fg)", stroke: "var(--bg)", strokeWidth: 3, textAnchor: "middle",
      }),
    ],
  });
  return element("div", {}, key(roofs.map((roof) => roof.text)), drawing);
};

// The dots whose labels fit without covering an earlier label.
function apart(dots, [left, right], [bottom, top], width) {
  const way = (value, from, to) => Math.log(value / from) / Math.log(to / from);
  const named = [];
  for (const dot of dots) {
    const x = way(dot.intensity, left, right) * width;
    const y = way(dot.flops_per_s, bottom, top) * 350;
    const free = named.every((other) => Math.abs(other.x - x) > width / 4 || Math.abs(other.y - y) > 22);
    if (free && named.length < 25) named.push({ dot, x, y });
  }
  return named.map(({ dot }) => dot);
}

painters.curves = (all, index, width) => {
  const { lines, marks } = all[index];
  const points = lines.flatMap((line, at) => line.points.map((point) => ({ ...point, at })));
  const zones = marks.filter((mark) => mark.interval && mark.interval[0] > 0);
  const least = Math.min(...points.map((point) => point.size));
  const drawing = plot({
    width,
    height: Math.min(400, Math.max(280, width * 0.5)),
    marginLeft: 64,
    marginRight: 24,
    x: {
      type: "log", label: "size (elements)", grid: true, tickFormat: prefixed,
      ticks: Math.max(3, Math.floor(width / 110)),
    },
    y: { type: "log", label: "median time of a call", grid: true, tickFormat: tick, ticks: 6 },
    color: { type: "identity" },
    marks: [
      Plot.rectX(zones, {
        x1: (mark) => mark.interval[0], x2: (mark) => mark.interval[1], fill: "var(--band)",
      }),
      Plot.ruleX(marks.filter((mark) => mark.size >= least), {
        x: "size", stroke: "var(--fg)", strokeDasharray: "4 3", ...tooltip,
      }),
      Plot.areaY(points, {
        x: "size", y1: "low", y2: "high", z: "at", fill: (point) => series(point.at), fillOpacity: 0.2,
      }),
      Plot.line(points, { x: "size", y: "ns", z: "at", stroke: (point) => series(point.at) }),
      Plot.dot(points, { x: "size", y: "ns", fill: (point) => series(point.at), r: 3.5, ...tooltip }),
    ],
  });
  const legend = [["range", "var(--muted)", "fastest to slowest run"]];
  if (zones.length) legend.push(["band", "var(--band)", "95 % interval of the break-even"]);
  if (marks.length) legend.push(["dashed", "var(--fg)", "break-even"]);
  return element("div", {}, key(lines.map((line) => line.device), ...legend), drawing);
};

painters.history = (all, index, width) => {
  const { unit, points, levels, changes } = all[index];
  const at = (_, place) => place;
  const known = points.map((point, place) => ({ ...point, place }))
    .filter((point) => point.value !== null);
  // As many revisions as there is room for.
  const every = Math.ceil(points.length / Math.max(2, Math.floor((width - 88) / 84)));
  const named = points.map((_, place) => place)
    .filter((place) => (points.length - 1 - place) % every === 0);
  const legend = [["band", "var(--band)", "interval of a value"]];
  if (levels.length) legend.push(["line", "var(--muted)", "level"]);
  if (changes.some((change) => change.worse)) legend.push(["line", "var(--bad)", "became slower"]);
  if (changes.some((change) => !change.worse)) legend.push(["line", "var(--good)", "became faster"]);
  const drawing = plot({
    width,
    height: 230,
    marginLeft: 64,
    marginRight: 40,
    marginBottom: 40,
    x: {
      label: null, ticks: named, tickFormat: (place) => points[place].tick,
      domain: [-0.5, points.length - 0.5],
    },
    y: { label: null, grid: true, tickFormat: tick, ticks: 5, nice: true },
    color: { type: "identity" },
    marks: [
      Plot.areaY(points, { x: at, y1: "low", y2: "high", fill: "var(--band)" }),
      Plot.ruleX(changes, {
        x: (change) => change.index - 0.5, strokeWidth: 2,
        stroke: (change) => change.worse ? "var(--bad)" : "var(--good)", ...tooltip,
      }),
      Plot.ruleY(levels, {
        x1: (level) => level.from - 0.4, x2: (level) => level.to + 0.4, y: "value",
        stroke: "var(--muted)", strokeWidth: 2,
      }),
      Plot.line(points, { x: at, y: "value", stroke: "var(--series-0)" }),
      Plot.dot(known, { x: "place", y: "value", fill: "var(--series-0)", r: 3.5, ...tooltip }),
    ],
  });
  return element("div", {}, key([unit], ...legend), drawing);
};
