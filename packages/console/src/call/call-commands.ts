/** On a call, for the table it was opened from. */
export const callCommands = {
  previous: { title: "Previous call of the table", keys: ["["] },
  next: { title: "Next call of the table", keys: ["]"] },
  curl: { title: "Copy the request for the call as curl", keys: ["Y"] },
  back: { title: "Back to the table", keys: ["Escape"] },
};
