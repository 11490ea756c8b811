/** While the rail of time at the edge of the table has the focus. */
export const railCommands = {
  later: { title: "Later", keys: ["ArrowUp"] },
  earlier: { title: "Earlier", keys: ["ArrowDown"] },
  muchLater: { title: "Much later", keys: ["PageUp"] },
  muchEarlier: { title: "Much earlier", keys: ["PageDown"] },
  go: { title: "Show the calls from that time on", keys: ["Enter"] },
};
