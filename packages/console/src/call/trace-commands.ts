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
