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
  curl: { title: "Copy the request for the version as curl", keys: ["Y"] },
  back: { title: "Back to the list", keys: ["Escape"] },
};

/** While an alias or tag is entered. */
export const labelCommands = { close: { title: "Close", keys: ["Escape"] } };

/** On the rows of a dataset. */
export const rowCommands = {
  next: { title: "Next row", keys: ["j", "ArrowDown"] },
  previous: { title: "Previous row", keys: ["k", "ArrowUp"] },
  first: { title: "First row", keys: ["g g", "Home"] },
  last: { title: "Last row", keys: ["G", "End"] },
};
