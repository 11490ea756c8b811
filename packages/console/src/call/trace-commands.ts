/** In the tree of a trace. */
export const traceCommands = {
  down: { title: "Next row", keys: ["j", "ArrowDown"] },
  up: { title: "Previous row", keys: ["k", "ArrowUp"] },
  closeOrParent: { title: "Close the row, or go to its parent", keys: ["h", "ArrowLeft"] },
  open: { title: "Open the row, or go to its first child", keys: ["l", "ArrowRight"] },
  toggle: { title: "Open or close the row", keys: ["Enter", "Space"] },
  nextError: { title: "Next error", keys: ["n"] },
  previousError: { title: "Previous error", keys: ["N"] },
  find: { title: "Find calls by name", keys: ["/"] },
  conversation: { title: "Conversation of the trace, or the call", keys: ["c"] },
};

/** Of the times beside the tree. */
export const timeCommands = {
  fit: { title: "Show only the time of the call", keys: ["z"] },
  whole: { title: "Show the time of the whole trace", keys: ["Z"] },
  closer: { title: "Zoom into the time of the call", keys: ["+"] },
  wider: { title: "Zoom out", keys: ["-"] },
  earlier: { title: "Earlier, where a part of the time is shown", keys: ["<"] },
  later: { title: "Later, where a part of the time is shown", keys: [">"] },
};
