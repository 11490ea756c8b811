/** Where the call is chosen that another one is compared with. */
export const compareWithCommands = {
  down: { title: "Next call", keys: ["j", "ArrowDown"] },
  up: { title: "Previous call", keys: ["k", "ArrowUp"] },
  choose: { title: "Compare with the call", keys: ["Enter"] },
  close: { title: "Close", keys: ["Escape"] },
};
