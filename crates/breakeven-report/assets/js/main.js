// Begins when the document is there.

startState();
startOperations();
startCharts();
// For tests, and for measuring how long opening takes.
requestAnimationFrame(() => setTimeout(() => {
  document.documentElement.dataset.ready = String(Math.round(performance.now()));
}));
