// Single calls over time. Zoom and pan by the wheel, by dragging, by buttons and keys; the
// visible range is stored in the address.

const ROW = 18;

painters.timeline = (line, _, width, figure) => {
  const status = element("div", { class: "status", role: "status" });
  const tracks = [];
  let height = 26;
  for (const track of line.tracks) {
    tracks.push({ ...track, top: height + 18 });
    height += 18 + track.rows * ROW + 6;
  }
  const svg = drawn("svg", {
    width, height, viewBox: `0 0 ${width} ${height}`, tabindex: 0, role: "group",
    "aria-label": `${line.finding}. Arrow keys pan, plus and minus zoom, 0 shows all.`,
  });
  const axis = drawn("g", { transform: "translate(0 22)" });
  const calls = drawn("g");
  svg.append(axis, calls);
  const view = { from: 0, to: line.length };

  const draw = () => {
    const scale = d3.scaleLinear([view.from, view.to], [0, width]);
    d3.select(axis).call(d3.axisTop(scale).ticks(Math.max(2, width / 110)).tickSize(4).tickFormat(tick));
    calls.replaceChildren(...tracks.flatMap((track) => trackOf(track, line.names, scale, width)));
    status.textContent = `${timeText(view.from)} to ${timeText(view.to)} of ${timeText(line.length)}`;
  };
  const show = (from, to) => {
    const length = Math.min(Math.max(to - from, 10), line.length);
    view.from = Math.min(Math.max(from, 0), line.length - length);
    view.to = view.from + length;
    draw();
    const all = length === line.length;
    choose({ time: all ? null : `${Math.round(view.from)}-${Math.round(view.to)}` });
  };
  // Around a position, 0 to 1 of the visible range.
  const zoom = (factor, place = 0.5) => {
    const center = view.from + (view.to - view.from) * place;
    show(center - (center - view.from) * factor, center + (view.to - center) * factor);
  };
  const pan = (part) => {
    const by = (view.to - view.from) * part;
    show(view.from + by, view.to + by);
  };
  const all = () => show(0, line.length);
  const keys = {
    ArrowLeft: () => pan(-0.2), ArrowRight: () => pan(0.2), ArrowUp: () => zoom(0.5),
    ArrowDown: () => zoom(2), "+": () => zoom(0.5), "=": () => zoom(0.5), "-": () => zoom(2),
    0: all, Home: all,
  };
  svg.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || !keys[event.key]) return;
    event.preventDefault();
    keys[event.key]();
  });
  // The wheel scrolls the page until the chart has been clicked, unless Ctrl is pressed.
  svg.addEventListener("wheel", (event) => {
    if (!event.ctrlKey && document.activeElement !== svg) return;
    event.preventDefault();
    if (Math.abs(event.deltaX) > Math.abs(event.deltaY)) pan(event.deltaX / width);
    else zoom(1.002 ** event.deltaY, event.offsetX / width);
  }, { passive: false });
  let dragged = null;
  svg.addEventListener("pointerdown", (event) => {
    dragged = event.clientX;
    svg.setPointerCapture(event.pointerId);
  });
  svg.addEventListener("pointermove", (event) => {
    if (dragged === null) return;
    const by = (dragged - event.clientX) / width;
    dragged = event.clientX;
    pan(by);
  });
  for (const end of ["pointerup", "pointercancel"]) svg.addEventListener(end, () => { dragged = null; });
  svg.style.touchAction = "pan-y";

  const button = (text, label, action) =>
    element("button", { type: "button", "aria-label": label, onclick: action }, text);
  const tools = element("div", { class: "tools" },
    button("+", "zoom in", () => zoom(0.5)), button("−", "zoom out", () => zoom(2)),
    button("←", "earlier", () => pan(-0.4)), button("→", "later", () => pan(0.4)),
    button("all", "show all", all), status);
  const seen = () => {
    const [from, to] = (choice("time") ?? "").split("-").map(Number);
    [view.from, view.to] = to > from ? [from, Math.min(to, line.length)] : [0, line.length];
    draw();
  };
  if (!figure.dataset.follows) {
    figure.dataset.follows = "yes";
    followers.push(() => figure.seen());
  }
  figure.seen = seen;
  seen();
  return element("div", { class: "operable" }, tools, element("div", { class: "surface" }, svg));
};

// A track's name and its calls. Calls too short to be seen, side by side, are one bar.
function trackOf(track, labels, scale, width) {
  const nodes = [drawn("text", { x: 4, y: track.top - 5 }, cut(track.name, width))];
  const merged = new Map();
  for (const [row, name, start, duration] of track.calls) {
    const from = Math.max(scale(start), -2);
    const to = Math.min(scale(start + duration), width + 2);
    if (to < 0 || from > width) continue;
    if (to - from >= 1) {
      nodes.push(bar(track, row, from, to, labels[name], duration, name));
      continue;
    }
    const last = merged.get(row);
    if (last && from - last.to < 1) {
      last.to = Math.max(last.to, from + 1);
      last.count += 1;
      continue;
    }
    if (last) nodes.push(crowd(track, row, last));
    merged.set(row, { from, to: from + 1, count: 1 });
  }
  for (const [row, last] of merged) nodes.push(crowd(track, row, last));
  return nodes;
}

function bar(track, row, from, to, label, duration, name) {
  const text = `${label}: ${timeText(duration)}`;
  const group = drawn("g", { class: "frame" },
    drawn("rect", {
      x: from, y: track.top + row * ROW, width: to - from, height: ROW - 2, rx: 2, fill: hue(name),
    }, drawn("title", {}, text)));
  const room = cut(label, to - Math.max(from, 0) - 8);
  if (room) group.append(drawn("text", { x: Math.max(from, 0) + 4, y: track.top + row * ROW + 12 }, room));
  return group;
}

function crowd(track, row, { from, to, count }) {
  return drawn("rect", {
    x: from, y: track.top + row * ROW, width: to - from, height: ROW - 2, fill: "var(--muted)",
  }, drawn("title", {}, `${count} short ${count === 1 ? "call" : "calls"}: zoom in`));
}

// Light colors, on which dark text can be read in either scheme.
const hue = (name) => `hsl(${(name * 47 + 205) % 360} 62% 74%)`;
