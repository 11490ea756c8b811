/** On the list of queues. */
export const queuesCommands = {
  next: { title: "Next queue", keys: ["j", "ArrowDown"] },
  previous: { title: "Previous queue", keys: ["k", "ArrowUp"] },
  open: { title: "Work through the queue", keys: ["Enter"] },
  create: { title: "Make a queue", keys: ["n"] },
  delete: { title: "Delete the queue, once confirmed", keys: ["Delete"] },
  curl: { title: "Copy the request for the list as curl", keys: ["Y"] },
};

export const queueDialogCommands = { close: { title: "Close", keys: ["Escape"] } };

/** On an item of a queue. */
export const workCommands = {
  save: { title: "Save and go on", keys: ["Ctrl+Enter"] },
  skip: { title: "Skip the item", keys: ["s"] },
  undo: { title: "Take back the last answer, or the item before", keys: ["u"] },
  back: { title: "Back to the item before", keys: ["ArrowLeft"] },
  forward: { title: "Forward again", keys: ["ArrowRight"] },
  nextField: { title: "Next field", keys: ["ArrowDown", "j"] },
  previousField: { title: "Previous field", keys: ["ArrowUp", "k"] },
  edit: { title: "Enter text, or find a value by typing", keys: ["Enter"] },
  value1: { title: "The value with the number 1, and so on", keys: ["1"] },
  value2: { title: "The value with the number 2", keys: ["2"] },
  value3: { title: "The value with the number 3", keys: ["3"] },
  value4: { title: "The value with the number 4", keys: ["4"] },
  value5: { title: "The value with the number 5", keys: ["5"] },
  value6: { title: "The value with the number 6", keys: ["6"] },
  value7: { title: "The value with the number 7", keys: ["7"] },
  value8: { title: "The value with the number 8", keys: ["8"] },
  value9: { title: "The value with the number 9", keys: ["9"] },
  retry: { title: "Store again what could not be stored, or look for items again", keys: ["R"] },
  call: { title: "Open the call of the item", keys: ["o"] },
  guideline: { title: "Show or hide the guideline", keys: ["i"] },
  agreement: { title: "Show or hide who did how many, and how far they agree", keys: ["a"] },
  curl: { title: "Copy the request for the next item as curl", keys: ["Y"] },
  queues: { title: "Back to the queues", keys: ["Escape"] },
};
