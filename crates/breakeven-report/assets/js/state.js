// The reader's choices (sorting, filter, opened rows, zoom) are stored in the address
// after #, so that a view can be linked. A # without = is the anchor of a section.

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

// Calls back now and whenever the address changes from outside.
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
  // A linked view starts at the reader's position.
  const at = document.getElementById(choice("at") ?? "");
  const go = () => at?.scrollIntoView({ behavior: "instant" });
  // Again once the content above has its height.
  requestAnimationFrame(() => requestAnimationFrame(go));
  go();
}
