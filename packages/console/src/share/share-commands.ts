/** On the page of a shared trace. */
export const shareCommands = {
  link: { title: "Copy the address of the page", keys: ["y"] },
  palette: { title: "Find a command", keys: ["Ctrl+k"] },
  keys: { title: "Show the keys", keys: ["?"] },
};
