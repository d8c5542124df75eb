// Creates elements with plain text: nothing here parses markup.

const SVG = "http://www.w3.org/2000/svg";

// An element with attributes and children; a child that is not a node becomes text.
function element(name, attributes = {}, ...children) {
  return fill(document.createElement(name), attributes, children);
}

function drawn(name, attributes = {}, ...children) {
  return fill(document.createElementNS(SVG, name), attributes, children);
}

function fill(node, attributes, children) {
  for (const [key, value] of Object.entries(attributes)) {
    if (value === undefined || value === null) continue;
    if (key === "style") Object.assign(node.style, value);
    else if (key.startsWith("on")) node.addEventListener(key.slice(2), value);
    else node.setAttribute(key, value);
  }
  node.append(...children.map((child) => child instanceof Node ? child : String(child)));
  return node;
}

// The data of a section, read once, on first use.
const read = new Map();
function data(part) {
  if (!read.has(part)) {
    const script = document.getElementById(`${part}-data`);
    read.set(part, script ? JSON.parse(script.textContent) : null);
  }
  return read.get(part);
}

// The color of a series, which follows the color scheme.
const series = (index) => `var(--series-${index % 5})`;

// A text cut to a width in pixels, using an estimated width per letter.
function cut(text, width, letter = 6.6) {
  const most = Math.floor(width / letter);
  if (text.length <= most) return text;
  return most < 3 ? "" : `${[...text].slice(0, most - 1).join("")}…`;
}

// The same, keeping both ends: names differ at the end as often as at the beginning.
function cutInside(text, width, letter = 6.6) {
  const most = Math.max(Math.floor(width / letter), 5);
  const letters = [...text];
  if (letters.length <= most) return text;
  const end = Math.floor((most - 1) / 2);
  return `${letters.slice(0, most - 1 - end).join("")}…${letters.slice(-end).join("")}`;
}
