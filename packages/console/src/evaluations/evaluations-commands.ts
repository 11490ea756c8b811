/** On the list of evaluation runs. */
export const evaluationsCommands = {
  next: { title: "Next run", keys: ["j", "ArrowDown"] },
  previous: { title: "Previous run", keys: ["k", "ArrowUp"] },
  first: { title: "First run", keys: ["g g", "Home"] },
  last: { title: "Last run", keys: ["G", "End"] },
  open: { title: "Open the trace of the run", keys: ["Enter"] },
  results: { title: "Show the results of the run, row by row", keys: ["r"] },
  start: { title: "Run an evaluation", keys: ["n"] },
  choose: { title: "Choose the run, or not any more", keys: ["x"] },
  compare: { title: "Compare the chosen runs; the one chosen first is the baseline", keys: ["="] },
  none: { title: "Choose no runs", keys: ["Escape"] },
  delete: { title: "Cancel the run or delete it, once confirmed", keys: ["Delete"] },
  curl: { title: "Copy the request for the summaries as curl", keys: ["Y"] },
};

/** Where a run is begun. */
export const startRunCommands = {
  close: { title: "Close; a run that was begun goes on", keys: ["Escape"] },
};

/** Where it is asked whether a run is deleted. */
export const deleteRunCommands = {
  close: { title: "Keep the run", keys: ["Escape"] },
};
