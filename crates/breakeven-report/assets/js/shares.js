// Where the time goes: a bar per operation.

painters.shares = (bars, _, width) => {
  const label = names(width, bars.map((bar) => bar.name));
  return plot({
    width,
    height: bars.length * 24 + 12,
    marginLeft: label.room,
    marginRight: 120,
    marginTop: 4,
    marginBottom: 4,
    // Each bar has its figure at its end.
    x: { axis: null },
    y: { label: null, domain: bars.map((_, index) => index), tickFormat: label.text, tickSize: 0 },
    marks: [
      Plot.barX(bars, { x: "share", y: (_, index) => index, fill: "var(--series-0)", ...tooltip }),
      Plot.text(bars, {
        x: "share", y: (_, index) => index, text: "text", textAnchor: "start", dx: 6,
        fill: "var(--fg)",
      }),
      Plot.ruleX([0]),
    ],
  });
};
