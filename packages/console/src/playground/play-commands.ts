/** In the playground. */
export const playCommands = {
  run: { title: "Run on all models", keys: ["Ctrl+Enter"] },
  stop: { title: "Stop", keys: ["Ctrl+."] },
  model: { title: "Add a model", keys: ["Ctrl+Shift+Enter"] },
  previous: { title: "Recorded call before, of the table it was opened from", keys: ["["] },
  next: { title: "Next recorded call, of the table it was opened from", keys: ["]"] },
  save: { title: "Save as a prompt", keys: ["Ctrl+s"] },
  dataset: { title: "Add the first answer to a dataset", keys: ["d"] },
  curl: { title: "Copy the request to the first model as curl", keys: ["Y"] },
};

export const promptDialogCommands = { close: { title: "Close", keys: ["Escape"] } };
