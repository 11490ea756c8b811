/** On the lists of the library. */
export const libraryCommands = {
  next: { title: "Next name", keys: ["j", "ArrowDown"] },
  previous: { title: "Previous name", keys: ["k", "ArrowUp"] },
  open: { title: "Open the newest version", keys: ["Enter"] },
  filter: { title: "Filter names", keys: ["/"] },
  nextKind: { title: "Next kind", keys: ["l", "ArrowRight"] },
  previousKind: { title: "Previous kind", keys: ["h", "ArrowLeft"] },
  curl: { title: "Copy the request for the list as curl", keys: ["Y"] },
};

/** On a version of something in the library. */
export const versionCommands = {
  newer: { title: "Newer version", keys: ["["] },
  older: { title: "Older version", keys: ["]"] },
  compare: { title: "Compare with the version before, or stop that", keys: ["="] },
  alias: { title: "Give the version an alias", keys: ["a"] },
  tag: { title: "Tag the version", keys: ["t"] },
  nextRow: { title: "Next row", keys: ["j"] },
  previousRow: { title: "Previous row", keys: ["k"] },
  curl: { title: "Copy the request for the version as curl", keys: ["Y"] },
  back: { title: "Back to the list", keys: ["Escape"] },
};
