// What the reader has chosen (sorting, filter, opened rows, zoom) stands in the address
// behind #, so that a view can be linked. A # without = is the anchor of a section.

let chosen = new URLSearchParams();
const followers = [];

function stateOfAddress() {
  const text = location.hash.slice(1);
  return text.includes("=") ? new URLSearchParams(text) : null;
}

const choice = (key) => chosen.get(key);

// Sets choices; null takes one back.
function choose(choices) {
  for (const [key, value] of Object.entries(choices)) {
    if (value === null || value === "") chosen.delete(key);
    else chosen.set(key, value);
  }
  const text = chosen.toString();
  history.replaceState(null, "", location.href.split("#")[0] + (text && `#${text}`));
}

// Calls back now and whenever the address was changed from outside.
function follow(follower) {
  followers.push(follower);
  follower();
}

function startState() {
  chosen = stateOfAddress() ?? chosen;
  addEventListener("hashchange", () => {
    const changed = stateOfAddress();
    if (changed) {
      chosen = changed;
      for (const follower of followers) follower();
    }
  });
  // A view that was linked begins where its reader looked.
  const at = document.getElementById(choice("at") ?? "");
  const go = () => at?.scrollIntoView({ behavior: "instant" });
  // Once more when what is above has its height.
  requestAnimationFrame(() => requestAnimationFrame(go));
  go();
}
