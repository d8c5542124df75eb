// Begins when the document is there.

startState();
startOperations();
startCharts();
// For whoever measures how long opening takes, and for tests.
requestAnimationFrame(() => setTimeout(() => {
  document.documentElement.dataset.ready = String(Math.round(performance.now()));
}));
