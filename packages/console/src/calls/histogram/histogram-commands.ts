/** While the histogram of the calls has the focus. */
export const histogramCommands = {
  earlier: { title: "Earlier bar", keys: ["ArrowLeft"] },
  later: { title: "Later bar", keys: ["ArrowRight"] },
  extendEarlier: { title: "Extend the range to an earlier bar", keys: ["Shift+ArrowLeft"] },
  extendLater: { title: "Extend the range to a later bar", keys: ["Shift+ArrowRight"] },
  zoom: { title: "Show the calls of the range", keys: ["Enter"] },
};
