/** On the table of calls. */
export const callsCommands = {
  next: { title: "Next call", keys: ["j", "ArrowDown"] },
  previous: { title: "Previous call", keys: ["k", "ArrowUp"] },
  pageDown: { title: "A page down", keys: ["PageDown"] },
  pageUp: { title: "A page up", keys: ["PageUp"] },
  open: { title: "Open the call", keys: ["Enter"] },
  first: { title: "First call, new ones included", keys: ["g g", "Home"] },
  last: { title: "Last call", keys: ["G", "End"] },
  text: { title: "Search a text", keys: ["/"] },
  condition: { title: "Add a condition", keys: ["+"] },
  facets: { title: "Show or hide the facets", keys: ["b"] },
  drop: { title: "Drop the last condition", keys: ["Backspace"] },
  order: { title: "Newest or longest first", keys: ["o"] },
  curl: { title: "Copy the request as curl", keys: ["Y"] },
  columns: { title: "Choose columns", keys: ["c"] },
  live: { title: "Look for new calls, or stop that", keys: ["."] },
};
