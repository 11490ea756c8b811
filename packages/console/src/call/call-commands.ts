/** On a call, for the table it was opened from. */
export const callCommands = {
  previous: { title: "Previous call of the table", keys: ["["] },
  next: { title: "Next call of the table", keys: ["]"] },
  dataset: { title: "Add the call to a dataset", keys: ["d"] },
  queue: { title: "Put the call into a queue", keys: ["q"] },
  delete: { title: "Delete the call, once confirmed", keys: ["Delete"] },
  curl: { title: "Copy the request for the call as curl", keys: ["Y"] },
  compare: { title: "Compare with another call", keys: ["="] },
  share: { title: "Share the trace by a link", keys: ["S"] },
  back: { title: "Back to the table", keys: ["Escape"] },
};
