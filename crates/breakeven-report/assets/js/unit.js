// Formats times like breakeven_profile::unit, for axes and for data without a text of its own.
// A test compares the two.

const TIMES = [
  [1e-3, "ps"], [1, "ns"], [1e3, "µs"], [1e6, "ms"], [1e9, "s"], [60e9, "min"], [3600e9, "h"],
];

function grouped(value) {
  if (Math.abs(value) >= 1e21) return value.toExponential(2).replace("+", "");
  const digits = Math.abs(value).toFixed(0).replace(/\B(?=(\d{3})+$)/g, " ");
  return value < 0 ? `-${digits}` : digits;
}

function threeDigits(value) {
  const size = Math.abs(value);
  const decimals = size < 9.995 ? 2 : size < 99.95 ? 1 : size < 999.5 ? 0 : -1;
  return decimals < 0 ? grouped(value) : value.toFixed(decimals);
}

function timeText(ns) {
  if (ns === 0) return "0 ns";
  if (!Number.isFinite(ns)) return "–";
  for (let index = 0; index < TIMES.length; index += 1) {
    const [size, unit] = TIMES[index];
    const next = TIMES[index + 1];
    const most = next ? Math.max(next[0] / size, 1000) : Infinity;
    const digits = threeDigits(ns / size);
    if (Math.abs(Number(digits.replaceAll(" ", ""))) < most) return `${digits} ${unit}`;
  }
  return "–";
}

// Short times for the ticks of an axis: `10 µs`, not `10.0 µs`.
function tick(ns) {
  return timeText(ns).replace(/(\.\d*?)0+ /, "$1 ").replace(". ", " ");
}

// A ratio as a change: `+5 %`, `-50 %`, `× 10`.
function changeTick(ratio) {
  if (ratio >= 10) return `× ${Number(ratio.toPrecision(3))}`;
  const percent = Number(((ratio - 1) * 100).toPrecision(3));
  return `${percent > 0 ? "+" : ""}${percent} %`;
}

// A number with a prefix for the ticks of an axis: `10 G`.
function prefixed(value) {
  const found = [[1e15, "P"], [1e12, "T"], [1e9, "G"], [1e6, "M"], [1e3, "k"], [1, ""]]
    .find(([size]) => value >= size);
  if (!found) return String(Number(value.toPrecision(3)));
  return `${Number((value / found[0]).toPrecision(3))} ${found[1]}`.trim();
}

const percentText = (fraction) => `${((Math.round(fraction * 1000) / 10) || 0).toFixed(1)} %`;
