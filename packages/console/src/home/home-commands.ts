/** On the list of projects. */
export const homeCommands = {
  next: { title: "Next project", keys: ["j", "ArrowDown"] },
  previous: { title: "Previous project", keys: ["k", "ArrowUp"] },
  open: { title: "Open the project", keys: ["Enter"] },
  filter: { title: "Filter projects", keys: ["/"] },
};
