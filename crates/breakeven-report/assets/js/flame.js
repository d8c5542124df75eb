// Call paths as an icicle, the outermost on top. A click or Enter on a frame
// zooms it to the full width; the arrow keys go from frame to frame.

const LAYER = 22;

painters.flame = (tree, _, width, figure) => {
  const nodes = tree.nodes.map(([name, parent, total, own], index) => ({
    index, name: tree.names[name], hue: name, parent, total, own, inside: [],
  }));
  const roots = [];
  for (const node of nodes) {
    node.siblings = node.parent < 0 ? roots : nodes[node.parent].inside;
    node.depth = node.parent < 0 ? 0 : nodes[node.parent].depth + 1;
    node.siblings.push(node);
  }
  const layers = Math.max(...nodes.map((node) => node.depth)) + 1;
  const height = layers * LAYER;
  const svg = drawn("svg", {
    width, height, viewBox: `0 0 ${width} ${height}`, role: "group", "aria-label": tree.finding,
  });
  const status = element("div", { class: "status", role: "status" });
  let [zoomed, focused] = [null, null];

  const say = (node) => {
    status.textContent = `${node.name}: ${timeText(node.total)}, ${percentText(node.total / tree.total)}`
      + ` of all, own ${timeText(node.own)}`;
  };
  // The position of each visible frame, 0 to 1.
  const layout = () => {
    const places = new Map();
    const put = (list, from, unit) => {
      for (const node of list) {
        places.set(node, [from, from + node.total * unit]);
        put(node.inside, from, unit);
        from += node.total * unit;
      }
    };
    if (zoomed) {
      for (let node = zoomed; node; node = nodes[node.parent]) places.set(node, [0, 1]);
      put(zoomed.inside, 0, 1 / zoomed.total);
    } else put(roots, 0, 1 / tree.total);
    return places;
  };
  const draw = () => {
    const frames = [];
    for (const [node, [from, to]] of layout()) {
      node.drawn = null;
      if ((to - from) * width < 0.8) continue;
      node.drawn = frame(node, from * width, to * width, node === (focused ?? zoomed ?? roots[0]));
      frames.push(node.drawn);
    }
    svg.replaceChildren(...frames);
  };
  const zoom = (node) => {
    zoomed = node;
    focused = node ?? roots[0];
    draw();
    say(focused);
    choose({ frame: node ? String(node.index) : null });
  };
  const go = (node) => {
    if (!node?.drawn) return;
    focused?.drawn?.setAttribute("tabindex", "-1");
    focused = node;
    node.drawn.setAttribute("tabindex", "0");
    node.drawn.focus();
  };
  const beside = (node, by) => node.siblings[node.siblings.indexOf(node) + by];
  const frame = (node, from, to, reached) => {
    const y = node.depth * LAYER;
    const share = percentText(node.total / tree.total);
    const group = drawn("g", {
      class: "frame", role: "button", tabindex: reached ? 0 : -1, "data-frame": node.index,
      "aria-label": `${node.name}, ${timeText(node.total)}, ${share} of all`,
    }, drawn("rect", {
      x: from, y, width: Math.max(to - from - 0.5, 0.5), height: LAYER - 1, rx: 2, fill: hue(node.hue),
    }), drawn("title", {}, `${node.name}: ${timeText(node.total)}, ${share}`));
    const text = cut(node.name, to - from - 8);
    if (text) group.append(drawn("text", { x: from + 4, y: y + 15 }, text));
    group.addEventListener("click", () => { zoom(node); node.drawn?.focus(); });
    group.addEventListener("focus", () => { focused = node; say(node); });
    group.addEventListener("pointerenter", () => say(node));
    return group;
  };
  svg.addEventListener("keydown", (event) => {
    if (!focused || event.ctrlKey || event.metaKey || event.altKey) return;
    const moves = {
      ArrowUp: () => go(nodes[focused.parent]), ArrowDown: () => go(focused.inside.find((n) => n.drawn)),
      ArrowLeft: () => go(beside(focused, -1)), ArrowRight: () => go(beside(focused, 1)),
      Enter: () => { zoom(focused); focused.drawn?.focus(); },
      " ": () => { zoom(focused); focused.drawn?.focus(); },
      Escape: () => { zoom(null); focused.drawn?.focus(); },
    };
    if (!moves[event.key]) return;
    event.preventDefault();
    moves[event.key]();
  });
  const seen = () => {
    const index = choice("frame");
    zoomed = index === null ? null : nodes[Number(index)] ?? null;
    focused = null;
    draw();
    if (zoomed) say(zoomed);
  };
  if (!figure.dataset.follows) {
    figure.dataset.follows = "yes";
    followers.push(() => figure.seen());
  }
  figure.seen = seen;
  seen();
  const all = element("button", { type: "button", onclick: () => zoom(null) }, "all");
  const tools = element("div", { class: "tools" }, all, status);
  return element("div", { class: "operable" }, tools, element("div", { class: "surface" }, svg));
};
