/** On the settings of a project and of the service. */
export const settingsCommands = {
  next: { title: "Next part", keys: ["l", "ArrowRight"] },
  previous: { title: "Previous part", keys: ["h", "ArrowLeft"] },
};

/** On usage and costs. */
export const usageCommands = {
  measure: { title: "Next measure: cost, tokens, calls", keys: ["o"] },
  days: { title: "Next time: 7, 30, 90 days", keys: ["d"] },
  curl: { title: "Copy the request for the figures as curl", keys: ["Y"] },
};

/** On the keys. */
export const keysCommands = {
  next: { title: "Next key", keys: ["j", "ArrowDown"] },
  previous: { title: "Previous key", keys: ["k", "ArrowUp"] },
  create: { title: "Make a key", keys: ["n"] },
  rename: { title: "Rename the key", keys: ["r"] },
  revoke: { title: "Revoke the key", keys: ["x"] },
};

/** While a question about a key is asked. */
export const dialogCommands = { close: { title: "Close", keys: ["Escape"] } };
