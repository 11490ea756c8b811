/** On the list of threads. */
export const threadsCommands = {
  next: { title: "Next thread", keys: ["j", "ArrowDown"] },
  previous: { title: "Previous thread", keys: ["k", "ArrowUp"] },
  first: { title: "First thread", keys: ["g g", "Home"] },
  last: { title: "Last thread", keys: ["G", "End"] },
  open: { title: "Open the thread", keys: ["Enter"] },
  order: { title: "Next order: newest, longest, slowest, dearest", keys: ["o"] },
  curl: { title: "Copy the request for the list as curl", keys: ["Y"] },
};

/** On a thread. */
export const threadCommands = {
  next: { title: "Next turn", keys: ["j", "ArrowDown"] },
  previous: { title: "Previous turn", keys: ["k", "ArrowUp"] },
  first: { title: "First turn", keys: ["g g", "Home"] },
  last: { title: "Last turn", keys: ["G", "End"] },
  nextError: { title: "Next turn in which something failed", keys: ["n"] },
  open: { title: "Open the call of the turn", keys: ["Enter"] },
  calls: { title: "All calls of the thread as a table", keys: ["c"] },
  curl: { title: "Copy the request for the turns as curl", keys: ["Y"] },
  back: { title: "Back to the threads", keys: ["Escape"] },
};
